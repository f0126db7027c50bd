"""From which score on to say yes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from softquery.errors import InputError
from softquery.measure.arrays import (
    Numbers,
    as_labels,
    as_numbers,
    require_ids_below,
    require_same_length,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """Say yes where score >= value; the rest is what that costs on the rows it was chosen on."""

    value: float
    precision: float
    recall: float
    f1: float


def choose_threshold(
    scores: ArrayLike, gold: ArrayLike, aim: Literal["f1"] | float = "f1"
) -> Threshold:
    """The threshold with the best F1, or the lowest one that keeps an asked precision.

    The value lies halfway to the next lower score, so that a score that comes out a rounding
    lower on another machine is still answered alike.

    Args:
        scores: One number a row, higher for yes.
        gold: 0 or 1 for each row.
        aim: `"f1"`, or the precision to keep, above 0 and at most 1.

    Raises:
        InputError: No row is positive, or no threshold reaches the asked precision.

    >>> round(choose_threshold([0.9, 0.8, 0.4, 0.1], [1, 1, 0, 0]).value, 3)
    0.6
    >>> choose_threshold([0.9, 0.8, 0.4, 0.1], [1, 0, 1, 0], aim=1.0).recall
    0.5
    """
    numbers, positive = as_numbers(scores, name="scores"), as_labels(gold, name="gold")
    require_same_length(scores=numbers, gold=positive)
    require_ids_below(positive, 2, name="gold")
    if not positive.any():
        raise InputError("cannot choose a threshold: no row is positive")
    order = np.argsort(-numbers, kind="stable")
    falling = numbers[order]
    ends = np.flatnonzero(np.append(falling[:-1] > falling[1:], True))  # last row of each score
    hits = np.cumsum(positive[order])[ends].astype(np.float64)
    precision, recall = hits / (ends + 1), hits / positive.sum()
    f1 = 2 * hits / (ends + 1 + positive.sum())
    best = int(f1.argmax()) if aim == "f1" else _lowest_with(precision, aim)
    return Threshold(
        value=_between(falling[ends], best),
        precision=float(precision[best]),
        recall=float(recall[best]),
        f1=float(f1[best]),
    )


def _lowest_with(precision: Numbers, asked: object) -> int:
    if not isinstance(asked, (int, float)) or not 0 < asked <= 1:
        raise ValueError(f"aim must be 'f1' or a precision in (0, 1], got {asked!r}")
    reached = np.flatnonzero(precision >= asked)
    if not len(reached):
        raise InputError(
            f"no threshold reaches precision {asked:g}; the best is {precision.max():.4f}"
        )
    return int(reached[-1])


def _between(falling: Numbers, place: int) -> float:
    """Halfway from one distinct score to the next lower one, where floats leave room."""
    score = float(falling[place])
    if place + 1 == len(falling):
        return score
    below = float(falling[place + 1])
    middle = below + (score - below) / 2
    return middle if below < middle <= score else score
