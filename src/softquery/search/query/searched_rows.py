"""The rows of an index as a search sees them, wherever they are stored.

Recall finds places; everything else that a search needs to know of a row is asked for by its place.
`SegmentRows` are those of folders; `softquery.search.stores` has those of databases.

N rows, D width of a vector.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.search.query.filters import allowed_rows
from softquery.search.query.index_models import IndexModels
from softquery.search.query.retrieval import (
    RecallResult,
    RowPlace,
    SearchOptions,
    recall,
    stored_encodings,
)
from softquery.search.query.stages import Stages
from softquery.search.storage.entries import MATCHED
from softquery.search.storage.segment import Segment

Floats = NDArray[np.float32]


class SearchedRows(Protocol):
    """What one search asks of the rows of an index."""

    def recall(self, models: IndexModels, text: str, options: SearchOptions) -> RecallResult:
        """The rows that are likeliest to answer a query, as many as the options ask for."""

    def row(self, place: RowPlace) -> dict[str, str]:
        """The columns that a row has, with their texts.

        Of a further text those of its owner, and its own `matched`: see
        `softquery.search.storage.searched_texts`.
        """

    def texts(self, places: Sequence[RowPlace], column: str) -> list[str]:
        """One column of some rows; empty for a row that lacks it."""

    def vectors(self, places: Sequence[RowPlace]) -> Floats:
        """The stored vectors of some rows, at least one: [N, D]."""

    def lengths(self, places: Sequence[RowPlace]) -> list[int | None]:
        """How many tokens the stored encoding of each row has; None where none is stored."""

    def encodings(self, places: Sequence[RowPlace]) -> list[Floats] | None:
        """The stored encodings of some rows; None if the index stores none."""


class SegmentRows:
    """The rows of the segments of an index.

    Args:
        segments: The segments, as they are now.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments

    def recall(self, models: IndexModels, text: str, options: SearchOptions) -> RecallResult:
        """See `SearchedRows`."""
        allowed = allowed_rows(self.segments, options.where)
        stages: Stages = options.stages
        count = max(options.candidates, options.top_k)
        return recall(self.segments, models, text, count, allowed, stages)

    def row(self, place: RowPlace) -> dict[str, str]:
        """See `SearchedRows`."""
        segment = self.segments[place.segment]
        if not segment.further[place.row]:
            return segment.cells.row(place.row)
        owner = segment.cells.row(segment.owner(place.row))
        return {**owner, MATCHED: segment.cells.text(place.row, MATCHED)}

    def texts(self, places: Sequence[RowPlace], column: str) -> list[str]:
        """See `SearchedRows`."""
        found: dict[RowPlace, str] = {}
        for number in {place.segment for place in places}:
            rows = [place.row for place in places if place.segment == number]
            texts = self.segments[number].cells.texts(rows, column)
            found.update(
                (RowPlace(number, row), text) for row, text in zip(rows, texts, strict=True)
            )
        return [found[place] for place in places]

    def vectors(self, places: Sequence[RowPlace]) -> Floats:
        """See `SearchedRows`."""
        numbers = np.array([place.segment for place in places], dtype=np.int64)
        rows = np.array([place.row for place in places], dtype=np.int64)
        parts = np.unique(numbers).tolist()
        if len(parts) == 1:
            only: Floats = self.segments[parts[0]].vectors.stored[rows].astype(np.float32)
            return only
        found = np.empty((len(places), self.segments[0].vectors.stored.shape[1]), np.float32)
        for number in parts:
            mine = numbers == number
            found[mine] = self.segments[number].vectors.stored[rows[mine]]
        return found

    def lengths(self, places: Sequence[RowPlace]) -> list[int | None]:
        """See `SearchedRows`."""
        found: list[int | None] = []
        for place in places:
            encodings = self.segments[place.segment].encodings
            found.append(None if encodings is None else encodings.lengths([place.row])[0])
        return found

    def encodings(self, places: Sequence[RowPlace]) -> list[Floats] | None:
        """See `SearchedRows`."""
        return stored_encodings(self.segments, places)
