"""A run is fitted to its data once: resumed, it takes the values that it was started with."""

import json

import pytest

from softquery.recipes import override, recipe
from softquery.recipes.fitted import RunFit
from softquery.running.run_folder import recorded_values


def resumed(folder, *, chosen=frozenset()):
    return RunFit(chosen=chosen, recorded=recorded_values(folder / "model"))


def write_record(folder, record):
    note = folder / "model.partial/training/run.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps(record))


def test_a_run_made_in_python_is_trained_as_it_is():
    run = recipe("esim-snli")
    fit = RunFit(chosen=None)
    assert fit.steps(run, 2) == (run, fit)
    assert fit.to_list() == []


def test_a_resumed_run_takes_what_was_recorded(tmp_path):
    run, started = RunFit(chosen=frozenset()).steps(recipe("esim-snli"), 10)
    write_record(tmp_path, {"fitted": started.to_list()})
    longer = override(recipe("esim-snli"), ["training.max_epochs=500"])
    chosen = frozenset({"training.max_epochs"})
    again, fit = resumed(tmp_path, chosen=chosen).steps(longer, 10)
    assert again.training.max_epochs == 500
    assert again.schedule == run.schedule
    assert again.training.average_decay == run.training.average_decay
    assert "training.max_epochs" not in {each.setting for each in fit.found}


@pytest.mark.parametrize("record", [{}, {"fitted": [{"setting": "?"}]}, [], "text"])
def test_a_run_of_an_earlier_version_goes_on_as_it_was(tmp_path, record):
    """What is damaged is refused elsewhere."""
    write_record(tmp_path, record)
    run, fit = resumed(tmp_path).steps(recipe("esim-snli"), 2)
    assert run == recipe("esim-snli")
    assert fit.found == ()


def test_changed_values_are_told_with_their_rules_and_others_in_one_line():
    lines = []
    _, fit = RunFit(chosen=frozenset()).steps(recipe("esim"), 9)
    fit.tell(lines.append)
    assert lines[0].startswith("fitted to the data")
    assert lines[1] == (
        "  training.max_epochs 67, not 30: 9 steps per epoch, and 600 steps are the least"
    )
    lines.clear()
    RunFit(chosen=frozenset()).steps(recipe("esim"), 9_000)[1].tell(lines.append)
    assert lines == [
        "as in the recipe: training.max_epochs 30, training.patience 4, schedule.plateau_patience 0"
    ]


def test_a_run_that_left_nothing_is_fitted_anew(tmp_path):
    assert recorded_values(tmp_path / "model") is None
