"""kill -9 at any step of tuning: the index is as it was before, or tuned."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

SCRIPT = Path(__file__).with_name("killed_tuning.py")
OFTEN = pytest.param(30, marks=pytest.mark.endurance)


@pytest.mark.parametrize("times", [4, OFTEN])
def test_the_old_index_or_the_new_one(times, model, tmp_path):
    command = [sys.executable, str(SCRIPT), str(model), str(tmp_path), "1", str(times + 1)]
    tests = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr
    before, after, *killed = [json.loads(line) for line in result.stdout.splitlines()]
    assert (before["tuned"], after["tuned"]) == (False, True)
    assert before["scores"] != after["scores"]
    assert all(run["was_killed"] for run in killed)
    assert len(killed) == times
    for run in killed:
        assert run["scores"] == (after if run["tuned"] else before)["scores"], run
        assert run["left"], run
