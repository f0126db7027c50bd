"""Words of texts: counted, weighed by how rare they are, and never by what stands beside them."""

import numpy as np
import pytest

from softquery.runtime.classify import word_counts
from softquery.runtime.classify.word_counts import PAIR, WordCounts

TEXTS = [[5, 6, 7, 5], [6, 7], [8, 5, 6], [9]]


def pair(first, second):
    return (first + 1) * PAIR + second


def test_tokens_are_known_and_pairs_of_several_texts():
    known = WordCounts.of(TEXTS)
    assert known.keys.tolist() == [5, 6, 7, 8, 9, pair(5, 6), pair(6, 7)]


def test_weights_are_those_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    known = WordCounts.of(TEXTS)

    def words(ids):
        return [str(key) for key in [*ids, *map(pair, ids, ids[1:])]]

    other = text.TfidfVectorizer(
        analyzer=words, vocabulary=list(map(str, known.keys.tolist())), sublinear_tf=True
    )
    expected = other.fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(known.entries(TEXTS).dense(7), expected, atol=1e-6)


def test_a_text_depends_on_itself_alone():
    known = WordCounts.of(TEXTS)
    together = known.entries(TEXTS).dense(7)
    for place, text in enumerate(TEXTS):
        assert np.array_equal(known.entries([text]).dense(7)[0], together[place])


def test_times_is_the_product():
    known, weights = WordCounts.of(TEXTS), np.arange(14, dtype=np.float32).reshape(7, 2)
    entries = known.entries([*TEXTS, [], [99]])
    np.testing.assert_allclose(entries.times(weights), entries.dense(7) @ weights, atol=1e-5)
    assert not entries.times(weights)[-2:].any()


def test_no_texts_and_no_words():
    assert WordCounts.of([]).entries([[1, 2]]).dense(0).shape == (1, 0)
    assert WordCounts.of([[], []]).entries([[1]]).times(np.zeros((0, 3), np.float32)).shape == (
        1,
        3,
    )
    assert WordCounts.of(TEXTS).entries([]).dense(7).shape == (0, 7)


def test_the_commonest_are_kept(monkeypatch):
    monkeypatch.setattr(word_counts, "MOST_WORDS", 2)
    assert WordCounts.of(TEXTS).keys.tolist() == [5, 6]
