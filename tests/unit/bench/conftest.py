"""Bundles are made with torch, and the rivals need it; scripts are imported from beside `tests`."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

collect_ignore_glob = (
    []
    if find_spec("torch") and find_spec("onnx")
    else ["test_bench_contestants.py", "test_bench_compare.py"]
)


@pytest.fixture(scope="module")
def script(request):
    """The benchmark that the tests name as `SCRIPT`: its topic and its own name."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not here")
    sys.path.append(str(ROOT))
    try:
        return import_module(f"benchmarks.{request.module.SCRIPT}")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory):
    """An exported bundle of the least size."""
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("tiny")
    return exported(make_bundle(folder / "plain", size=8, outputs=2), folder / "tiny").bundle
