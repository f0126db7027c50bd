"""A matcher with a biLM inside answers without torch as with it, wherever its vectors come in."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from elmo_cases import ElmoCase
from small_bundles import exported, random_pairs
from small_inner import BOTH, make_inner
from softquery.bundle import read_bundle
from softquery.runtime import load
from softquery.text import spell_vocabulary

CLOSE = {"rtol": 0, "atol": 2e-5}
FIRST = [
    ["w1", "w2", "Unheard", "w3"],
    ["w5"],
    [],
    ["naïve", "漢", "字", "\U0001f44d", "x" * 10_000],
    ["w7"] * 60,
    [],
    ["W9"],
]
SECOND = [["w9", "of"], ["w4", "w5", "w6", "w7", "w8"], ["w6", "w7"], [], ["Unheard"], [], ["w1"]]
"""Long and short, known and unknown words, and none."""
PLACES = [
    {"places": ("input",)},
    {"places": ("output",)},
    {"places": ("input", "output"), "normalise": True},
    {"places": ("input",), "beside_words": False},
    {"places": ("input", "output"), "layers": "last", "learn_scale": False},
]
CASES = [
    *({"elmo": elmo, "ends": ends} for elmo, ends in product(PLACES, ("there", "added"))),
    {"elmo": BOTH, "cell": "gru", "outputs": 1},
    {"elmo": {"places": ("output",)}, "parts": ("aligned", "product"), "outputs": 2},
    *(
        {"name": "siamese", "elmo": elmo, "ends": ends, "pooling": pooling}
        for elmo, ends, pooling in (
            (PLACES[0], "there", "max"),
            (PLACES[0], "added", "attentive"),
            (PLACES[3], "there", "mean"),
        )
    ),
    {"name": "siamese", "elmo": PLACES[0], "head": "cosine", "outputs": 2},
]


def shown(case):
    return json.dumps(case).replace('"', "")


@pytest.fixture(scope="module", params=CASES, ids=shown)
def both(request, tmp_path_factory):
    """A matcher on torch, and the same on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("nested")
    bundle = make_inner(folder / "plain", **request.param)
    report = exported(bundle, folder / "exported")
    assert (report.precision, report.gate) == ("float32", None)
    assert report.difference <= 1e-5
    theirs = load(bundle, backend="torch", device="cpu")
    return theirs, load(report.bundle, backend="onnx", threads=1)


def test_a_bilm_that_looks_words_up_answers_as_with_torch(tmp_path):
    entries = ["<pad>", "<unk>", "<bos>", "<eos>", *(f"w{number}" for number in range(1, 8))]
    words = {"reads": "words", "num_words": len(entries)}
    bilm = ElmoCase(softmax={"kind": "none"}, settings=words).build()
    bilm.spell(torch.from_numpy(spell_vocabulary(entries, 9)))
    bundle = make_inner(tmp_path / "plain", elmo=BOTH, bilm=bilm)
    ours = load(exported(bundle, tmp_path / "exported").bundle, backend="onnx")
    theirs = load(bundle, backend="torch", device="cpu")
    found, wanted = (each.backend.pair_logits(FIRST, SECOND) for each in (ours, theirs))
    np.testing.assert_allclose(found, wanted, **CLOSE)
    assert np.ptp(wanted, axis=0).max() > 0.01


def test_logits_straight_from_words(both):
    theirs, ours = (matcher.backend.pair_logits(FIRST, SECOND) for matcher in both)
    np.testing.assert_allclose(ours, theirs, **CLOSE)
    assert np.ptp(theirs, axis=0).max() > 0.01  # or else nothing was compared


def test_logits_of_texts(both):
    pairs = random_pairs(60, seed=2)
    theirs, ours = (matcher.logits(pairs) for matcher in both)
    np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_one_first_side_meets_many(both):
    theirs, ours = (matcher.backend for matcher in both)
    for asked in (FIRST[0], FIRST[1], []):
        first, second = ours.encode([asked]), ours.encode(SECOND)
        many = ours.compare(first, second)
        wanted = theirs.pair_logits([asked] * len(SECOND), SECOND)
        np.testing.assert_allclose(many, wanted, **CLOSE)
        pairwise = [ours.compare(first, [each])[0] for each in second]
        np.testing.assert_allclose(many, pairwise, **CLOSE)


def test_alignments(both):
    for first, second in zip(FIRST, SECOND, strict=True):
        wanted, found = (
            matcher.backend.align(*(matcher.backend.encode([side])[0] for side in (first, second)))
            for matcher in both
        )
        assert (found is None) == (wanted is None)
        for one, other in zip(found or (), wanted or (), strict=True):
            np.testing.assert_allclose(one, other, **CLOSE)


def test_encodings_hold_what_is_laid_beside_the_states(both):
    theirs, ours = (matcher.backend.encode(FIRST) for matcher in both)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one[..., : other.shape[-1]], other, **CLOSE)


def test_company_and_threads_change_nothing(both):
    _, ours = both
    together = ours.backend.encode(FIRST)
    for sentence, encoding in zip(FIRST, together, strict=True):
        np.testing.assert_allclose(ours.backend.encode([sentence])[0], encoding, **CLOSE)
    pairs = random_pairs(90, seed=3, longest=60)
    wanted = ours.logits(pairs)
    many = load(ours.bundle.path, threads=3)
    assert many.backend.name == "onnx"
    assert (many.logits(pairs) == wanted).all()
    np.testing.assert_allclose(ours.logits(pairs[:1]), wanted[:1], **CLOSE)


def test_torch_runs_what_was_exported(both):
    """The folded form, with its biLM inside."""
    theirs, ours = both
    again = load(ours.bundle.path, backend="torch", device="cpu")
    pairs = random_pairs(20, seed=4)
    np.testing.assert_allclose(again.logits(pairs), theirs.logits(pairs), **CLOSE)


def test_the_bilm_matters(tmp_path):
    """Or else all of the above would be about words alone."""
    from safetensors.numpy import load_file, save_file

    path = exported(make_inner(tmp_path / "plain"), tmp_path / "exported").bundle
    before = load(path).logits(random_pairs(5))
    stored = load_file(path / "model.safetensors")
    stored["embedder.bilm.forwards.layers.1.recurrent_weight"] *= 3
    save_file(stored, path / "model.safetensors")
    assert np.abs(load(read_bundle(path)).logits(random_pairs(5)) - before).max() > 1e-4
