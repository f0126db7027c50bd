"""An n-gram language model, the baseline that neural ones are compared with.

Modified Kneser-Ney smoothing, interpolated, all n-grams kept: Chen and Goodman, "An Empirical Study
of Smoothing Techniques for Language Modeling", TR-10-98, Harvard 1998, the best of those compared
there, with its three discounts for each length estimated from counts of counts.

An n-gram is stored as one integer: the id of its first n - 1 words among the shorter n-grams, and
its last word. Sorting these counts a text of a hundred million words in a few gigabytes.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from softquery.measure.basic_metrics import require_rows
from softquery.text import BOS_ID, PAD_ID

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts of 1, 2 and more for texts too small to estimate them."""
LARGEST_COUNT = 4
"""The largest count whose frequency enters the discounts."""

Ids = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Grams:
    """All n-grams of one length, in the order of their keys; an n-gram's id is its place."""

    keys: Integers
    """The id of the n-gram without its last word, times the vocabulary size, plus that word."""
    counts: Ids
    """How often it occurs; below the highest order, after how many different words."""
    is_first: NDArray[np.bool_]
    """Whether it begins a line, so that no word can precede it."""
    discounts: Floats
    """The discounts of counts of 0, 1, 2, and 3 or more."""
    totals: Integers
    """The sum of the counts of each context, by the id of the context."""
    backoffs: Floats
    """The weight of the shorter context, by the id of the context; 1 where nothing follows it."""


@dataclass(frozen=True, slots=True)
class KneserNey:
    """An n-gram model; `fit_kneser_ney` makes one."""

    levels: tuple[Grams, ...]
    """Unigrams, bigrams, and so on."""
    vocab_size: int
    begin: int

    @property
    def order(self) -> int:
        """The length of the longest n-gram."""
        return len(self.levels)

    @property
    def num_grams(self) -> tuple[int, ...]:
        """Distinct n-grams of each length."""
        return tuple(len(level.keys) for level in self.levels)

    def log_probabilities(self, ids: Ids) -> Floats:
        """Natural logarithm of the chance of every word, ends of lines too, beginnings not."""
        _check(ids, self.vocab_size, self.begin)
        places = _places(ids, self.begin, self.order)
        numbers = ids.astype(np.int64)
        chances = self._unigrams()[ids]
        for length, level in enumerate(self.levels[1:], start=2):
            rows = np.flatnonzero(places >= length - 1)
            rows = rows[numbers[rows - 1] >= 0]
            contexts = numbers[rows - 1]
            found, grams = _look_up(level.keys, contexts * self.vocab_size + ids[rows])
            counts = np.where(found, level.counts[grams], 0)
            kept = counts - level.discounts[np.minimum(counts, 3)]
            totals = np.maximum(level.totals[contexts], 1)
            chances[rows] = kept / totals + level.backoffs[contexts] * chances[rows]
            numbers = np.full(len(ids), -1, dtype=np.int64)
            numbers[rows] = np.where(found, grams, -1)
        return np.log(chances[places > 0])

    def perplexity(self, ids: Ids) -> float:
        """The perplexity of a text."""
        return math.exp(-float(self.log_probabilities(ids).mean()))

    def _unigrams(self) -> Floats:
        """Unigram probabilities, interpolated with the uniform distribution over possible words."""
        level = self.levels[0]
        kept = level.counts - level.discounts[np.minimum(level.counts, 3)]
        possible = np.ones(self.vocab_size)
        possible[[PAD_ID, self.begin]] = 0
        uniform = possible / possible.sum()
        chances: Floats = kept / max(1, level.totals[0]) + level.backoffs[0] * uniform
        return chances


def fit_kneser_ney(ids: Ids, *, vocab_size: int, begin: int = BOS_ID, order: int = 5) -> KneserNey:
    """Count the n-grams of a text and smooth the counts.

    Contexts never cross the beginning of a line. N-grams that begin a line keep their plain counts
    at every order, because no word can precede them.

    Args:
        ids: The words of all lines; every line starts with `begin`, which is never predicted.
        vocab_size: The number of word ids; padding is among them and never predicted.
        begin: The id that begins each line.
        order: The length of the longest n-gram.

    >>> lines = np.array([2, 5, 6, 3, 2, 5, 7, 3, 2, 5, 6, 3], dtype=np.int32)
    >>> model = fit_kneser_ney(lines, vocab_size=8, order=2)
    >>> chances = np.exp(model.log_probabilities(np.array([2, 5, 6, 3], dtype=np.int32)))
    >>> chances.round(3).tolist()
    [0.592, 0.425, 0.642]
    """
    _check(ids, vocab_size, begin)
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")
    places = _places(ids, begin, order)
    levels = [_words(ids, vocab_size, begin)]
    numbers = ids
    for length in range(2, order + 1):
        level, numbers, suffixes = _count(ids, places, numbers, length, vocab_size)
        levels[-1] = _preceded(levels[-1], suffixes)
        levels.append(level)
    smoothed = [_smoothed(levels[0], num_contexts=1, vocab_size=vocab_size)]
    for shorter, level in pairwise(levels):
        smoothed.append(_smoothed(level, num_contexts=len(shorter.keys), vocab_size=vocab_size))
    return KneserNey(tuple(smoothed), vocab_size, begin)


