"""Rows that ask the same: with the same normalised question, or by the matcher's judgement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from softquery.search.query.index_models import IndexModels
from softquery.search.query.retrieval import RowPlace, compared, nearest_vectors, question_at
from softquery.search.query.searched_rows import SegmentRows
from softquery.search.storage.entries import ID, MATCHED
from softquery.search.storage.searched_texts import owner_of
from softquery.search.storage.segment import Segment
from softquery.text import normalise

NEIGHBOURS = 5
"""How many of its nearest rows each row is compared with."""
LEAST_COSINE = 0.8
"""Rows whose vectors have a lower cosine are not compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicate:
    """Two rows that ask the same."""

    first: str
    """The id of the earlier row."""
    second: str
    first_question: str
    second_question: str
    score: float
    """How sure the matcher is; 1 if the normalised questions are equal."""
    is_exact: bool


def find_duplicates(
    segments: Sequence[Segment],
    models: IndexModels,
    *,
    min_score: float,
    advance: Callable[[int], object],
) -> list[Duplicate]:
    """Every pair: equal questions first, then by falling score."""
    found: dict[frozenset[RowPlace], Duplicate] = {}
    seen: dict[str, RowPlace] = {}
    searched = SegmentRows(segments)
    config = models.matcher.pipeline.config
    live = [segment.live for segment in segments]
    places = [RowPlace(n, row) for n, segment in enumerate(segments) for row in segment.live_rows]
    for done, place in enumerate(places, start=1):
        question = question_at(segments, place)
        earlier = seen.setdefault(normalise(question, config), place)
        if earlier != place and not _is_one_row(segments, earlier, place):
            found[frozenset((earlier, place))] = _duplicate(segments, earlier, place, 1.0, True)
        vector = segments[place.segment].vectors.stored[place.row].astype("float32")
        near = [
            each
            for each in nearest_vectors(segments, vector, NEIGHBOURS + 1, live)
            if each > place
            and frozenset((place, each)) not in found
            and _cosine(segments, place, each) >= LEAST_COSINE
            and not _is_one_row(segments, place, each)
        ]
        for other, score in compared(searched, models, question, near).items():
            if score >= min_score:
                pair = frozenset((place, other))
                found[pair] = _duplicate(segments, place, other, score, False)
        advance(done)
    return sorted(found.values(), key=lambda each: (not each.is_exact, -each.score))


def _id(segments: Sequence[Segment], place: RowPlace) -> str:
    cells = segments[place.segment].cells
    cell = cells.text(place.row, MATCHED) if MATCHED in cells.columns else ""
    return owner_of(cells.text(place.row, ID), cell)


def _is_one_row(segments: Sequence[Segment], first: RowPlace, second: RowPlace) -> bool:
    """Whether two texts are those of one row."""
    return _id(segments, first) == _id(segments, second)


def _cosine(segments: Sequence[Segment], first: RowPlace, second: RowPlace) -> float:
    sides = [
        segments[place.segment].vectors.stored[place.row].astype("float32")
        for place in (first, second)
    ]
    return float(sides[0] @ sides[1])


def _duplicate(
    segments: Sequence[Segment], first: RowPlace, second: RowPlace, score: float, is_exact: bool
) -> Duplicate:
    return Duplicate(
        first=_id(segments, first),
        second=_id(segments, second),
        first_question=question_at(segments, first),
        second_question=question_at(segments, second),
        score=score,
        is_exact=is_exact,
    )
