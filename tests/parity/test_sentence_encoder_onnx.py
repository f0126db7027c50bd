"""Exported sentence encoders give torch's vectors to 1e-5, and int8 ones whatever their company."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from small_sentence_encoders import labelled_pairs, make_sentence_encoder, random_sentences
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.export import export_sentence_encoder
from softquery.runtime import load

CLOSE = {"rtol": 0, "atol": 1e-5}
EVERY = ("query", "max", "mean")
CASES = [
    {"body": "static", "pools": ("query",)},
    {"body": "static", "pools": ("mean",)},
    {"body": "static", "pools": EVERY},
    {"body": "recurrent", "cell": "lstm"},
    {"body": "recurrent", "cell": "gru", "pools": EVERY},
    {"body": "recurrent", "num_queries": 8},
    {"body": "static", "pools": ("query",), "num_queries": 2},
    {"body": "recurrent", "pools": ("mean",), "text": {"boundaries": True}},
    {"body": "convolution", "pools": EVERY},
    {"body": "convolution", "embedding_size": 12, "num_layers": 3},
    {"body": "convolution", "window": 5, "middle_size": 24},
    {"body": "convolution", "num_layers": 3, "num_context": 2},
    {"body": "static", "pools": ("mean",), "middle_size": 24},
    {"body": "transformer", "pools": EVERY},
    {"body": "transformer", "embedding_size": 12, "text": {"boundaries": True}},
]
ODD = ["", " \n", "\u200b", "wa", "unheard", "wa " * 500, "wabcdefgh", "我们?", "wa\nwb\n\nwc"]
"""Nothing, nothing to be seen, one piece, no known piece, and more than is read."""


def shown(case):
    return "-".join(map(str, case.values()))


@pytest.fixture(scope="module", params=CASES, ids=shown)
def both(request, tmp_path_factory):
    """An encoder on torch, and the same on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("parity")
    bundle = make_sentence_encoder(folder / "plain", **request.param)
    report = export_sentence_encoder(read_bundle(bundle), folder / "exported")
    assert report.precision == "float32"
    assert report.difference <= 1e-5
    graphs = {path.name for path in (report.bundle / "onnx").glob("*.onnx")}
    without_masks = {"encode_even.onnx"} if request.param["body"] != "transformer" else set()
    assert graphs == {"encode.onnx"} | without_masks
    theirs = load(bundle, backend="torch", device="cpu")
    return theirs, load(report.bundle, backend="onnx", threads=1)


def test_vectors(both):
    theirs, ours = both
    texts = [*random_sentences(70), *ODD]
    wanted = theirs.encode(texts)
    np.testing.assert_allclose(ours.encode(texts), wanted, **CLOSE)
    assert np.ptp(wanted, axis=0).max() > 0.1  # or else nothing was compared


def test_a_text_alone_has_the_same_vector(both):
    _, ours = both
    texts = [*random_sentences(40), *ODD]
    alone = np.concatenate([ours.encode([text]) for text in texts])
    np.testing.assert_allclose(ours.encode(texts), alone, rtol=0, atol=1e-6)


def without_even(bundle, folder):
    """The bundle as exported before there was a graph for sentences of one length."""
    shutil.copytree(bundle, folder)
    (folder / "onnx" / "encode_even.onnx").unlink()
    used = json.loads((folder / "onnx" / "weights.json").read_bytes())
    del used["encode_even"]
    (folder / "onnx" / "weights.json").write_text(json.dumps(used), encoding="utf-8")
    return folder


def test_sentences_of_one_length_need_no_masks(both, tmp_path):
    _, ours = both
    if not (ours.bundle.path / "onnx" / "encode_even.onnx").exists():
        pytest.skip("its one graph serves all batches")
    texts = [" ".join(text.split()[:3]) for text in random_sentences(40)] * 2 + ODD
    before = load(without_even(ours.bundle.path, tmp_path / "before"), threads=1)
    np.testing.assert_allclose(ours.encode(texts), before.encode(texts), rtol=0, atol=1e-6)


def test_graphs_of_two_widths_are_refused(tmp_path):
    exported = {}
    for size in (32, 24):
        bundle = make_sentence_encoder(tmp_path / f"plain-{size}", "static", output_size=size)
        folder = tmp_path / f"exported-{size}"
        exported[size] = export_sentence_encoder(read_bundle(bundle), folder).bundle / "onnx"
    shutil.copy(exported[24] / "encode_even.onnx", exported[32] / "encode_even.onnx")
    with pytest.raises(BundleError, match=r"encode_even.onnx: cannot be run"):
        load(exported[32].parent)


@pytest.fixture(scope="module", params=["static", "recurrent", "convolution", "transformer"])
def small(request, tmp_path_factory):
    """An encoder in int8, and as it was trained."""
    folder = tmp_path_factory.mktemp("int8")
    # Large enough that every matrix is stored as int8.
    bundle = make_sentence_encoder(folder / "plain", request.param, size=96, output_size=64)
    rows = labelled_pairs(["0", "1"] * 30)
    report = export_sentence_encoder(
        read_bundle(bundle), folder / "int8", int8=True, limit=100, rows=rows
    )
    assert (report.precision, report.gate.metric, report.gate.n) == ("int8", "auc", 60)
    stored = read_bundle(report.bundle).read_weights()
    small = {name for name, values in stored.items() if values.dtype == np.int8}
    large = {name for name, values in stored.items() if values.ndim > 1 and values.size >= 4096}
    assert small == large
    return load(bundle, backend="torch", device="cpu"), report.bundle


def test_int8_is_near_float32(small):
    theirs, bundle = small
    texts = [*random_sentences(200), *ODD]
    cosines = np.einsum("ij,ij->i", theirs.encode(texts), load(bundle).encode(texts))
    assert cosines.min() > 0.97
    assert cosines.mean() > 0.99


def test_int8_does_not_depend_on_company_or_threads(small):
    _, bundle = small
    ours = load(bundle, threads=1)
    texts = [*random_sentences(60), *ODD]
    together = ours.encode(texts)
    alone = np.concatenate([ours.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, rtol=0, atol=2e-6)
    np.testing.assert_array_equal(together, load(bundle, threads=3).encode(texts))


def test_int8_is_safe_from_many_threads(small):
    _, bundle = small
    ours = load(bundle, threads=2)
    texts = [random_sentences(40, seed=seed) for seed in range(8)]
    wanted = [ours.encode(some) for some in texts]
    with ThreadPoolExecutor(8) as pool:
        for found, expected in zip(pool.map(ours.encode, texts), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_int8_opens_in_torch_as_well(small):
    _, bundle = small
    texts = random_sentences(50)
    there, here = (load(bundle, backend=name).encode(texts) for name in ("torch", "onnx"))
    assert np.einsum("ij,ij->i", there, here).min() > 0.97
