"""One vector a text: what each kind of model gives, alone and among others."""

import numpy as np
import pytest

import softquery
from softquery.errors import BundleError
from softquery.runtime.vectors.text_vectors import (
    decided,
    num_reserved,
    open_vectors,
    own_vectors,
    zipf_weights,
)

TEXTS = ["How do I reset my password?", "the", "Where is my parcel?"]


@pytest.fixture(scope="module")
def matcher():
    return softquery.load("match-en", threads=1)


@pytest.mark.parametrize("source", ["states", "words", "elmo-en"])
def test_vectors_have_length_one_and_know_no_company(matcher, source):
    vectors = open_vectors(source, matcher, threads=1)
    encodings = matcher.encodings(TEXTS)
    found = vectors.of(TEXTS, encodings)
    assert found.shape == (3, vectors.size)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    alone = vectors.of(TEXTS[2:], encodings[2:])
    np.testing.assert_allclose(alone[0], found[2], atol=1e-5)


def test_states_are_weighed_by_how_rare_words_are(matcher):
    vectors = own_vectors(matcher)
    (ids,), _ = matcher.read(TEXTS[:1])
    (encoding,) = matcher.encodings(TEXTS[:1])
    weights = zipf_weights(matcher.pipeline.vocab_size, num_reserved(matcher.pipeline))[ids]
    expected = np.average(encoding[:, : vectors.size], axis=0, weights=weights)
    np.testing.assert_allclose(vectors.pooled(ids, encoding), expected, atol=1e-5)
    assert vectors.size == 400
    assert vectors.bundle is None


def test_words_that_are_spelt_weigh_alike(matcher):
    encoding = np.arange(8 * 400, dtype=np.float32).reshape(8, 400)
    found = own_vectors(matcher).pooled(tuple("abcdefgh"), encoding)
    np.testing.assert_allclose(found, encoding.mean(axis=0), rtol=1e-5)


def test_what_is_not_known_is_zero(matcher):
    """Boundaries and unknown words weigh nothing, and nothing is divided by that."""
    vectors = own_vectors(matcher)
    for text in ("", "qqqqzzzz"):
        (found,) = vectors.of([text], matcher.encodings([text]))
        assert np.isfinite(found).all()
        assert not found.any()
    (found,) = open_vectors("elmo-en", matcher, threads=1).of([" "], matcher.encodings([" "]))
    assert not found.any()


def test_an_encoder_gives_the_mean_of_its_pieces_without_its_marks(matcher, tmp_path):
    pytest.importorskip("torch")
    from bert_cases import write_bert

    folder = write_bert(tmp_path / "bert")
    vectors = open_vectors(str(folder), matcher, threads=1)
    found = vectors.of(["the cat sat", "the", ""], [])
    (layers,) = softquery.load(folder).embed(["the cat sat"], layers="average")
    expected = layers[0, 1:-1].mean(axis=0)
    np.testing.assert_allclose(found[0], expected / np.linalg.norm(expected), atol=1e-5)
    assert found.shape == (3, vectors.size) == (3, 8)
    assert not found[2].any()


def test_sources(matcher):
    assert decided("auto", matcher) == "states"
    assert decided("elmo-en", matcher) == "elmo-en"
    assert open_vectors("elmo-en", matcher, threads=1).bundle is not None
    with pytest.raises(BundleError, match="has no vectors from 'encoding'"):
        open_vectors("encoding", matcher, threads=1)
    with pytest.raises(
        BundleError, match=r"nli-en: gives no vectors of texts; expected a sentence"
    ):
        open_vectors("nli-en", matcher, threads=1)
