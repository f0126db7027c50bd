"""Long trials, run by `make endurance`, without a limit of time."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS), str(TESTS / "end_to_end"), str(TESTS / "end_to_end" / "serve")]


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "endurance":
            item.add_marker(pytest.mark.endurance)
            item.add_marker(pytest.mark.timeout(0))