def _check(ids: Ids, vocab_size: int, begin: int) -> None:
    require_rows(ids, name="ids")
    if ids[0] != begin:
        raise ValueError(f"a text must start with the beginning of a line ({begin}), got {ids[0]}")
    if ids.min() < 0 or ids.max() >= vocab_size:
        raise ValueError(f"words must be numbered from 0 and below {vocab_size}")


def _places(ids: Ids, begin: int, order: int) -> NDArray[np.int8]:
    """The number of words from the beginning of the line to each word, at most `order`."""
    places = np.full(len(ids), order, dtype=np.int8)
    starts = np.flatnonzero(ids == begin)
    for place in reversed(range(order)):
        rows = starts + place
        places[rows[rows < len(ids)]] = place
    return places


def _grams(keys: Integers, counts: Integers, is_first: NDArray[np.bool_]) -> Grams:
    nothing = np.zeros(0)
    return Grams(keys, counts.astype(np.int32), is_first, nothing, np.zeros(0, np.int64), nothing)


def _words(ids: Ids, vocab_size: int, begin: int) -> Grams:
    """The unigrams: every word of the vocabulary; the beginning of lines counts as unseen."""
    counts = np.bincount(ids, minlength=vocab_size)
    counts[begin] = 0
    return _grams(np.arange(vocab_size), counts, np.arange(vocab_size) == begin)


def _count(
    ids: Ids, places: NDArray[np.int8], shorter: Ids, length: int, vocab_size: int
) -> tuple[Grams, Ids, Ids]:
    """The n-grams of one length.

    Returns:
        The n-grams, the id of the one that ends at each word of the text (-1 for none), and the id
        of each n-gram without its first word among the shorter ones.
    """
    rows = np.flatnonzero(places >= length - 1).astype(np.int32)
    keys = shorter[rows - 1].astype(np.int64)
    keys *= vocab_size
    keys += ids[rows]
    by_key = np.argsort(keys)
    rows, keys = rows[by_key], keys[by_key]
    del by_key
    is_new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    numbers = np.full(len(ids), -1, dtype=np.int32)
    numbers[rows] = np.cumsum(is_new, dtype=np.int32) - 1
    counts = np.diff(np.flatnonzero(is_new), append=len(keys))
    one_each = rows[is_new]
    grams = _grams(keys[is_new], counts, places[one_each] == length - 1)
    return grams, numbers, shorter[one_each]


def _preceded(level: Grams, suffixes: Ids) -> Grams:
    """Replace the counts of n-grams inside lines by the number of different preceding words."""
    preceding = np.bincount(suffixes, minlength=len(level.keys)).astype(np.int32)
    return replace(level, counts=np.where(level.is_first, level.counts, preceding))


def _smoothed(level: Grams, *, num_contexts: int, vocab_size: int) -> Grams:
    """Add discounts, and the weight that they leave to shorter contexts."""
    discounts = _discounts(level.counts)
    contexts = level.keys // vocab_size
    totals = np.bincount(contexts, weights=level.counts, minlength=num_contexts)
    taken = discounts[np.minimum(level.counts, 3)]
    left = np.bincount(contexts, weights=taken, minlength=num_contexts)
    backoffs = np.divide(left, totals, out=np.ones(num_contexts), where=totals > 0)
    return replace(level, discounts=discounts, totals=totals.astype(np.int64), backoffs=backoffs)


def _discounts(counts: Ids) -> Floats:
    """The discounts of counts of 0, 1, 2, and 3 or more, from counts of counts."""
    histogram = np.bincount(np.minimum(counts, LARGEST_COUNT + 1), minlength=LARGEST_COUNT + 1)
    one, two, three, four = histogram[1 : LARGEST_COUNT + 1].tolist()
    if 0 in (one, two, three, four):
        return np.array([0.0, *FALLBACK])
    share = one / (one + 2 * two)
    found = (
        1 - 2 * share * two / one,
        2 - 3 * share * three / two,
        3 - 4 * share * four / three,
    )
    allowed = all(0 <= discount <= limit for discount, limit in zip(found, (1, 2, 3), strict=True))
    return np.array([0.0, *(found if allowed else FALLBACK)])


def _look_up(keys: Integers, wanted: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Whether each wanted key is among the sorted keys, and where."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.bool_), np.zeros(len(wanted), dtype=np.int64)
    grams = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return keys[grams] == wanted, grams
