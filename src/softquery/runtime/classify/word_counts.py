"""Which words a text has, weighed by how rare they are: what a head reads beside a text's vector.

A word is a token of the pipeline, or two neighbouring ones. Counts are damped, multiplied by the
inverse document frequency, and brought to length one for each text (TF-IDF; Salton and Buckley,
1988).

N texts, W words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.batches import Floats

Keys = NDArray[np.int64]
PAIR = 1 << 32
"""The key of a pair is that of its first token, plus one, times this, plus that of its second."""
MOST_WORDS = 4_096
"""Words that are kept, those in most texts first."""
LEAST_TEXTS = 2
"""Texts that a pair must stand in."""


@dataclass(frozen=True, slots=True)
class WordEntries:
    """The words of some texts, those that are known."""

    rows: NDArray[np.int64]
    """The text of each entry; growing."""
    columns: NDArray[np.int64]
    """The place of its word."""
    values: Floats
    num_rows: int

    def dense(self, num_columns: int) -> Floats:
        """As a matrix [N, W]."""
        found = np.zeros((self.num_rows, num_columns), dtype=np.float32)
        found[self.rows, self.columns] = self.values
        return found

    def times(self, weights: Floats) -> Floats:
        """The product with weights [W, C]: [N, C]."""
        found = np.zeros((self.num_rows, weights.shape[1]), dtype=np.float32)
        np.add.at(found, self.rows, self.values[:, None] * weights[self.columns])
        return found


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The words that a head knows.

    >>> known = WordCounts.of([[7, 8], [7, 8], [9]])
    >>> known.keys.tolist() == [7, 8, 9, 8 * PAIR + 8]
    True
    >>> known.entries([[9], [5]]).dense(4).tolist()
    [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """

    keys: Keys
    """[W], growing."""
    rarity: Floats
    """[W], the inverse document frequency."""

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "WordCounts":
        """The words of training texts: every token, pairs in several texts, the commonest ones."""
        keys, _, _ = _counted(texts)
        found, num_texts = np.unique(keys, return_counts=True)
        kept = (found < PAIR) | (num_texts >= LEAST_TEXTS)
        found, num_texts = found[kept], num_texts[kept]
        commonest = np.sort(np.argsort(-num_texts, kind="stable")[:MOST_WORDS])
        shares = (1 + len(texts)) / (1 + num_texts[commonest])
        return cls(found[commonest], (np.log(shares) + 1).astype(np.float32))

    def entries(self, texts: Sequence[Sequence[int]]) -> WordEntries:
        """The known words of texts with their weights; other words are passed over."""
        keys, rows, counts = _counted(texts)
        if not len(self.keys):
            keys, rows, counts = keys[:0], rows[:0], counts[:0]
        places = np.searchsorted(self.keys, keys).clip(max=max(0, len(self.keys) - 1))
        known = self.keys[places] == keys
        columns, rows = places[known], rows[known]
        values = (1 + np.log(counts[known])) * self.rarity[columns]
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=len(texts)))
        return WordEntries(rows, columns, (values / lengths[rows]).astype(np.float32), len(texts))


def _counted(texts: Sequence[Sequence[int]]) -> tuple[Keys, Keys, NDArray[np.int64]]:
    """Every word of every text once: its key, its text, and how often it stands there."""
    keys, rows, counts = [], [], []
    for row, text in enumerate(texts):
        ids = np.asarray(text, dtype=np.int64)
        words = np.concatenate([ids, (ids[:-1] + 1) * PAIR + ids[1:]])
        found, many = np.unique(words, return_counts=True)
        keys.append(found)
        rows.append(np.full(len(found), row, dtype=np.int64))
        counts.append(many)
    if not texts:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    return np.concatenate(keys), np.concatenate(rows), np.concatenate(counts)
