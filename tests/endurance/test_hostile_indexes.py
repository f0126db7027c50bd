"""A thousand forged index folders, used and served: no traceback, no crash, no harm beside them."""

import os
from collections import Counter

import pytest

from hostile_indexes import read_outcomes

pytest.importorskip("starlette", reason="the server needs the extra [serve]")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, links and pipes")

FOLDERS, SEED = 1000, 7


def test_no_index_folder_does_harm(tmp_path):
    from small_bundles import exported, make_bundle

    plain = make_bundle(tmp_path / "plain", size=8, outputs=2)
    model = exported(plain, tmp_path / "model").bundle
    outcomes = read_outcomes(model, tmp_path, seed=SEED, count=FOLDERS)
    assert [each for each in outcomes if each["ended"] or each["touched"] or each["faults"]] == []
    ends = Counter(each["codes"][-1] for each in outcomes)
    assert min(ends[0], ends[2]) > FOLDERS // 20, "some stay usable, most are refused"
    assert sum(each["served"] for each in outcomes) > FOLDERS // 10
