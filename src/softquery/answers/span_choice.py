"""From scores of where an answer begins and ends to the best legal span.

T words of a page.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class SpanScores(NamedTuple):
    """How well each word of a page would begin and end the answer, before any softmax."""

    start: Floats
    end: Floats
    none: tuple[float, float] | None = None
    """Scores of no beginning and no end, where a model has learnt that there may be no answer."""


class SpanChoice(NamedTuple):
    """Words from `first` to `last`, and the sum of both scores."""

    first: int
    last: int
    score: float


def best_spans(start: Floats, end: Floats, *, max_words: int, top: int = 1) -> list[SpanChoice]:
    """The spans with the highest sums, best first; none ends before it begins or is too long.

    Of equal ones the earlier comes first, and of two that begin together the shorter.

    Args:
        start: [T]; minus infinity where no answer may begin.
        end: [T]; likewise.
        max_words: The most words of a span.
        top: How many are asked for.

    >>> scores = np.array([0.0, 3.0, 1.0]), np.array([9.0, 0.0, 2.0])
    >>> [tuple(each) for each in best_spans(*scores, max_words=3, top=2)]
    [(0, 0, 9.0), (1, 2, 5.0)]
    >>> best_spans(*scores, max_words=1)[0].first
    0
    """
    if max_words < 1 or top < 1:
        raise ValueError(f"max_words and top must be at least 1, got {max_words} and {top}")
    if len(start) != len(end):
        raise ValueError(f"{len(start)} starts and {len(end)} ends")
    wide = [np.asarray(each, dtype=np.float64) for each in (start, end)]
    width = min(max_words, len(start))
    totals = np.full((len(start), width), -np.inf)
    for more in range(width):
        totals[: len(start) - more, more] = wide[0][: len(start) - more] + wide[1][more:]
    flat = totals.ravel()
    if top == 1:
        order: Sequence[int] = [int(flat.argmax())] if len(flat) else []
    else:
        order = np.argsort(-flat, kind="stable")[:top].tolist()
    return [
        SpanChoice(place // width, place // width + place % width, float(flat[place]))
        for place in order
        if flat[place] > -np.inf
    ]
