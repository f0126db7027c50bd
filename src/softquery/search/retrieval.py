"""From a query to the rows that answer it: recall by words and by vectors, then rerank.

The likeliest rows by words and by vectors become one list by reciprocal rank fusion; then the
matcher compares the query with the stored encoding of each.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, InputError
from softquery.search.entries import ANSWER, QUESTION
from softquery.search.index_models import IndexModels, QueryWords
from softquery.search.manifest import check_min_score
from softquery.search.segment import Segment
from softquery.search.word_recall import query_weights

Floats = NDArray[np.float32]
Masks = Sequence[NDArray[np.bool_]]
"""Which rows of each segment may be found."""
Where = Mapping[str, str | Sequence[str]]
"""Columns, each with the value that it must have, or with several of which it must have one."""
MOST_CANDIDATES = 10_000
FUSION = 60
"""The constant k of reciprocal rank fusion (Cormack et al. 2009); larger means flatter."""


class RowPlace(NamedTuple):
    """The place of a row: the number of its segment, and its number within the segment."""

    segment: int
    row: int


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Rows that may answer, likeliest first.

    Attributes:
        places: The fused list; each row with how far it is behind a row that leads both lists, as
            a number of at most 0.
        by_words: The list by words alone.
        by_vectors: The list by vectors alone.
        seconds: Time by stage.
    """

    places: dict[RowPlace, float]
    by_words: list[RowPlace]
    by_vectors: list[RowPlace]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        query: The query.
        hits: Rows that are good enough, best first; none if there is no good answer.
        others: The best rows that are not good enough; with the hits at most `top_k`.
        seconds: Time by stage: `read`, `vectors`, `words`, `rerank`, `explain` if that was asked
            for, and `total`.
    """

    query: str
    hits: list[dict[str, Any]]
    others: list[dict[str, Any]]
    seconds: dict[str, float] = field(default_factory=dict)


def find(
    segments: Sequence[Segment],
    models: IndexModels,
    text: str,
    *,
    top_k: int,
    where: Where,
    min_score: float,
    candidates: int,
    explain: bool,
) -> SearchResult:
    """Recall, rerank, and keep what is good enough; see `Index.search`."""
    check_search(text, top_k, where, min_score, candidates)
    begin = perf_counter()
    allowed = allowed_rows(segments, where)
    recalled = recall(segments, models, text, max(candidates, top_k), allowed)
    seconds = recalled.seconds
    start = perf_counter()
    ranked = rerank(segments, models, text, recalled.places)[:top_k]
    hits = [hit_of(segments, place, score) for place, score in ranked]
    seconds["rerank"] = perf_counter() - start
    good = sum(score >= min_score for _, score in ranked)
    if explain:
        start = perf_counter()
        for hit in hits[:good]:
            hit["alignment"] = models.matcher.explain(text, hit[QUESTION]).to_dict()
        seconds["explain"] = perf_counter() - start
    seconds["total"] = perf_counter() - begin
    return SearchResult(text, hits[:good], hits[good:], seconds)


def recall(
    segments: Sequence[Segment], models: IndexModels, text: str, count: int, allowed: Masks
) -> RecallResult:
    """The rows that are likeliest to answer a query.

    Words and vectors are looked up one after the other: both are fast, and two threads would lose
    more to the interpreter lock than they gain.

    Args:
        segments: The segments of the index.
        models: The models of the index.
        text: The query.
        count: The most rows of each list, and of the fused list.
        allowed: Which rows of each segment may be found.
    """
    times = [perf_counter()]
    vector = models.vector(text)
    times.append(perf_counter())
    by_vectors = nearest_vectors(segments, vector, count, allowed)
    times.append(perf_counter())
    by_words = best_words(segments, models.query_words(text), count, allowed)
    times.append(perf_counter())
    lists = [ranked for ranked in (by_vectors, by_words) if ranked]
    best = len(lists) / (FUSION + 1)
    places = {place: score - best for place, score in islice(fuse(lists).items(), count)}
    seconds = dict(zip(("read", "vectors", "words"), np.diff(times).tolist(), strict=True))
    return RecallResult(places, by_words, by_vectors, seconds)


def nearest_vectors(
    segments: Sequence[Segment], vector: Floats, count: int, allowed: Masks
) -> list[RowPlace]:
    """Rows by their vectors, nearest first."""
    if not vector.any():  # the model knows no word of the query
        return []
    found = []
    for number, (segment, mask) in enumerate(zip(segments, allowed, strict=True)):
        rows, scores = segment.vectors.nearest(vector, count, mask)
        found += [
            (-score, number, row) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
    return [RowPlace(number, row) for _, number, row in sorted(found)[:count]]


def best_words(
    segments: Sequence[Segment], query: QueryWords, count: int, allowed: Masks
) -> list[RowPlace]:
    """Rows by the query's words, best first; a row that contains none of them is not listed."""
    distinct = dict.fromkeys(query.words)
    counts = {
        word: sum(segment.words.num_rows_with(word) for segment in segments) for word in distinct
    }
    num_rows = sum(len(segment) for segment in segments)
    weights = query_weights(query.words, counts, num_rows, query.usual)
    found = []
    for number, (segment, mask) in enumerate(zip(segments, allowed, strict=True)):
        scores = segment.words.scores(weights)
        if not mask.all():
            scores *= mask
        rows = highest(scores, count)
        found += [
            (-score, number, row)
            for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)
        ]
    return [RowPlace(number, row) for _, number, row in sorted(found)[:count]]


