"""How alike the rows of an index are to each other: what a cosine means depends on it.

In an index of one narrow topic, two rows that mean different things are as near to each other as
two that mean the same elsewhere. Both is measured on some rows, from the vectors that are stored.

S sampled rows, D width of a vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.query.retrieval import RowPlace
from softquery.search.storage.entries import ANSWER, ID, MATCHED
from softquery.search.storage.searched_texts import answer_key, owner_of
from softquery.search.storage.segment import Segment

Floats = NDArray[np.float32]
SAMPLE = 128
"""Rows that are looked at, evenly spread, so that the same index always has the same facts."""
DIGITS = 5
"""To which the centre is rounded."""
FEW = 12
"""Of fewer rows, what is measured says more of chance than of how alike their questions are."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What is known of all rows of an index together.

    Attributes:
        num_rows: Rows that are not deleted.
        near: The mean cosine of a row and the row nearest to it.
        mean: The mean cosine of two rows.
        spread: The standard deviation of that.
        same_answer: How often the row nearest to another has the same answer.
        centre: The mean of the rows' vectors: [D]; empty below two rows.
    """

    num_rows: int
    near: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    same_answer: float = 0.0
    centre: tuple[float, ...] = ()

    @property
    def reliance(self) -> float:
        """How much the other attributes are to be relied on: from 0 to 1.

        >>> IndexFacts(3).reliance, IndexFacts(500).reliance
        (0.25, 1.0)
        """
        return min(1.0, self.num_rows / FEW)


def facts_of(
    num_rows: int, sample: Floats, near: Sequence[float], same: Sequence[bool]
) -> IndexFacts:
    """What some rows tell of an index.

    Args:
        num_rows: All rows.
        sample: The vectors of at least two: [S, D].
        near: The cosine of each and the row nearest to it: [S].
        same: Whether that has the same answer: [S].
    """
    cosines = sample @ sample.T
    others = cosines[~np.eye(len(sample), dtype=np.bool_)]
    centre = sample.mean(axis=0, dtype=np.float64).round(DIGITS).tolist()
    return IndexFacts(
        num_rows,
        near=float(np.mean(near)),
        mean=float(others.mean()),
        spread=float(others.std()),
        same_answer=float(np.mean(same)),
        centre=tuple(centre),
    )


def measure_facts(segments: Sequence[Segment]) -> IndexFacts:
    """Measure the rows of some segments; below two rows there is nothing to compare."""
    live = [np.flatnonzero(segment.live) for segment in segments]
    num_rows = sum(map(len, live))
    if num_rows < 2:
        return IndexFacts(num_rows)
    numbers = np.repeat(np.arange(len(live)), [len(rows) for rows in live])
    rows = np.concatenate(live)
    drawn = np.unique(np.linspace(0, num_rows - 1, min(SAMPLE, num_rows)).astype(np.int64))
    places = [RowPlace(int(numbers[place]), int(rows[place])) for place in drawn]
    sample = np.stack(
        [segments[place.segment].vectors.stored[place.row] for place in places]
    ).astype(np.float32)
    nearest = [
        _nearest(segments, vector, place) for vector, place in zip(sample, places, strict=True)
    ]
    same = [
        _answer(segments, place) == _answer(segments, other)
        for place, (_, other) in zip(places, nearest, strict=True)
    ]
    return facts_of(num_rows, sample, [cosine for cosine, _ in nearest], same)


def answer_of(key: str, matched: str, answer: str) -> tuple[str, str]:
    """What tells the answer of a row from others; a row without one stands for itself.

    Args:
        key: The id of the stored row.
        matched: What it has in the column of that name.
        answer: Its answer.

    >>> answer_of("1", "", "By post.") == answer_of("2", "", "By post.")
    True
    >>> answer_of("1", "", "") == answer_of("2", "", "")
    False
    """
    return ("", answer_key(answer)) if answer else (owner_of(key, matched), "")


def _answer(segments: Sequence[Segment], place: RowPlace) -> tuple[str, str]:
    cells = segments[place.segment].cells
    texts = (
        cells.text(place.row, column) if column in cells.columns else ""
        for column in (ID, MATCHED, ANSWER)
    )
    return answer_of(*texts)


def _nearest(segments: Sequence[Segment], vector: Floats, own: RowPlace) -> tuple[float, RowPlace]:
    """The cosine of a stored row and the nearest other one, and where that is."""
    best = -2.0, own
    num_rows = sum(map(len, segments))
    for number, segment in enumerate(segments):
        rows, cosines = segment.vectors.nearest(vector, 2, segment.live, num_rows=num_rows)
        for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            if RowPlace(number, row) != own and cosine > best[0]:
                best = cosine, RowPlace(number, row)
    return best
