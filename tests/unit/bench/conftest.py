"""Bundles are made with torch, and the rivals need it; scripts are read from their folder."""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"

collect_ignore_glob = (
    []
    if find_spec("torch") and find_spec("onnx")
    else ["test_bench_contestants.py", "test_bench_compare_tasks.py"]
)


@pytest.fixture(scope="module")
def script(request):
    """The benchmark that the tests name as `SCRIPT`; it imports its neighbours by name."""
    path = BENCHMARKS / request.module.SCRIPT
    if not path.is_file():
        pytest.skip("the benchmarks are not here")
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory):
    """An exported bundle of the least size."""
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("tiny")
    return exported(make_bundle(folder / "plain", size=8, outputs=2), folder / "tiny").bundle
