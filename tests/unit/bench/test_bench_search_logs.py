"""The table of what a log is worth, against the rows beside it; and its figures by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

SCRIPT = "search.logs"
PAGE = Path(__file__).resolve().parents[3] / "benchmarks/search/README.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the benchmarks are not here")


def test_the_page_has_what_was_measured(script):
    result = json.loads(PAGE.with_name("logs.json").read_text("utf-8"))
    page = PAGE.read_text("utf-8").splitlines()
    lines = [line for line in script.tables(result) if line]
    assert len(lines) > 15
    assert [line for line in lines if line not in page] == []


def test_figures_at_a_threshold(script):
    scores = np.array([0.9, 0.8, 0.7, 0.2])
    right = np.array([True, False, False, True])
    found = script.figures_at(0.5, scores, right, np.array([True, True, False, True]))
    assert found["precision_all"] == pytest.approx(1 / 3, abs=1e-4)
    assert (found["precision"], found["net"]) == (0.5, -0.25)
    assert found["coverage"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["outside_answered"] is None  # too few
    assert found["distance"] == pytest.approx(0.9 - 1 / 3, abs=1e-4)
