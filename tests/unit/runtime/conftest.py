"""Bundles that several tests ask, each made once, with torch."""

from importlib.util import find_spec

import pytest

TORCHED = ("batches", "bulk", "cache", "classifier", "elmo_layers", "embedder", "embedding",
           "encode_everywhere", "layers", "load", "matcher", "matrix_output", "nested",
           "reader", "sentence_encoder", "speller", "words")  # fmt: skip
NEED_TORCH = [f"test_runtime_{name}.py" for name in TORCHED]
collect_ignore_glob = [] if find_spec("torch") and find_spec("onnx") else NEED_TORCH


@pytest.fixture(scope="session")
def plain_bundle(tmp_path_factory):
    from small_bundles import make_bundle

    return make_bundle(tmp_path_factory.mktemp("plain") / "model")


@pytest.fixture(scope="session")
def float_bundle(plain_bundle, tmp_path_factory):
    from small_bundles import exported

    return exported(plain_bundle, tmp_path_factory.mktemp("float32") / "model").bundle


@pytest.fixture(scope="session")
def int8_bundle(plain_bundle, tmp_path_factory):
    from small_bundles import exported, labelled, random_pairs

    rows = labelled(random_pairs(30), ["entailment", "neutral", "contradiction"] * 10)
    target = tmp_path_factory.mktemp("int8") / "model"
    report = exported(plain_bundle, target, int8=True, limit=100, rows=rows)
    assert report.precision == "int8"
    return report.bundle


@pytest.fixture(scope="session")
def siamese_bundle(tmp_path_factory):
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("siamese")
    return exported(make_bundle(folder / "plain", "siamese", outputs=2), folder / "model").bundle


@pytest.fixture(scope="session")
def graded_bundle(tmp_path_factory):
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("graded")
    return exported(make_bundle(folder / "plain", outputs=1, size=16), folder / "model").bundle


@pytest.fixture(scope="session")
def elmo_bundle(tmp_path_factory):
    from small_elmo import exported_elmo

    return exported_elmo(tmp_path_factory.mktemp("elmo")).bundle


@pytest.fixture
def damaged(float_bundle, tmp_path):
    """A copy of an exported bundle, to be broken."""
    import shutil

    return shutil.copytree(float_bundle, tmp_path / "model")
