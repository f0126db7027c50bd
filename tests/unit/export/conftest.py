"""Exporting needs torch; bundles that several tests look at are made once."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") and find_spec("onnx") else ["test_*.py"]


@pytest.fixture(scope="session")
def labelled_rows():
    from small_bundles import labelled, random_pairs

    pairs = random_pairs(60, seed=3)
    return labelled(pairs, ["contradiction", "entailment", "neutral"] * 20)


@pytest.fixture(scope="session", params=["lstm", "gru"])
def precisions(request, labelled_rows, tmp_path_factory):
    """A cell's name, and an ESIM with it: as trained, as float32 graphs, as int8."""
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp(f"precisions-{request.param}")
    bundle = make_bundle(folder / "plain", cell=request.param)
    exported(bundle, folder / "float32")
    report = exported(bundle, folder / "int8", int8=True, limit=100, rows=labelled_rows)
    assert report.precision == "int8"
    return request.param, folder
