"""What is computed of a vocabulary before training: who is kept, noise, the tree, n-grams."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.models import Word2VecConfig
from softquery.text import ngram_buckets

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Ids = NDArray[np.int32]


def keep_chances(counts: Whole, subsample: float) -> Floats:
    """How likely each word is to stay in the text when frequent words are thinned out.

    Differs from paper: 2013b, Equation 5 keeps a word of share f with √(t/f); the authors' program
    keeps it with √(t/f) + t/f, and so does everybody since.

    >>> keep_chances(np.array([90, 10]), 0.1).round(3).tolist()
    [0.444, 1.0]
    """
    if not subsample:
        return np.ones(len(counts))
    ratio = subsample * counts.sum() / counts
    return np.asarray(np.minimum(1.0, np.sqrt(ratio) + ratio))


def noise_chances(counts: Whole, power: float) -> Floats:
    """The distribution that noise is drawn from: counts to a power (2013b, Section 2.2).

    >>> noise_chances(np.array([16, 1]), 0.75).round(3).tolist()
    [0.889, 0.111]
    """
    weights = counts.astype(np.float64) ** power
    return np.asarray(weights / weights.sum())


def alias_table(chances: Floats) -> tuple[Floats, Ids]:
    """Cells of equal size with at most two words each, so that a draw is one look (Walker 1977).

    Returns:
        For each cell, the share of its own word, and the word that has the rest.

    >>> own, other = alias_table(np.array([0.75, 0.25]))
    >>> own.tolist(), other.tolist()
    ([1.0, 0.5], [0, 0])
    """
    own = chances * len(chances)
    other = np.arange(len(chances), dtype=np.int32)
    poor = np.flatnonzero(own < 1).tolist()
    rich = np.flatnonzero(own >= 1).tolist()
    left = own.tolist()
    while poor and rich:
        cell, giver = poor.pop(), rich[-1]
        other[cell] = giver
        left[giver] -= 1.0 - left[cell]
        if left[giver] < 1.0:
            poor.append(rich.pop())
    own = np.array(left)
    own[[*poor, *rich]] = 1.0  # what rounding left over
    return own, other


@dataclass(frozen=True, slots=True)
class Tree:
    """The way from the root of a Huffman tree to each word.

    Attributes:
        starts: Where a word's way begins in the other two, and after the last, where it ends.
        nodes: Inner nodes from the root on.
        turns: 1 for left, 0 for right.
    """

    starts: Whole
    nodes: Ids
    turns: NDArray[np.float32]


def huffman_tree(counts: Whole) -> Tree:
    """The binary tree whose frequent words have short ways (2013a, Section 2.1).

    >>> tree = huffman_tree(np.array([4, 2, 1]))
    >>> np.diff(tree.starts).tolist()
    [1, 2, 2]
    """
    num_words = len(counts)
    parent = np.zeros(2 * num_words - 1, dtype=np.int64)
    is_left = np.zeros(2 * num_words - 1, dtype=bool)
    leaves = np.argsort(counts, kind="stable").tolist()
    weights: list[float] = [*counts.tolist(), *[0] * (num_words - 1)]
    next_leaf, next_inner = 0, num_words
    for made in range(num_words, 2 * num_words - 1):
        pair = []
        for _ in range(2):  # inner nodes come ready sorted, so that two queues replace a heap
            some_leaf = next_leaf < num_words
            take_leaf = some_leaf and (
                next_inner >= made or weights[leaves[next_leaf]] <= weights[next_inner]
            )
            pair.append(leaves[next_leaf] if take_leaf else next_inner)
            next_leaf, next_inner = next_leaf + take_leaf, next_inner + (not take_leaf)
        weights[made] = weights[pair[0]] + weights[pair[1]]
        parent[pair], is_left[pair[0]] = made, True
    return _ways(parent, is_left, num_words)


def _ways(parent: Whole, is_left: NDArray[np.bool_], num_words: int) -> Tree:
    root = 2 * num_words - 2
    ways: list[list[int]] = []
    for word in range(num_words):
        way = [word]
        while way[-1] != root:
            way.append(int(parent[way[-1]]))
        ways.append(way[::-1])
    lengths = [len(way) - 1 for way in ways]
    return Tree(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([node - num_words for way in ways for node in way[:-1]], dtype=np.int32),
        np.array([is_left[node] for way in ways for node in way[1:]], dtype=np.float32),
    )


@dataclass(frozen=True, slots=True)
class WordRows:
    """Which input rows make up each word: its own, then those of its n-grams.

    Attributes:
        starts: Where a word's rows begin in `rows`, and after the last, where they end.
        rows: Words have the first rows, n-grams those after them.
        buckets: The bucket of each row after the words'; buckets that no word uses have none.
    """

    starts: Whole
    rows: Ids
    buckets: Whole

    @property
    def num_rows(self) -> int:
        """Rows in all."""
        return len(self.starts) - 1 + len(self.buckets)


def word_rows(words: Sequence[str], config: Word2VecConfig) -> WordRows:
    """The rows of a vocabulary (Bojanowski et al. 2017, Section 3.2)."""
    num_words = len(words)
    if not config.num_buckets:
        whole = np.arange(num_words + 1, dtype=np.int64)
        return WordRows(whole, whole[:-1].astype(np.int32), np.zeros(0, dtype=np.int64))
    found = [
        ngram_buckets(
            word,
            shortest=config.min_ngram,
            longest=config.max_ngram,
            num_buckets=config.num_buckets,
        )
        for word in words
    ]
    buckets = np.array(sorted({bucket for each in found for bucket in each}), dtype=np.int64)
    place = {bucket: num_words + number for number, bucket in enumerate(buckets.tolist())}
    rows = [[word, *(place[bucket] for bucket in each)] for word, each in enumerate(found)]
    return WordRows(
        np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64),
        np.array([row for each in rows for row in each], dtype=np.int32),
        buckets,
    )
