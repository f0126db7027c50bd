"""Bundles are made with torch, and the rivals need it."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = (
    []
    if find_spec("torch") and find_spec("onnx")
    else ["test_bench_contestants.py", "test_bench_compare_tasks.py"]
)


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory):
    """An exported bundle of the least size."""
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("tiny")
    return exported(make_bundle(folder / "plain", size=8, outputs=2), folder / "tiny").bundle
