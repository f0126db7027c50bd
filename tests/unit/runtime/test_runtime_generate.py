"""Weights as the graphs of generators take them, and the steps of these graphs."""

import json

import numpy as np
import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")

from safetensors.numpy import load_file

from small_generators import make_generator, some_rows, some_texts
from softquery.bundle import read_bundle
from softquery.decoding import Beam, Greedy
from softquery.export import export_generator
from softquery.models import AskingConfig
from softquery.runtime import GenerateRequest, load_generator
from softquery.runtime.generate.decoder_weights import ZERO, generator_weights
from softquery.runtime.generate.onnx import padded_sources
from softquery.runtime.graph_weights import SCALE, dequantised

LUONG = AskingConfig(asker="current", score="general")
CASES = {
    "transformer": ("transformer", {}),
    "bahdanau": ("seq2seq", {"tie": "output"}),
    "luong": ("seq2seq", {"cell": "lstm", "attention": LUONG}),
    "every-step": ("seq2seq", {"context": "every_step"}),
}


@pytest.fixture(scope="module", params=CASES, ids=str)
def exported(request, tmp_path_factory):
    """A float32 and an int8 bundle of each kind; the gate is wide open."""
    name, settings = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    made = read_bundle(make_generator(folder / "plain", name, bleu="none", **settings))
    rows = some_rows(some_texts(12), some_texts(12, seed=2))
    plain = export_generator(made, folder / "float32").bundle
    small = export_generator(made, folder / "int8", int8=True, limit=1e6, rows=rows).bundle
    return plain, small


def arranged(path):
    bundle = read_bundle(path)
    return generator_weights(bundle.read_weights(), bundle.config.model["config"])


def as_floats(weights, name):
    """A matrix as it multiplies."""
    values = weights[f"{name}.weight"].astype(np.float32)
    return values * weights.get(f"{name}.weight{SCALE}", np.float32(1))


@pytest.mark.parametrize("place", [0, 1], ids=["float32", "int8"])
def test_matrices_that_are_joined_or_parted_hold_the_stored_numbers(exported, place):
    weights = arranged(exported[place])
    stored = dequantised(read_bundle(exported[place]).read_weights())
    if "readout.source.weight" in weights:
        whole = next(stored[each] for each in ("readout.weight", "readout.pairs.weight")
                     if each in stored).T  # fmt: skip
        source, own = (as_floats(weights, f"readout.{each}") for each in ("source", "own"))
        first, last = (source, own) if "readout.weight" in stored else (own, source)
        np.testing.assert_array_equal(np.vstack([first, last]), whole)
    else:
        name = "decoder.1.own_attention"
        parts = [f"{name}.{part}_projection" for part in ("query", "key", "value")]
        joint = as_floats(weights, f"{name}.query_key_value")
        wide = np.hstack([stored[f"{part}.weight"].T for part in parts])
        np.testing.assert_array_equal(joint, wide)
        bias = np.hstack([stored[f"{part}.bias"] for part in parts])
        np.testing.assert_array_equal(weights[f"{name}.query_key_value.bias"], bias)


def test_int8_stays_int8_where_it_is_joined_or_parted(exported):
    weights = arranged(exported[1])
    names = [name for name in weights if name.endswith(("query_key_value.weight", "own.weight"))]
    assert names
    for name in names:
        columns = weights[name].shape[1]
        assert weights[name].dtype == np.int8
        assert weights[name + SCALE].shape == weights[name + ZERO].shape == (columns,)


def test_a_bundle_stores_nothing_twice(exported):
    """Joint matrices are made when a model is opened."""
    for path in exported:
        stored = set(load_file(path / "model.safetensors"))
        used = set(json.loads((path / "onnx" / "weights.json").read_text())["step"])
        made = {name for name in used - stored if "query_key_value" in name or "readout." in name}
        assert made
        assert not stored & made


@pytest.mark.parametrize("place", [0, 1], ids=["float32", "int8"])
def test_answers_do_not_depend_on_the_number_of_threads(exported, place):
    texts = some_texts(40, seed=5)
    models = [load_generator(exported[place], backend="onnx", threads=each) for each in (1, 2, 3)]
    for strategy in (Greedy(), Beam(size=3, num_best=2)):
        request = GenerateRequest(strategy=strategy, max_length=10)
        alone, *shared = (model.generate(texts, request) for model in models)
        for found in shared:
            assert [[each.tokens for each in some] for some in found] == [
                [each.tokens for each in some] for some in alone
            ]
            np.testing.assert_allclose(
                [each.log_probability for some in found for each in some],
                [each.log_probability for some in alone for each in some],
                rtol=1e-6,
            )


def test_a_source_is_moved_only_where_sentences_come_or_go(exported):
    step = load_generator(exported[0], backend="onnx", threads=1).backend.step
    state = step.begin(*padded_sources([[2, 5, 6, 3], [2, 7, 3]]))
    wide = step.reorder(state, np.array([0, 0, 1, 1]))
    assert wide.sentences.tolist() == [0, 0, 1, 1]
    for name, value in wide.source.items():
        np.testing.assert_array_equal(value, state.source[name][[0, 0, 1, 1]])
    turned = step.reorder(wide, np.array([1, 0, 3, 3]))
    assert turned.source is wide.source
    for name, value in turned.past.items():
        np.testing.assert_array_equal(value, wide.past[name][[1, 0, 3, 3]])
    left = step.reorder(turned, np.array([2, 3]))
    assert left.sentences.tolist() == [1, 1]
    for name, value in left.source.items():
        np.testing.assert_array_equal(value, state.source[name][[1, 1]])


def test_attention_is_there_where_it_is_asked_for(exported):
    model = load_generator(exported[0], backend="onnx")
    request = GenerateRequest(strategy=Greedy(), max_length=6)
    assert model.generate(["w1 w2"], request)[0][0].attention is None
    if model.backend.attends:
        weights = model.explain("w1 w2", request).weights
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
