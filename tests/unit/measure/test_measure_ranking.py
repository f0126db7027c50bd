"""Metrics of ranked lists, by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.measure import found_at, ndcg_at, recall_at, reciprocal_rank

GRADES = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=2, max_size=8).filter(any)


def test_by_hand():
    ranked, relevant = ["c", "a", "d", "b"], {"a": 1.0, "b": 1.0, "z": 1.0}
    assert [recall_at(ranked, relevant, k) for k in (1, 2, 4, 9)] == [0, 1 / 3, 2 / 3, 2 / 3]
    assert [found_at(ranked, relevant, k) for k in (1, 2)] == [0, 1]
    assert reciprocal_rank(ranked, relevant) == 0.5
    assert reciprocal_rank(["x"], relevant) == 0
    assert ndcg_at(["a", "b", "z"], relevant, 10) == pytest.approx(1)
    assert ndcg_at([], relevant, 10) == 0


def test_what_is_graded_zero_is_not_relevant():
    assert reciprocal_rank(["a", "b"], {"a": 0.0, "b": 2.0}) == 0.5
    assert recall_at(["a"], {"a": 0.0, "b": 2.0}, 1) == 0


@settings(max_examples=50, deadline=None)
@given(grades=GRADES, k=st.integers(1, 9), seed=st.integers(0, 99))
def test_ndcg_is_that_of_scikit_learn(grades, k, seed):
    metrics = pytest.importorskip("sklearn.metrics")
    order = np.random.default_rng(seed).permutation(len(grades))
    names = [str(place) for place in range(len(grades))]
    relevant = dict(zip(names, grades, strict=True))
    scores = np.empty(len(grades))
    scores[order] = -np.arange(len(grades))
    ranked = [names[place] for place in order]
    expected = metrics.ndcg_score([grades], [scores], k=k)
    assert ndcg_at(ranked, relevant, k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("relevant", "k", "said"),
    [
        ({}, 1, "nothing is relevant"),
        ({"a": 0.0}, 1, "nothing is relevant"),
        ({"a": 1.0, "b": -1.0}, 1, "0 or more"),
        ({"a": 1.0}, 0, "k must be at least 1"),
    ],
)
def test_refusals(relevant, k, said):
    with pytest.raises(ValueError, match=said):
        recall_at(["a"], relevant, k)
