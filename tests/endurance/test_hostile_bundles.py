"""A thousand hostile model folders: one line or an answer, never a traceback, a crash or a hang."""

from bundle_trials import fault_of
from hostile_children import Children
from small_exported import every_kind

TRIALS = 1000


def test_a_thousand_hostile_bundles(tmp_path):
    bundles, children = every_kind(tmp_path / "bundles"), Children()
    place = tmp_path / "place"
    place.mkdir()
    faults = [fault_of(seed, bundles, place, children) for seed in range(TRIALS)]
    children.close()
    assert [fault for fault in faults if fault] == []
