"""Bins: every sequence once, none too full, little left over."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.data.buckets import EMPTY, fill_bins


def filled(sizes, capacity, most=8, seed=0):
    draw = np.random.default_rng(seed)
    return fill_bins(np.array(sizes, dtype=np.int64), capacity, most=most, draw=draw)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(min_value=1, max_value=40).flatmap(
        lambda capacity: st.tuples(
            st.just(capacity), st.lists(st.integers(min_value=1, max_value=capacity), max_size=60)
        )
    ),
    st.integers(min_value=1, max_value=6),
)
def test_every_sequence_is_in_one_bin_and_no_bin_overflows(case, most):
    capacity, sizes = case
    bins = filled(sizes, capacity, most)
    assert sorted(number for number in bins.flatten().tolist() if number != EMPTY) == list(
        range(len(sizes))
    )
    for row in bins.tolist():
        inside = [number for number in row if number != EMPTY]
        assert 1 <= len(inside) <= most
        assert sum(sizes[number] for number in inside) <= capacity
        assert row[len(inside) :] == [EMPTY] * (most - len(inside))


def test_little_is_left_over():
    sizes = np.random.default_rng(1).integers(4, 129, 20_000)
    bins = filled(sizes, 128)
    assert sizes.sum() / (128 * len(bins)) > 0.97


def test_who_shares_a_bin_is_drawn():
    sizes = [3] * 6 + [5] * 6
    assert filled(sizes, 8, seed=1).tolist() == filled(sizes, 8, seed=1).tolist()
    assert filled(sizes, 8, seed=1).tolist() != filled(sizes, 8, seed=2).tolist()


def test_a_million_sequences_take_no_time_to_speak_of():
    sizes = np.random.default_rng(1).integers(1, 129, 1_000_000)
    assert len(filled(sizes, 128)) > 400_000


@pytest.mark.parametrize("sizes", [[0, 3], [9]])
def test_sizes_that_fit_no_bin_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes must be from 1 to 8"):
        filled(sizes, 8)
