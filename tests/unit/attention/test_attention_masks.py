import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.attention import both, causal_mask, padding_mask, window_mask

LENGTH = st.integers(0, 7)


@given(lengths=st.lists(st.integers(0, 9), max_size=4), max_length=LENGTH)
@settings(max_examples=40, deadline=None)
def test_padding_mask_counts_the_real_tokens(lengths, max_length):
    mask = padding_mask(torch.tensor(lengths, dtype=torch.long), max_length)
    assert mask.sum(-1).tolist() == [min(length, max_length) for length in lengths]
    assert mask.int().diff(dim=-1).le(0).all()  # real tokens first, padding after


def test_padding_mask_takes_any_batch_axes():
    lengths = torch.tensor([[1, 2], [0, 3]])
    assert padding_mask(lengths, 3)[1, 1].tolist() == [True, True, True]
    assert padding_mask(torch.tensor(1), 2).tolist() == [True, False]


@given(query_length=LENGTH, key_length=LENGTH)
@settings(max_examples=40, deadline=None)
def test_causal_mask_is_aligned_at_the_end(query_length, key_length):
    mask = causal_mask(query_length, key_length)
    for i in range(query_length):
        for j in range(key_length):
            steps_before_end_query = query_length - 1 - i
            steps_before_end_key = key_length - 1 - j
            assert mask[i, j] == (steps_before_end_key >= steps_before_end_query)


def test_causal_mask_of_new_queries_is_the_end_of_the_whole():
    assert causal_mask(2, 6).equal(causal_mask(6, 6)[-2:])


def test_queries_before_the_first_key_see_nothing():
    assert causal_mask(3, 1).tolist() == [[False], [False], [True]]


@given(query_length=LENGTH, key_length=LENGTH, radius=st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_window_mask_reaches_as_far_on_both_sides(query_length, key_length, radius):
    mask = window_mask(query_length, key_length, radius)
    for i in range(query_length):
        position = i + key_length - query_length
        expected = [abs(j - position) <= radius for j in range(key_length)]
        assert mask[i].tolist() == expected


def test_sliding_window_is_window_and_causal():
    mask = window_mask(4, 4, radius=1) & causal_mask(4, 4)
    assert mask.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_negative_radius_is_refused():
    with pytest.raises(ValueError, match="radius must be at least 0, got -1"):
        window_mask(2, 2, radius=-1)


def test_both_lets_a_missing_mask_forbid_nothing():
    mask = causal_mask(2, 2)
    assert both(None, None) is None
    assert both(mask, None) is mask
    assert both(None, mask) is mask
    padding = padding_mask(torch.tensor([1, 2]), 2)[:, None]
    assert both(mask, padding).equal(mask & padding)
    assert both(mask, padding).shape == (2, 2, 2)
