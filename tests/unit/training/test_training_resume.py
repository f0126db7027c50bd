"""Killed anywhere, a run that is resumed ends with bitwise the same weights."""

import pytest
from fitting import BATCHES, Killed, ScriptedPlan, Watcher, assert_same, make_fit, weights

from softquery.training import BEST, load_tensors
from softquery.training.checkpoint import NAME

TOTAL = 3 * BATCHES
METRICS = [0.5, 0.4, 0.6]
SETTINGS = {"dropout": 0.4, "average_decay": 0.9}


def fit_in(folder, *, seed=1, **plan):
    return make_fit(folder, plan=ScriptedPlan(metrics=METRICS, **plan), seed=seed, **SETTINGS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    fit = fit_in(folder)
    return fit, fit.run(Watcher(), resume=False), load_tensors(folder / BEST)


def assert_like(whole, fit, fitted, folder):
    wanted_fit, wanted, best = whole
    assert_same(weights(fit.bare), weights(wanted_fit.bare))
    assert_same(fit.average.state(), wanted_fit.average.state())
    assert_same(load_tensors(folder / BEST)[0], best[0])
    assert load_tensors(folder / BEST)[1] == best[1]
    ends = [(end.best, end.best_epoch, end.epoch, end.step) for end in (fitted, wanted)]
    assert ends[0] == ends[1]
    for row, wanted_row in zip(fit.state.rows, wanted_fit.state.rows, strict=True):
        row, wanted_row = dict(row), dict(wanted_row)
        row.pop("examples_per_second", None)
        wanted_row.pop("examples_per_second", None)
        assert row == wanted_row


def go_on(folder, done, **plan):
    """Resume with a model of other random weights, in a process that drew other numbers."""
    fit = fit_in(folder, seed=77, **plan)
    watcher = Watcher()
    fitted = fit.run(watcher, resume=True)
    assert watcher.begun == [(TOTAL, done)]
    return fit, fitted


@pytest.mark.parametrize("step", [2, BATCHES, BATCHES + 1, 2 * BATCHES + 2, TOTAL])
def test_killed_in_a_step(tmp_path, whole, step):
    with pytest.raises(Killed):
        fit_in(tmp_path, die_in_batch=step).run(Watcher(), resume=False)
    measured = (step - 1) // BATCHES
    fit, fitted = go_on(tmp_path, step - 1, measured=measured)
    assert_like(whole, fit, fitted, tmp_path)


@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_killed_while_measuring(tmp_path, whole, epoch):
    """After the last step, too: the resumed run must still measure."""
    with pytest.raises(Killed):
        fit_in(tmp_path, die_in_measure=epoch).run(Watcher(), resume=False)
    fit, fitted = go_on(tmp_path, epoch * BATCHES, measured=epoch - 1)
    assert_like(whole, fit, fitted, tmp_path)


def test_killed_again_and_again(tmp_path, whole):
    """Two steps at a time."""
    done = 0
    while done < TOTAL - 2:
        with pytest.raises(Killed):
            fit_in(tmp_path, seed=done or 1, die_in_batch=3, measured=done // BATCHES).run(
                Watcher(), resume=done > 0
            )
        done += 2
    fit, fitted = go_on(tmp_path, done, measured=done // BATCHES)
    assert_like(whole, fit, fitted, tmp_path)


def test_killed_before_the_first_checkpoint_starts_anew(tmp_path, whole):
    with pytest.raises(Killed):
        fit_in(tmp_path, die_in_batch=1).run(Watcher(), resume=False)
    assert not (tmp_path / NAME).exists()
    fit = fit_in(tmp_path)
    fitted = fit.run(Watcher(), resume=True)
    assert_like(whole, fit, fitted, tmp_path)


def test_a_finished_run_has_nothing_left_to_do(tmp_path, whole):
    fit_in(tmp_path).run(Watcher(), resume=False)
    plan = ScriptedPlan(metrics=METRICS)
    fit = make_fit(tmp_path, plan=plan, seed=77, **SETTINGS)
    fitted = fit.run(Watcher(), resume=True)
    assert (plan.made, plan.measured) == (0, 0)
    assert_like(whole, fit, fitted, tmp_path)
