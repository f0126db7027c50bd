"""A matcher with a biLM inside, without torch: stored encodings, bulk to the byte, explanations."""

from itertools import islice

import numpy as np
import pytest

from small_bundles import exported, random_pairs, unlabelled
from small_inner import make_inner
from softquery.bundle import read_bundle
from softquery.runtime import load, open_embedder
from softquery.runtime.bulk import BulkAnswers, answer_rows
from softquery.runtime.inner.inner_weights import without_inner
from softquery.runtime.inner.onnx import MixedContext, open_inner
from softquery.runtime.match.model import CHUNK
from softquery.text import TextConfig

PAIRS = random_pairs(CHUNK + 40, seed=6, longest=9)
DOCUMENTS = [second for _, second in PAIRS[:30]]
SAME = {"rtol": 0, "atol": 1e-6}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nested")
    return exported(make_inner(folder / "plain", size=16), folder / "exported").bundle


@pytest.fixture(scope="module")
def matcher(path):
    return load(path, threads=2)


def test_stored_encodings_answer_as_fresh_ones(matcher, path):
    stored = load(path).encodings(DOCUMENTS)
    assert {each.shape[1] for each in stored} == {2 * 16 + 8 + 2 * 16}
    again = matcher.rank("w1 w2 zebra", DOCUMENTS, encodings=stored)
    assert again == matcher.rank("w1 w2 zebra", DOCUMENTS)
    pairs = [("w1 w2 zebra", text) for text in DOCUMENTS]
    scores = {each["corpus_id"]: each["score"] for each in again}
    wanted = matcher.probabilities(pairs)[:, 1]
    np.testing.assert_allclose([scores[row] for row in range(30)], wanted, rtol=0, atol=1e-5)
    half = matcher.rank("w1", DOCUMENTS, encodings=[each.astype(np.float16) for each in stored])
    assert len(half) == 30


def test_explain_shows_words_and_both_ends(matcher):
    shown = matcher.explain("w1 zebra", "w2")
    assert shown.first_tokens == ("<bos>", "w1", "zebra", "<eos>")
    assert shown.first_to_second.shape == (4, 3)
    np.testing.assert_allclose(shown.first_to_second.sum(axis=1), 1, **SAME)
    wanted = matcher.predict([("w1 zebra", "w2")])[0].probabilities
    assert shown.probabilities == pytest.approx(wanted, abs=1e-5)


def test_a_word_is_read_by_its_own_characters(matcher):
    one, other = matcher.predict([("w1", "qqqq w2"), ("w1", "zzzz w2")])
    assert one.probabilities != pytest.approx(other.probabilities, abs=1e-6)


def test_what_was_asked_before_changes_no_bit(path):
    fresh, used = load(path), load(path)
    used.probabilities([("zebra w4 w9 unheard", "w7 gnu"), *PAIRS[40:43]])
    used.encodings(["w1 gnu w2"])
    assert (used.probabilities(PAIRS) == fresh.probabilities(PAIRS)).all()
    for one, other in zip(used.encodings(DOCUMENTS), load(path).encodings(DOCUMENTS), strict=True):
        assert (one == other).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_bulk_run_goes_on_to_the_same_bytes(path, matcher, tmp_path, threads):
    rows = unlabelled(PAIRS)

    def stopping():
        yield from islice(rows, CHUNK + 1)
        raise KeyboardInterrupt

    answer_rows(BulkAnswers(matcher), rows, tmp_path / "whole.jsonl")
    with pytest.raises(KeyboardInterrupt):
        answer_rows(BulkAnswers(load(path, threads=threads)), stopping(), tmp_path / "out.jsonl")
    result = answer_rows(BulkAnswers(load(path, threads=threads)), rows, tmp_path / "out.jsonl")
    assert (result.num_rows, result.num_resumed) == (len(rows), CHUNK)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_it_embeds_as_well(path, matcher):
    found = open_embedder(path)
    plain = open_embedder(path.parent / "plain", device="cpu")
    assert (found.backend.name, plain.backend.name) == ("onnx", "torch on cpu")
    for layers in ("all", "mix"):
        one, other = (each.embed(["w1 zebra", "", "w2"], layers=layers) for each in (found, plain))
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_both_ends_have_vectors_too(path):
    words = open_inner(read_bundle(path), batching="alone")
    lines = [["w1", "zebra"], [], ["w2"]]
    for inner, whole in zip(words.layers(lines), words.layers_with_ends(lines), strict=True):
        np.testing.assert_allclose(whole[:, 1:-1], inner, **SAME)
        assert np.abs(whole[:, 0] - whole[:, -1]).max() > 1e-3


def test_words_are_read_together_or_alone(path):
    lines = [["w1", "zebra", "w3"], ["w2"] * 3]
    together, alone = (
        open_inner(read_bundle(path), batching=batching).layers(lines)
        for batching in ("together", "alone")
    )
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, **SAME)


def test_a_model_without_a_bilm_has_no_context(float_bundle, path):
    assert open_inner(read_bundle(float_bundle)) is None
    stored = read_bundle(path).read_weights()
    outside = without_inner(stored)
    assert {name for name in stored if name not in outside} == {
        name for name in stored if name.startswith("embedder.bilm.")
    }


def test_mixed_vectors_are_those_of_words_as_they_are_seen(path):
    """The case is kept, and what cannot be seen is not read."""
    bundle = read_bundle(path)
    inside = bundle.config.model["config"]["embedder"]
    context = open_inner(bundle)
    mixed = MixedContext(context, inside, bundle.read_weights(), TextConfig())
    plain, hidden, upper = mixed.of([["caf\u00e9"], ["cafe\u0301\u200b"], ["CAF\u00c9"]])
    assert set(plain) == {"at_input", "at_output"}
    assert plain["at_input"].shape == (3, 8)
    np.testing.assert_allclose(hidden["at_input"], plain["at_input"], **SAME)
    assert np.abs(upper["at_input"] - plain["at_input"]).max() > 1e-4
