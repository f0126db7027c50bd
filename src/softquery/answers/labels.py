"""Labels as they stand in files."""

import math
from collections.abc import Sequence


def parse_class(text: str, labels: Sequence[str]) -> int:
    """The place of a label, or `ValueError` naming the ones that are known.

    >>> parse_class("1", ["0", "1"])
    1
    """
    if text not in labels:
        shown = ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")
        raise ValueError(f"label {text[:40]!r} is not one of {shown}")
    return labels.index(text)


def parse_grade(text: str, low: float, high: float) -> float:
    """A grade as its share of the scale, or `ValueError` naming the scale.

    >>> parse_grade("2.5", 0, 5)
    0.5
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"grade {text[:40]!r} is not a number from {low:g} to {high:g}")
    return (value - low) / (high - low)
