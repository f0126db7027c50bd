"""The loop: how it ends, what it keeps, how it is steered."""

import csv
import math
import signal

import pytest
import torch
from fitting import BATCHES, ScriptedPlan, Watcher, assert_same, make_fit, weights

from softquery.bundle import RECORDS
from softquery.errors import BundleError
from softquery.training import BEST, Optim, Schedule, Training, load_tensors
from softquery.training.checkpoint import NAME
from softquery.training.steps import EagerStep


def run(fit, watcher=None, *, resume=False):
    return fit.run(watcher or Watcher(), resume=resume)


def test_a_run_goes_through_its_epochs(tmp_path):
    watcher, fit = Watcher(), make_fit(tmp_path)
    fitted = run(fit, watcher)
    assert (fitted.epoch, fitted.step) == (3, 3 * BATCHES)
    assert (fitted.best, fitted.best_epoch) == (3.0, 2)
    assert watcher.begun == [(12, 0)]
    assert [done for done, _ in watcher.steps] == list(range(1, 13))
    assert [(number, improved) for number, _, improved in watcher.epochs] == [
        (0, True),
        (1, True),
        (2, True),
    ]
    assert type(fit.take_step) is EagerStep


def test_training_teaches(tmp_path):
    fit = make_fit(tmp_path, dropout=0.0, optim=Optim(lr=0.03), max_epochs=25, patience=30)
    run(fit)
    losses = [row["loss"] for row in fit.state.rows if "loss" in row]
    assert losses[0] > 1.0
    assert losses[-1] < 0.5


def test_every_row_is_learnt_from_once_an_epoch(tmp_path):
    plan, seen = ScriptedPlan(), []
    make_batch = plan.make_batch
    plan.make_batch = lambda rows, length: seen.extend(rows.tolist()) or make_batch(rows, length)
    run(make_fit(tmp_path, plan=plan, max_epochs=2))
    assert sorted(seen) == sorted([*range(14), *range(14)])


def test_max_steps_ends_within_an_epoch_and_measures(tmp_path):
    watcher = Watcher()
    fitted = run(make_fit(tmp_path, max_steps=BATCHES + 1), watcher)
    assert (fitted.step, fitted.epoch) == (BATCHES + 1, 2)
    assert watcher.begun == [(BATCHES + 1, 0)]
    assert len(watcher.epochs) == 2


def test_patience_ends_a_run_that_does_not_improve(tmp_path):
    plan = ScriptedPlan(metrics=[0.5, 0.7, 0.7, 0.6, 0.9])
    fitted = run(make_fit(tmp_path, plan=plan, max_epochs=9, patience=2))
    assert (fitted.epoch, fitted.best, fitted.best_epoch) == (4, 0.7, 1)


def test_the_best_weights_are_kept_with_their_metrics(tmp_path):
    plan, kept = ScriptedPlan(metrics=[0.5, 0.7, 0.6]), []
    measure = plan.measure
    plan.measure = lambda model: kept.append(weights(model)) or measure(model)
    run(make_fit(tmp_path, plan=plan))
    best, metrics = load_tensors(tmp_path / BEST)
    assert_same(best, kept[1])
    assert metrics == {"tune_accuracy": 0.7, "tune_loss": 1.0}


def test_the_average_is_measured_and_kept_but_not_trained_on(tmp_path):
    plan, measured = ScriptedPlan(), []
    measure = plan.measure
    plan.measure = lambda model: measured.append(weights(model)) or measure(model)
    fit = make_fit(tmp_path, plan=plan, average_decay=0.9, max_epochs=1)
    run(fit)
    best, _ = load_tensors(tmp_path / BEST)
    assert_same(best, measured[0])
    assert_same(best, fit.average.state())
    assert not torch.equal(best["project.0.weight"], fit.bare.project[0].weight)

    plain = make_fit(tmp_path / "plain", average_decay=0.0, max_epochs=1)
    run(plain)
    assert_same(weights(plain.bare), weights(fit.bare))


def test_the_average_forgets_the_random_start_quickly(tmp_path):
    fit = make_fit(tmp_path, average_decay=0.999, max_steps=1)
    start = weights(fit.bare)
    run(fit)
    for name, value in fit.average.state().items():
        wanted = 0.1 * start[name] + 0.9 * fit.bare.state_dict()[name]
        torch.testing.assert_close(value, wanted, rtol=1e-5, atol=1e-7)


