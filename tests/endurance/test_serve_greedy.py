"""Sixty-four clients beside a greedy one for ten minutes: nobody else waits much longer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

ROOT = Path(__file__).resolve().parents[2]
MINUTES = 10


def test_a_greedy_client_harms_nobody(tmp_path):
    result = tmp_path / "greedy.json"
    words = ["serve", "greedy", "--minutes", str(MINUTES), "--output", str(result)]
    subprocess.run([sys.executable, ROOT / "benchmarks", *words], cwd=ROOT, check=True)
    found = json.loads(result.read_text(encoding="utf-8"))
    assert found["p99 ratio"] <= 2
    assert found["alone"]["errors"] == found["beside"]["errors"] == 0
    assert not [status for status in found["greedy"] if status.startswith("5")]
    # One reading may lie a tenth above another; growth shows in the halves of the run.
    half = len(found["megabytes"]) // 2
    early, late = found["megabytes"][:half], found["megabytes"][half:]
    assert sum(late) / len(late) < 1.1 * sum(early) / len(early)
