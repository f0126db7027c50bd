"""Chances, the tree and the rows of words are what the papers say."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.models import Word2VecConfig
from softquery.text import ngram_buckets
from softquery.training.word2vec.tables import (
    alias_table,
    huffman_tree,
    keep_chances,
    noise_chances,
    word_rows,
)

few = settings(max_examples=60, deadline=None)
counts = st.lists(st.integers(1, 10_000), min_size=2, max_size=40).map(np.array)


@few
@given(counts, st.floats(0.0, 1.0))
def test_the_alias_table_holds_the_distribution(found, power):
    chances = noise_chances(found, power)
    assert chances.sum() == pytest.approx(1)
    own, other = alias_table(chances)
    total = own.copy()
    np.add.at(total, other, 1 - own)
    np.testing.assert_allclose(total / len(found), chances, atol=1e-12)
    assert ((own >= 0) & (own <= 1 + 1e-9)).all()


def test_noise_follows_the_power():
    np.testing.assert_allclose(noise_chances(np.array([16, 1]), 0.75), [8 / 9, 1 / 9])
    np.testing.assert_allclose(noise_chances(np.array([16, 1]), 0.0), [0.5, 0.5])


def test_frequent_words_are_thinned_out():
    found = np.array([900_000, 99_000, 999, 1])
    chances = keep_chances(found, 1e-3)
    share = 0.9
    assert chances[0] == pytest.approx((1e-3 / share) ** 0.5 + 1e-3 / share)
    assert chances[1] < 1
    assert chances[2:].tolist() == [1, 1]
    assert keep_chances(found, 0.0).tolist() == [1, 1, 1, 1]


def optimal_cost(found):
    """Huffman's algorithm with a heap: the summed weight of all inner nodes."""
    heap, cost = found.tolist(), 0
    heapq.heapify(heap)
    while len(heap) > 1:
        made = heapq.heappop(heap) + heapq.heappop(heap)
        cost += made
        heapq.heappush(heap, made)
    return cost


@few
@given(counts)
def test_the_tree_is_optimal_and_leads_to_every_word(found):
    tree = huffman_tree(found)
    lengths = np.diff(tree.starts)
    assert (lengths * found).sum() == optimal_cost(found)
    assert set(tree.nodes.tolist()) == set(range(len(found) - 1))
    ways = set()
    for word in range(len(found)):
        part = slice(tree.starts[word], tree.starts[word + 1])
        assert tree.nodes[part][0] == len(found) - 2  # the root comes first
        ways.add(tuple(zip(tree.nodes[part].tolist(), tree.turns[part].tolist(), strict=True)))
    assert len(ways) == len(found)
    heads = {way[:length] for way in ways for length in range(len(way))}
    assert not heads & ways  # no way ends on another


def test_a_word_is_its_row_without_ngrams():
    rows = word_rows(["a", "b"], Word2VecConfig(vocab_size=2))
    assert (rows.starts.tolist(), rows.rows.tolist(), rows.num_rows) == ([0, 1, 2], [0, 1], 2)


def test_ngrams_follow_the_word_and_share_rows():
    config = Word2VecConfig(vocab_size=3, num_buckets=50, min_ngram=2, max_ngram=3)
    words = ["cat", "cats", "x"]
    rows = word_rows(words, config)
    assert rows.num_rows == 3 + len(rows.buckets)
    for place, word in enumerate(words):
        own = rows.rows[rows.starts[place] : rows.starts[place + 1]].tolist()
        assert own[0] == place
        expected = ngram_buckets(word, shortest=2, longest=3, num_buckets=50)
        assert [rows.buckets[row - 3] for row in own[1:]] == expected
