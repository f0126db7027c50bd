"""Epochs with equal metrics: the loss decides, then the earlier one."""

import json
import math

import pytest
from fitting import Killed, ScriptedPlan, Watcher, make_fit

from softquery.training import TrainerState
from softquery.training.run_records import NAME, load_tensors


class Measured(ScriptedPlan):
    """A plan whose metric and loss are those given, epoch by epoch."""

    def __init__(self, pairs, **settings):
        super().__init__(**settings)
        self.script = pairs

    def measure(self, model):
        super().measure(model)
        metric, loss = self.script[self.measured - 1]
        found = {"tune_accuracy": metric}
        return found if loss is None else {**found, "tune_loss": loss}


def run(folder, pairs, **settings):
    watcher = Watcher()
    settings = {"max_epochs": len(pairs), "patience": 99, **settings}
    fit = make_fit(folder, plan=Measured(pairs), **settings)
    return fit.run(watcher, resume=False), [improved for _, _, improved in watcher.epochs]


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([(0.8, 1.0), (0.8, 0.9), (0.8, 0.95)], 1),
        ([(0.8, 1.0), (0.8, 1.0)], 0),
        ([(0.8, 1.0), (0.9, 5.0), (0.8, 0.1)], 1),
        ([(0.8, None), (0.8, None)], 0),
        ([(0.0, 2.0), (0.0, 1.0), (0.0, 3.0)], 1),
        ([(math.nan, 2.0), (math.nan, 1.0)], 1),
        ([(0.8, 1.0), (0.8, math.nan)], 0),
    ],
    ids=["lower loss", "equal loss", "metric first", "no loss", "zeros", "undefined", "no number"],
)
def test_ties(tmp_path, pairs, kept):
    state, _ = run(tmp_path, pairs)
    assert state.best_epoch == kept
    assert state.best == pytest.approx(pairs[kept][0]) or math.isinf(state.best)


def test_a_tie_that_loses_counts_as_no_improvement(tmp_path):
    state, improved = run(tmp_path, [(0.8, 1.0), (0.8, 1.1), (0.8, 1.2), (0.9, 1.0)], patience=2)
    assert improved == [True, False, False]
    assert state.bad_epochs == 2


def test_a_resumed_run_remembers_the_loss(tmp_path):
    script = [(0.8, 0.5), (0.8, 0.9), (0.8, 0.4)]
    fit = make_fit(tmp_path, plan=Measured(script, die_in_measure=2), max_epochs=3, patience=99)
    with pytest.raises(Killed):
        fit.run(Watcher(), resume=False)
    assert load_tensors(tmp_path / NAME)[1]["best_loss"] == 0.5
    again = make_fit(tmp_path, plan=Measured(script[1:]), max_epochs=3, patience=99)
    state = again.run(Watcher(), resume=True)
    assert (state.best_epoch, state.best_loss) == (2, 0.4)


def test_a_checkpoint_of_an_earlier_version_is_taken_up(tmp_path):
    saved = {"epoch": 2, "slot": 0, "step": 8, "best": 0.8, "best_epoch": 1}
    state = TrainerState.from_saved(json.loads(json.dumps(saved)), tmp_path)
    assert state.best_loss == math.inf
