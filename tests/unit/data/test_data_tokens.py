"""Sentences end to end in one tensor, padded when a batch asks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.data import Sentences, Tokens

sentences_of_ids = st.lists(st.lists(st.integers(1, 1000), max_size=6), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(sentences=sentences_of_ids, extra=st.integers(0, 3), data=st.data())
def test_what_was_packed_comes_back(sentences, extra, data):
    rows = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1, max_size=5))
    length = max(map(len, sentences)) + extra
    tokens = Sentences.pack(sentences).pad(torch.tensor(rows), length)
    assert tokens.ids.shape == tokens.mask.shape == (len(rows), length)
    for row, ids, mask in zip(rows, tokens.ids.tolist(), tokens.mask.tolist(), strict=True):
        sentence = sentences[row]
        assert ids == sentence + [0] * (length - len(sentence))
        assert mask == [True] * len(sentence) + [False] * (length - len(sentence))


def test_sentences_without_tokens_have_a_place():
    packed = Sentences.pack([[], [7, 8], [], []])
    assert len(packed) == 4
    assert packed.lengths.tolist() == [0, 2, 0, 0]
    tokens = packed.pad(torch.tensor([3, 1, 0]), 3)
    assert tokens.ids.tolist() == [[0, 0, 0], [7, 8, 0], [0, 0, 0]]
    assert tokens.mask.any(dim=1).tolist() == [False, True, False]


def test_nothing_but_empty_sentences():
    tokens = Sentences.pack([[], []]).pad(torch.tensor([0, 1]), 2)
    assert tokens.ids.tolist() == [[0, 0], [0, 0]]
    assert not tokens.mask.any()


def test_no_sentences_at_all():
    packed = Sentences.pack([])
    assert len(packed) == 0
    assert packed.pad(torch.empty(0, dtype=torch.int64), 4).ids.shape == (0, 4)


def test_ids_are_small_in_store_and_long_in_a_batch():
    packed = Sentences.pack([[1, 2]])
    assert packed.ids.dtype == torch.int32
    assert packed.pad(torch.tensor([0]), 2).ids.dtype == torch.int64


def test_a_move_keeps_the_sentences():
    packed = Sentences.pack([[1, 2], [3]]).to("cpu")
    assert packed.pad(torch.tensor([1]), 1).ids.tolist() == [[3]]


def test_tokens_are_padded_further():
    tokens = Sentences.pack([[1, 2], [3]]).pad(torch.arange(2), 2).pad_to(4)
    assert tokens.ids.tolist() == [[1, 2, 0, 0], [3, 0, 0, 0]]
    assert tokens.mask.tolist() == [[True, True, False, False], [True, False, False, False]]


def test_tokens_are_never_cut_by_padding():
    tokens = Sentences.pack([[1, 2]]).pad(torch.tensor([0]), 2)
    with pytest.raises(ValueError, match="cannot pad 2 tokens to 1"):
        tokens.pad_to(1)


def test_two_batches_side_by_side_are_as_long_as_the_longer():
    short = Sentences.pack([[1], [2]]).pad(torch.arange(2), 1)
    long = Sentences.pack([[3, 4, 5]]).pad(torch.arange(1), 3)
    for both, order in ((short.beside(long), [0, 1, 2]), (long.beside(short), [2, 0, 1])):
        wanted = [[[1, 0, 0], [2, 0, 0], [3, 4, 5]][place] for place in order]
        assert isinstance(both, Tokens)
        assert both.ids.tolist() == wanted
        assert both.mask.tolist() == [[bool(number) for number in row] for row in wanted]
