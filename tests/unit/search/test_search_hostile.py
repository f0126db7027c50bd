"""Forged index folders: no traceback, no crash by a signal, and nothing beside them is touched."""

import os

import pytest

from hostile_indexes import read_outcomes

pytest.importorskip("starlette", reason="the server needs the extra [serve]")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, links and pipes")


def test_no_index_folder_does_harm(model, tmp_path):
    outcomes = read_outcomes(model, tmp_path, seed=1, count=20)
    assert [each for each in outcomes if each["ended"] or each["touched"] or each["faults"]] == []
    assert {each["codes"][-1] for each in outcomes} == {0, 2}, "some are usable, some are refused"
    assert any(each["served"] for each in outcomes)
