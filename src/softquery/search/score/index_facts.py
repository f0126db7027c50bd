"""How alike the rows of an index are to each other: what a cosine means depends on it.

In an index of one narrow topic, two rows that mean different things are as near to each other as
two that mean the same elsewhere. Both is measured on some rows, from the vectors that are stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.segment import Segment

Floats = NDArray[np.float32]
SAMPLE = 128
"""Rows that are looked at, evenly spread, so that the same index always has the same facts."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What is known of all rows of an index together.

    Attributes:
        num_rows: Rows that are not deleted.
        near: The mean cosine of a row and the row nearest to it.
        mean: The mean cosine of two rows.
        spread: The standard deviation of that.
    """

    num_rows: int
    near: float = 0.0
    mean: float = 0.0
    spread: float = 0.0


def measure_facts(segments: Sequence[Segment]) -> IndexFacts:
    """Measure the rows of some segments; below two rows there is nothing to compare."""
    live = [np.flatnonzero(segment.live) for segment in segments]
    num_rows = sum(map(len, live))
    if num_rows < 2:
        return IndexFacts(num_rows)
    numbers = np.repeat(np.arange(len(live)), [len(rows) for rows in live])
    rows = np.concatenate(live)
    drawn = np.unique(np.linspace(0, num_rows - 1, min(SAMPLE, num_rows)).astype(np.int64))
    sample = np.stack(
        [segments[numbers[place]].vectors.stored[rows[place]] for place in drawn]
    ).astype(np.float32)
    cosines = sample @ sample.T
    others = cosines[~np.eye(len(sample), dtype=np.bool_)]
    near = [
        _nearest(segments, vector, int(numbers[place]), int(rows[place]))
        for vector, place in zip(sample, drawn, strict=True)
    ]
    return IndexFacts(num_rows, float(np.mean(near)), float(others.mean()), float(others.std()))


def _nearest(segments: Sequence[Segment], vector: Floats, number: int, own: int) -> float:
    """The cosine of a stored row and the nearest other one."""
    best = -1.0
    for place, segment in enumerate(segments):
        rows, cosines = segment.vectors.nearest(vector, 2, segment.live)
        others = cosines if place != number else cosines[rows != own]
        best = max([best, *others.tolist()])
    return best
