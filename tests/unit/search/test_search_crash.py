"""kill -9 at any step of indexing and updating: what was committed is there, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

SCRIPT = Path(__file__).with_name("killed.py")
OFTEN = pytest.param(20, marks=pytest.mark.endurance)


@pytest.fixture(scope="module", params=[6, OFTEN])
def runs(request, model, tmp_path_factory):
    """One run that nothing disturbs, then so many that are killed."""
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, str(SCRIPT), str(model), str(folder), "1", str(request.param + 1)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_undisturbed(runs):
    from killed import states

    first = runs[0]
    assert first["done"] == 7
    assert first["state"]["rows"] == states()[-1]


def test_what_was_committed_is_there(runs):
    from killed import LEAST, states

    killed = runs[1:]
    assert sum(run["done"] < 7 for run in killed) > len(killed) // 2
    for run in killed:
        state = run["state"]
        if "missing" in state:
            assert run["done"] == 0, run
            continue
        assert state["rows"] in states()[LEAST[run["done"]] :], run
        assert state["hits"] == sorted(state["rows"]), run


def test_the_same_commands_go_on(runs):
    from killed import states

    for run in runs[1:]:
        found = run["after"]["rows"]
        assert set(states()[5]) - {"r1"} <= set(found), run  # it may have been deleted
        assert {key: found[key] for key in ("r8", "r11")} == {"r8": "changed", "r11": "changed"}
        assert run["after"]["hits"] == sorted(found), run