def test_a_metric_that_is_no_number_still_leaves_weights(tmp_path):
    plan = ScriptedPlan(metrics=[math.nan, math.nan, 0.1, math.nan])
    fitted = run(make_fit(tmp_path, plan=plan, max_epochs=4))
    assert (fitted.best, fitted.best_epoch) == (0.1, 2)
    run(make_fit(tmp_path, plan=ScriptedPlan(metrics=[math.nan]), max_epochs=1))
    assert load_tensors(tmp_path / BEST)[1]["tune_loss"] == 1.0


def rates(watcher):
    """The learning rate of each epoch's last step, with a log row at every step."""
    steps = watcher.steps[BATCHES - 1 :: BATCHES]
    return [facts["lr"] for _, facts in steps]


@pytest.mark.parametrize(
    ("patience", "wanted"), [(0, [1, 1, 0.5, 0.25, 0.125]), (1, [1, 1, 1, 0.5, 0.5, 0.25])]
)
def test_the_rate_is_cut_when_the_metric_stalls(tmp_path, patience, wanted):
    watcher, plan = Watcher(), ScriptedPlan(metrics=[0.9] + [0.5] * 9)
    schedule = Schedule(plateau_factor=0.5, plateau_patience=patience)
    run(
        make_fit(
            tmp_path,
            plan=plan,
            optim=Optim(lr=0.01),
            schedule=schedule,
            max_epochs=len(wanted),
            patience=20,
            log_every=1,
        ),
        watcher,
    )
    assert rates(watcher) == pytest.approx([0.01 * scale for scale in wanted])


def test_the_schedule_reaches_the_optimiser(tmp_path):
    watcher = Watcher()
    schedule = Schedule(warmup_steps=2, decay="linear", plateau_factor=1.0)
    run(make_fit(tmp_path, schedule=schedule, max_steps=6, log_every=1), watcher)
    found = [facts["lr"] for _, facts in watcher.steps]
    assert found == pytest.approx([0.01 * s for s in (0.5, 1.0, 1.0, 0.75, 0.5, 0.25)])


def test_the_log_has_training_and_measuring_rows(tmp_path):
    run(make_fit(tmp_path, max_epochs=2, log_every=3))
    with open(tmp_path / RECORDS / "log.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # Every third step, and what is left when an epoch ends.
    assert [row["step"] for row in rows if row["loss"]] == ["3", "4", "6", "8"]
    assert [row["step"] for row in rows if row["tune_accuracy"]] == ["4", "8"]
    assert all(float(row["loss"]) > 0 for row in rows if row["loss"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_step_with_a_checkpoint(tmp_path, number):
    def interrupt(done):
        if done == 3:
            signal.raise_signal(number)

    before = signal.getsignal(number)
    fit = make_fit(tmp_path, checkpoint_seconds=1e9)
    with pytest.raises(KeyboardInterrupt):
        run(fit, Watcher(act=interrupt))
    assert load_tensors(tmp_path / NAME)[1]["step"] == 3
    assert signal.getsignal(number) == before


def test_a_signal_in_the_last_measurement_stops_before_the_end_and_nothing_is_lost(tmp_path):
    class Asked(ScriptedPlan):
        def measure(self, model):
            if self.measured == 1:
                signal.raise_signal(signal.SIGTERM)
            return super().measure(model)

    plan = Asked()
    with pytest.raises(KeyboardInterrupt):
        run(make_fit(tmp_path, plan=plan, max_epochs=2))
    plan.made = 0
    fitted = run(make_fit(tmp_path, plan=plan, max_epochs=2), resume=True)
    assert (fitted.step, fitted.best_epoch) == (2 * BATCHES, 1)
    assert (plan.made, plan.measured) == (0, 2)


def test_a_damaged_checkpoint_stops_a_resumed_run_in_one_line(tmp_path):
    (tmp_path / NAME).write_bytes(b"no checkpoint")
    with pytest.raises(BundleError, match="not a readable checkpoint"):
        run(make_fit(tmp_path), resume=True)


def test_without_resume_a_checkpoint_is_ignored(tmp_path):
    (tmp_path / NAME).write_bytes(b"no checkpoint")
    assert run(make_fit(tmp_path, max_epochs=1)).step == BATCHES


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"max_steps": 0}, "max_steps must be at least 1, got 0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"accumulate": 0}, "accumulate must be at least 1, got 0"),
        ({"log_every": 0}, "log_every must be at least 1, got 0"),
        ({"average_decay": 1.0}, r"average_decay must be in \[0, 1\), got 1.0"),
    ],
)
def test_settings_that_cannot_be_are_quoted(settings, message):
    with pytest.raises(ValueError, match=message):
        Training(**settings)
