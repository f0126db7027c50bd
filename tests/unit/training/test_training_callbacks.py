"""Callbacks are told of a run, can end it early, and leave a resumed run exact."""

import pytest
from fitting import BATCHES, Killed, ScriptedPlan, Watcher, assert_same, make_fit, weights

from softquery.errors import ConfigError
from softquery.running.callbacks import Callback, Unwatched, Watched, watched_by
from softquery.training import BEST, load_tensors

TOTAL = 3 * BATCHES
METRICS = [0.5, 0.4, 0.6]


def fit_in(folder, *, seed=1, metrics=METRICS, **plan):
    script = ScriptedPlan(metrics=metrics, **plan)
    return make_fit(folder, plan=script, seed=seed, dropout=0.4, average_decay=0.9)


class Told(Callback):
    """Keeps every event."""

    def __init__(self):
        self.events = []

    def on_begin(self, event):
        self.events.append(("begin", event))

    def on_step(self, event):
        self.events.append(("step", event))

    def on_evaluation(self, event):
        self.events.append(("evaluation", event))

    def on_epoch(self, event):
        self.events.append(("epoch", event))


class StopAtStep(Callback):
    def __init__(self, step):
        self.step = step

    def on_step(self, event):
        return event.step >= self.step


class StopWithoutGain(Callback):
    def on_evaluation(self, event):
        return event.facts["bad_epochs"] >= 1


def test_everything_is_told_in_order(tmp_path):
    told, watcher = Told(), Watcher()
    fit_in(tmp_path).run(Watched([told], watcher), resume=False)
    assert watcher.begun == [(TOTAL, 0)]
    kinds = [kind for kind, _ in told.events]
    one_epoch = ["step"] * BATCHES + ["evaluation", "epoch"]
    assert kinds == ["begin", *(3 * one_epoch)]
    steps = [event.step for kind, event in told.events if kind == "step"]
    assert steps == list(range(1, TOTAL + 1))
    assert {event.total_steps for _, event in told.events} == {TOTAL}
    found = [event for kind, event in told.events if kind == "evaluation"]
    assert [event.epoch for event in found] == [0, 1, 2]
    assert [event.facts["tune_accuracy"] for event in found] == METRICS
    assert [event.improved for event in found] == [True, False, True]
    assert [event.facts["best"] for event in found] == [0.5, 0.5, 0.6]
    assert [event.facts["bad_epochs"] for event in found] == [0, 1, 0]
    assert "loss" in found[0].facts


@pytest.mark.parametrize("step", [1, BATCHES + 2, 2 * BATCHES])
def test_a_run_that_is_ended_early_is_measured_once_more_and_kept(tmp_path, step):
    fit = fit_in(tmp_path)
    state = fit.run(watched_by(StopAtStep(step)), resume=False)
    assert (state.step, state.stopped) == (step, True)
    assert fit.plan.measured == state.epoch == -(-step // BATCHES)
    assert (tmp_path / BEST).exists()


def test_an_evaluation_can_end_a_run(tmp_path):
    state = fit_in(tmp_path).run(watched_by(StopWithoutGain()), resume=False)
    assert (state.step, state.epoch, state.best) == (2 * BATCHES, 2, 0.5)


@pytest.mark.parametrize("killed", [2, BATCHES + 1, BATCHES + 2])
def test_a_resumed_run_is_ended_at_the_same_step_with_the_same_weights(tmp_path, killed):
    stop = StopAtStep(BATCHES + 3)
    whole = fit_in(tmp_path / "whole")
    whole.run(watched_by(stop), resume=False)
    with pytest.raises(Killed):
        fit_in(tmp_path / "cut", die_in_batch=killed).run(watched_by(stop), resume=False)
    resumed = fit_in(tmp_path / "cut", seed=77, measured=(killed - 1) // BATCHES)
    state = resumed.run(watched_by(stop), resume=True)
    assert state.step == BATCHES + 3
    assert_same(weights(resumed.bare), weights(whole.bare))
    ends = [load_tensors(tmp_path / name / BEST)[0] for name in ("whole", "cut")]
    assert_same(*ends)


def test_a_run_that_was_ended_stays_ended_when_it_is_killed_before_its_measurement(tmp_path):
    stop = StopAtStep(BATCHES + 3)
    whole = fit_in(tmp_path / "whole")
    whole.run(watched_by(stop), resume=False)
    with pytest.raises(Killed):
        fit_in(tmp_path / "cut", die_in_measure=2).run(watched_by(stop), resume=False)
    resumed = fit_in(tmp_path / "cut", seed=77, measured=1)
    told = Told()
    state = resumed.run(watched_by(told), resume=True)  # without the callback that ended it
    assert (state.step, state.epoch) == (BATCHES + 3, 2)
    assert [kind for kind, _ in told.events] == ["begin", "evaluation", "epoch"]
    assert_same(weights(resumed.bare), weights(whole.bare))


def test_an_exception_breaks_a_run_off_and_it_goes_on(tmp_path):
    class Breaking(Callback):
        def on_step(self, event):
            if event.step == BATCHES + 2:
                raise Killed

    whole = fit_in(tmp_path / "whole")
    whole.run(watched_by(), resume=False)
    with pytest.raises(Killed):
        fit_in(tmp_path / "cut").run(watched_by(Breaking()), resume=False)
    resumed = fit_in(tmp_path / "cut", seed=77, measured=1)
    resumed.run(watched_by(), resume=True)
    assert_same(weights(resumed.bare), weights(whole.bare))


def test_what_is_no_callback_is_refused():
    with pytest.raises(ConfigError, match=r"callbacks must be .*Callback, got <function"):
        Watched([lambda event: None], Unwatched())
