"""A generator in int8 computes, with the weights that it stores, what torch computes with them."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")

from small_generators import make_generator, some_rows, some_texts
from softquery.bundle import read_bundle
from softquery.decoding import Beam, Greedy
from softquery.export import export_generator
from softquery.models import AskingConfig
from softquery.runtime import GenerateRequest, load_generator
from softquery.runtime.graph_weights import SCALE

NEAR, NEVER = 0.03, 0.15
"""Nats a token, on the mean and at most, that int8 activations cost these models, whose weights are
drawn large."""
CASES = {
    "transformer": ("transformer", {}),
    "transformer-pre": ("transformer", {"norm": "pre", "activation": "gelu", "tie": "none"}),
    "transformer-learned": ("transformer", {"positions": "learned", "tie": "output"}),
    "rnn": ("seq2seq", {"cell": "rnn", "context": "every_step"}),
    "first-state": ("seq2seq", {"cell": "lstm", "context": "first_state", "num_layers": 2}),
    "bahdanau": ("seq2seq", {"tie": "output"}),
    "luong": (
        "seq2seq",
        {"cell": "lstm", "attention": AskingConfig(asker="current", score="general")},
    ),
    "trilinear": ("seq2seq", {"attention": AskingConfig(asker="previous", score="trilinear")}),
    "concat": ("seq2seq", {"attention": AskingConfig(asker="current", score="concat")}),
}


@pytest.fixture(scope="module", params=CASES, ids=str)
def small(request, tmp_path_factory):
    """An int8 bundle of each kind; the gate is wide open."""
    name, settings = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    made = read_bundle(make_generator(folder / "plain", name, bleu="none", **settings))
    sources, targets = some_texts(24), some_texts(24, seed=2)
    rows = some_rows(sources, targets)
    report = export_generator(made, folder / "int8", int8=True, limit=1e6, rows=rows)
    assert report.precision == "int8"
    return report.bundle


def test_matrices_are_stored_once_as_int8(small):
    weights = read_bundle(small).read_weights()
    large = [name for name, values in weights.items() if values.ndim > 1 and values.size >= 4096]
    assert large
    assert {weights[name].dtype.name for name in large} == {"int8"}
    assert all(weights[name + SCALE].dtype == np.float32 for name in large)


def test_texts_are_as_likely_as_torch_finds_them(small):
    ours, theirs = (
        load_generator(small, backend="onnx"),
        load_generator(small, backend="torch"),
    )
    texts, targets = some_texts(40, seed=5), some_texts(40, seed=6)
    one, counts = ours.log_likelihoods(texts, targets)
    other, _ = theirs.log_likelihoods(texts, targets)
    apart = np.abs(one - other) / counts
    assert apart.mean() < NEAR
    assert 0 < apart.max() < NEVER  # it is another arithmetic


def test_an_answer_does_not_depend_on_its_company(small):
    model = load_generator(small, backend="onnx", threads=1)
    texts = some_texts(24, seed=7)
    for strategy in (Greedy(), Beam(size=3)):
        request = GenerateRequest(strategy=strategy, max_length=10)
        together = model.generate(texts, request)
        alone = [model.generate([text], request)[0] for text in texts]
        assert [each[0].tokens for each in together] == [each[0].tokens for each in alone]
