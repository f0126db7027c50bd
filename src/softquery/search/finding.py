"""From a question that is asked to the rows that answer it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, InputError
from softquery.search.entries import ANSWER, QUESTION
from softquery.search.index_models import IndexModels
from softquery.search.recall import RowPlace, recall
from softquery.search.segment import Segment

Floats = NDArray[np.float32]
Where = Mapping[str, str | Sequence[str]]
"""Columns, each with the value that it must have, or with several of which it must have one."""
MOST_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        query: What was asked.
        hits: Rows that are good enough, best first; none where there is no good answer.
        others: The best of the rows that are not good enough, at most as many as were asked for.
        seconds: Time by stage: `read`, `vectors`, `words`, `rerank`, with `explain` also that; and
            `total`.
    """

    query: str
    hits: list[dict[str, Any]]
    others: list[dict[str, Any]]
    seconds: dict[str, float] = field(default_factory=dict)


def find(
    segments: Sequence[Segment],
    reader: IndexModels,
    text: str,
    *,
    top_k: int,
    where: Where,
    min_score: float,
    candidates: int,
    explain: bool,
) -> SearchResult:
    """Recall, rerank, and keep what is good enough; see `Index.search`."""
    _check(text, top_k, min_score, candidates)
    begin = perf_counter()
    allowed = allowed_rows(segments, where)
    recalled = recall(segments, reader, text, max(candidates, top_k), allowed)
    seconds = recalled.seconds
    start = perf_counter()
    ranked = rerank(segments, reader, text, recalled.places)[:top_k]
    hits = [_hit(segments, place, score) for place, score in ranked]
    seconds["rerank"] = perf_counter() - start
    good = sum(score >= min_score for _, score in ranked)
    if explain:
        start = perf_counter()
        for hit in hits[:good]:
            hit["alignment"] = reader.matcher.explain(text, hit[QUESTION]).to_dict()
        seconds["explain"] = perf_counter() - start
    seconds["total"] = perf_counter() - begin
    return SearchResult(text, hits[:good], hits[good:], seconds)


def rerank(
    segments: Sequence[Segment], reader: IndexModels, text: str, recalled: Mapping[RowPlace, float]
) -> list[tuple[RowPlace, float]]:
    """Rows by what matcher and recall think of them together, best first, with that as a score.

    Args:
        segments: Of the index.
        reader: With the matcher.
        text: What is asked.
        recalled: Rows with how far each is behind one that leads recall.
    """
    if not recalled:
        return []
    places = list(recalled)
    questions = [segments[place.segment].cells.text(place.row, QUESTION) for place in places]
    encodings = _stored(segments, places)
    weight = reader.settings.recall_weight
    scores = []
    for each in reader.matcher.rank(text, questions, encodings=encodings):
        place = places[each["corpus_id"]]
        scores.append((place, blended(each["score"], weight * recalled[place])))
    return sorted(scores, key=lambda each: -each[1])


def blended(probability: float, log_odds: float) -> float:
    """The matcher's probability with recall's opinion added, in log-odds.

    The matcher was calibrated on pairs; it does not know that of two rows with the same words the
    one that recall put first is likelier to be meant. A row that leads both lists of recall keeps
    the matcher's probability, any other is taken down.

    >>> blended(0.8, 0.0), round(blended(0.8, -1.0), 3)
    (0.8, 0.595)
    """
    if log_odds == 0 or not 0 < probability < 1:
        return probability
    odds = probability / (1 - probability) * math.exp(log_odds)
    return odds / (1 + odds)


def allowed_rows(segments: Sequence[Segment], where: Where) -> list[NDArray[np.bool_]]:
    """Which rows of each segment are there and have what is asked of their columns.

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
            values = [value] if isinstance(value, str) else list(value)
            holds = [segment.cells.holds(column, each) for each in values]
            mask = mask & (np.any(holds, axis=0) if holds else False)
        masks.append(mask)
    return masks


def _stored(segments: Sequence[Segment], places: Sequence[RowPlace]) -> list[Floats] | None:
    """Encodings of rows in the order of the rows, each segment asked once."""
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


def _hit(segments: Sequence[Segment], place: RowPlace, score: float) -> dict[str, Any]:
    values = segments[place.segment].cells.row(place.row)
    return {**values, ANSWER: values.get(ANSWER, ""), "score": score}


def _check(text: str, top_k: int, min_score: float, candidates: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ConfigError("the query is empty")
    if top_k < 1:
        raise ConfigError(f"top_k must be at least 1, got {top_k}")
    if not 1 <= candidates <= MOST_CANDIDATES:
        raise ConfigError(f"candidates must be from 1 to {MOST_CANDIDATES:,}, got {candidates}")
    if not 0 <= min_score <= 1:
        raise ConfigError(f"min_score must be from 0 to 1, got {min_score}")