def highest(scores: Floats, count: int) -> NDArray[np.int64]:
    """Places of the highest scores above 0, in any order; ties for the last place go to the first.

    >>> sorted(highest(np.array([1, 3, 2, 0, 2, 2], dtype=np.float32), 3).tolist())
    [1, 2, 4]
    """
    places = np.flatnonzero(scores > 0)  # np.partition is slow if most are equal, as zeros are
    found = scores[places]
    if count >= len(found):
        return places
    edge = np.partition(found, len(found) - count)[len(found) - count]
    above = places[found > edge]
    level = places[found == edge][: count - len(above)]
    return np.concatenate([above, level])


def fuse(lists: Sequence[Sequence[RowPlace]]) -> dict[RowPlace, float]:
    """Several lists as one by reciprocal ranks (Cormack et al. 2009): sums of 1 / (60 + rank).

    >>> a, b, c = RowPlace(0, 1), RowPlace(0, 2), RowPlace(0, 3)
    >>> list(fuse([[a, b], [b, c]])) == [b, a, c]
    True
    """
    scores: dict[RowPlace, float] = {}
    for ranked in lists:
        for rank, place in enumerate(ranked, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (FUSION + rank)
    return dict(sorted(scores.items(), key=lambda each: (-each[1], each[0])))


def rerank(
    segments: Sequence[Segment], models: IndexModels, text: str, recalled: Mapping[RowPlace, float]
) -> list[tuple[RowPlace, float]]:
    """Rows with the score that matcher and recall give them together, best first.

    Args:
        segments: The segments of the index.
        models: The models of the index.
        text: The query.
        recalled: Rows, each with how far it is behind one that leads both lists of recall.
    """
    if not recalled:
        return []
    places = list(recalled)
    questions = [segments[place.segment].cells.text(place.row, QUESTION) for place in places]
    encodings = stored_encodings(segments, places)
    ranked = models.matcher.rank(text, questions, encodings=encodings)
    return best_first(
        recalled,
        {places[each["corpus_id"]]: each["score"] for each in ranked},
        models.settings.recall_weight,
    )


def best_first(
    recalled: Mapping[RowPlace, float], probabilities: Mapping[RowPlace, float], weight: float
) -> list[tuple[RowPlace, float]]:
    """Rows with their blended scores, best first.

    Args:
        recalled: Rows, each with how far it is behind one that leads both lists of recall.
        probabilities: What the matcher says of each row, the best row first.
        weight: How much recall counts.
    """
    scores = [
        (place, blended(probability, weight * recalled[place]))
        for place, probability in probabilities.items()
    ]
    return sorted(scores, key=lambda each: -each[1])


def blended(probability: float, log_odds: float) -> float:
    """The matcher's probability shifted by recall's judgement, in log-odds.

    The matcher was calibrated on pairs; it does not know that of two rows with the same words the
    one that recall put first is likelier to be meant. A row that leads both lists of recall keeps
    the matcher's probability, that of any other is lowered.

    >>> blended(0.8, 0.0), round(blended(0.8, -1.0), 3)
    (0.8, 0.595)
    """
    if log_odds == 0 or not 0 < probability < 1:
        return probability
    odds = probability / (1 - probability) * math.exp(log_odds)
    return odds / (1 + odds)


def allowed_rows(segments: Sequence[Segment], where: Where) -> list[NDArray[np.bool_]]:
    """Which rows of each segment are not deleted and have the wanted values in their columns.

    Raises:
        InputError: No row has such a column.
    """
    known = dict.fromkeys(column for segment in segments for column in segment.shape.columns)
    for column in where:
        if segments and column not in known:
            raise InputError(f"no column {column!r:.60} to filter by; found: {', '.join(known)}")
    masks = []
    for segment in segments:
        mask = segment.live
        for column, value in where.items():
            values = [value] if isinstance(value, str) else value
            mask = mask & segment.cells.holds(column, *values)
        masks.append(mask)
    return masks


def stored_encodings(
    segments: Sequence[Segment], places: Sequence[RowPlace]
) -> list[Floats] | None:
    """Encodings in the order of the rows, each segment read once; None if they are not stored."""
    found: dict[RowPlace, Floats] = {}
    for number, segment in enumerate(segments):
        rows = [place.row for place in places if place.segment == number]
        if segment.encodings is None:
            return None
        found.update(
            (RowPlace(number, row), encoding)
            for row, encoding in zip(rows, segment.encodings.of(rows), strict=True)
        )
    return [found[place] for place in places]


def hit_of(segments: Sequence[Segment], place: RowPlace, score: float) -> dict[str, Any]:
    """A row as a hit: its columns and its score."""
    values = segments[place.segment].cells.row(place.row)
    return {**values, ANSWER: values.get(ANSWER, ""), "score": score}


def check_search(text: str, top_k: int, where: Where, min_score: float, candidates: int) -> None:
    """Refuse what no search can be made of.

    Raises:
        ConfigError: Names what is wrong.
    """
    if not isinstance(text, str):
        raise ConfigError(f"the query is of type {type(text).__name__}, expected text")
    if not text.strip():
        raise ConfigError("the query is empty")
    if not _is_whole(top_k) or top_k < 1:
        raise ConfigError(f"top_k must be at least 1, got {top_k!r:.40}")
    if not _is_whole(candidates) or not 1 <= candidates <= MOST_CANDIDATES:
        message = f"candidates must be from 1 to {MOST_CANDIDATES:,}, got {candidates!r:.40}"
        raise ConfigError(message)
    check_min_score(min_score)
    _check_where(where)


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_where(where: object) -> None:
    """Refuse conditions that no text can meet."""
    if not isinstance(where, Mapping):
        message = f"where is of type {type(where).__name__}, expected columns with their values"
        raise ConfigError(message)
    for column, value in where.items():
        if not isinstance(column, str):
            raise ConfigError(f"where names a column {column!r:.40}, expected text")
        is_one = isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection)
        for each in [value] if is_one else value:
            if not isinstance(each, str):
                kind = type(each).__name__
                raise ConfigError(
                    f"where: the value of {column!r:.40} is of type {kind}, expected text"
                )
