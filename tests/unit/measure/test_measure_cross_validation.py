"""Folds: every label is learnt whichever is held out, and equal texts are never torn apart."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softquery.measure.cross_validation import NEVER, stratified_folds

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12)), min_size=1, max_size=60)


@given(ROWS, st.integers(2, 6), st.integers(0, 3))
def test_the_laws_of_folds(rows, num_folds, seed):
    labels, groups = np.array([label for label, _ in rows]), [group for _, group in rows]
    folds = stratified_folds(labels, groups, num_folds=num_folds, seed=seed)
    assert folds.min() >= NEVER
    assert folds.max() < num_folds
    for group in set(groups):
        assert len({int(folds[row]) for row, each in enumerate(groups) if each == group}) == 1
    for fold in range(num_folds):
        assert set(labels[folds != fold]) == set(labels), "a label would be unknown"


def test_labels_are_spread_evenly():
    labels = [0] * 50 + [1] * 20
    folds = stratified_folds(labels, list(range(70)), num_folds=5)
    for label, count in ((0, 10), (1, 4)):
        found = Counter(folds[np.array(labels) == label].tolist())
        assert found == dict.fromkeys(range(5), count)


def test_one_row_per_label_holds_nothing_out():
    assert stratified_folds([0, 1, 2], ["a", "b", "c"]).tolist() == [NEVER] * 3


def test_a_seed_decides():
    labels, groups = [0, 1] * 40, list(range(80))
    one, same, other = (stratified_folds(labels, groups, seed=seed) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()


def test_one_fold_is_refused():
    with pytest.raises(ValueError, match="num_folds must be at least 2, got 1"):
        stratified_folds([0, 1], ["a", "b"], num_folds=1)
