"""What every threshold would do, how true scores are, and where they lie.

N queries.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
MOST_POINTS = 120
"""Points of a curve; more look the same."""
BARS = 20
"""Bars of a histogram."""
BINS = 10
"""Groups of queries by their scores, of about one size."""
SMALLEST_BIN = 5
"""Queries of a group, where there are that many: the share that is right of one is 0 or 1."""


def coverage_curve(scores: Numbers, right: Flags, answerable: Flags) -> list[dict[str, Any]]:
    """Coverage, precision and unanswerable queries answered at every threshold, highest first.

    Args:
        scores: The best score of each query: [N].
        right: Whether its row answers the query: [N].
        answerable: Whether any does: [N].

    >>> found = coverage_curve(
    ...     np.array([0.9, 0.8, 0.3]), np.array([1, 0, 1], bool), np.array([1, 0, 1], bool))
    >>> [(each["coverage"], round(each["precision"], 2)) for each in found]
    [(0.5, 1.0), (0.5, 0.5), (1.0, 0.67)]
    """
    thresholds = np.unique(scores)[::-1]
    if len(thresholds) > MOST_POINTS:
        places = np.linspace(0, len(thresholds) - 1, MOST_POINTS).astype(int)
        thresholds = thresholds[places]
    return [at_threshold(scores >= least, right, answerable, float(least)) for least in thresholds]


def at_threshold(
    given: Flags, right: Flags, answerable: Flags, threshold: float | None
) -> dict[str, Any]:
    """What happens if some queries are answered.

    Args:
        given: Whether each is: [N].
        right: Whether its best row is right: [N].
        answerable: Whether it has an answer: [N].
        threshold: What they are answered by.
    """
    return {
        "threshold": threshold,
        "coverage": _share(given, answerable),
        "precision": _share(right, given),
        "unanswerable_answered": _share(given, ~answerable),
    }


def _share(of: Flags, among: Flags) -> float | None:
    """The share of those that also are; None of none."""
    return float(of[among].mean()) if among.any() else None


def calibration(scores: Numbers, right: Flags) -> dict[str, Any]:
    """Groups of queries by score, with the share that is right, and the expected error (ECE).

    >>> calibration(np.array([0.8, 0.8]), np.array([True, False]))["ece"]
    0.3
    """
    order = np.argsort(scores, kind="stable")
    num_groups = min(BINS, max(1, len(scores) // SMALLEST_BIN))
    groups = [each for each in np.array_split(order, num_groups) if len(each)]
    rows = [
        {
            "n": len(each),
            "low": float(scores[each[0]]),
            "high": float(scores[each[-1]]),
            "score": float(scores[each].mean()),
            "right": float(right[each].mean()),
        }
        for each in groups
    ]
    gaps = [each["n"] * abs(each["score"] - each["right"]) for each in rows]
    return {"ece": round(float(sum(gaps) / max(1, len(scores))), 6), "groups": rows}


def histogram(scores: Numbers, kinds: dict[str, Flags]) -> dict[str, Any]:
    """How many queries of each kind have a score of about so much.

    >>> histogram(np.array([0.0, 1.0]), {"right": np.array([False, True])})["counts"]["right"][-1]
    1
    """
    low = min(0.0, float(scores.min(initial=0.0)))
    high = max(1.0, float(scores.max(initial=1.0)))
    edges = np.linspace(low, high, BARS + 1)
    counts = {name: np.histogram(scores[mask], edges)[0].tolist() for name, mask in kinds.items()}
    return {"edges": [round(each, 4) for each in edges.tolist()], "counts": counts}
