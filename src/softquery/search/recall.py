"""Hybrid recall: the likeliest rows by words and by vectors, and both lists made one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.search.index_models import AskedWords, IndexModels
from softquery.search.segment import Segment
from softquery.search.word_recall import query_weights

Masks = Sequence[NDArray[np.bool_]]
FUSION = 60
"""How flat ranks count (k of Cormack et al. 2009)."""


class RowPlace(NamedTuple):
    """A row: of which segment, and where in it."""

    segment: int
    row: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """Rows that may answer, likeliest first.

    Attributes:
        places: By both lists, each with how far it is behind a row that leads both: 0 or less.
        by_words: By words alone.
        by_vectors: By vectors alone.
        seconds: By stage.
    """

    places: dict[RowPlace, float]
    by_words: list[RowPlace]
    by_vectors: list[RowPlace]
    seconds: dict[str, float]


def recall(
    segments: Sequence[Segment], reader: IndexModels, text: str, count: int, allowed: Masks
) -> Recalled:
    """The rows that are likeliest to answer a query.

    Words and vectors are asked one after the other: both are quick, and two threads would spend
    more on taking turns with the interpreter than they gain.

    Args:
        segments: Of the index.
        reader: Its models.
        text: What is asked.
        count: How many at most, by each list and together.
        allowed: Which rows of each segment may be found.
    """
    times = [perf_counter()]
    vector = reader.vector(text)
    times.append(perf_counter())
    by_vectors = nearest_vectors(segments, vector, count, allowed)
    times.append(perf_counter())
    by_words = best_words(segments, reader.asked_words(text), count, allowed)
    times.append(perf_counter())
    lists = [ranked for ranked in (by_vectors, by_words) if ranked]
    best = len(lists) / (FUSION + 1)
    places = {place: score - best for place, score in islice(fuse(lists).items(), count)}
    seconds = dict(zip(("read", "vectors", "words"), np.diff(times).tolist(), strict=True))
    return Recalled(places, by_words, by_vectors, seconds)


def nearest_vectors(
    segments: Sequence[Segment], vector: NDArray[np.float32], count: int, allowed: Masks
) -> list[RowPlace]:
    """Rows by their vectors, nearest first."""
    if not vector.any():  # no word is known: nothing is near
        return []
    found = []
    for number, (segment, mask) in enumerate(zip(segments, allowed, strict=True)):
        rows, scores = segment.vectors.nearest(vector, count, mask)
        found += [
            (-score, number, row) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
    return [RowPlace(number, row) for _, number, row in sorted(found)[:count]]


def best_words(
    segments: Sequence[Segment], asked: AskedWords, count: int, allowed: Masks
) -> list[RowPlace]:
    """Rows by their words, best first; rows without any of them are not among them."""
    distinct = dict.fromkeys(asked.words)
    counts = {
        word: sum(segment.words.num_rows_with(word) for segment in segments) for word in distinct
    }
    num_rows = sum(len(segment) for segment in segments)
    weights = query_weights(asked.words, counts, num_rows, asked.usual)
    found = []
    for number, (segment, mask) in enumerate(zip(segments, allowed, strict=True)):
        scores = segment.words.scores(weights, len(segment))
        if not mask.all():
            scores *= mask
        rows = highest(scores, count)
        found += [
            (-score, number, row)
            for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)
        ]
    return [RowPlace(number, row) for _, number, row in sorted(found)[:count]]


def highest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Places of the highest scores above 0 in any order; of equal ones at the edge, the first.

    >>> sorted(highest(np.array([1, 3, 2, 0, 2, 2], dtype=np.float32), 3).tolist())
    [1, 2, 4]
    """
    places = np.flatnonzero(scores > 0)  # partition is slow where most are equal, as zeros are
    found = scores[places]
    if count >= len(found):
        return places
    edge = np.partition(found, len(found) - count)[len(found) - count]
    above = places[found > edge]
    level = places[found == edge][: count - len(above)]
    return np.concatenate([above, level])


def fuse(lists: Sequence[Sequence[RowPlace]]) -> dict[RowPlace, float]:
    """One list of several by reciprocal ranks (Cormack et al. 2009): sums of 1 / (60 + rank).

    >>> a, b, c = Place(0, 1), Place(0, 2), Place(0, 3)
    >>> list(fuse([[a, b], [b, c]])) == [b, a, c]
    True
    """
    scores: dict[RowPlace, float] = {}
    for ranked in lists:
        for rank, place in enumerate(ranked, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (FUSION + rank)
    return dict(sorted(scores.items(), key=lambda each: (-each[1], each[0])))
