"""Parses labels of files: classes, grades and distributions."""

import json
import math
from collections.abc import Sequence


def parse_class(text: str, labels: Sequence[str]) -> int:
    """The index of a label; raises `ValueError` naming the known labels.

    >>> parse_class("1", ["0", "1"])
    1
    """
    if text not in labels:
        shown = ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")
        text = text[:40] if isinstance(text, str) else text
        raise ValueError(f"label {text!r} is not one of {shown}")
    return labels.index(text)


def parse_grade(text: str, low: float, high: float) -> float:
    """A grade scaled to 0 to 1; raises `ValueError` naming the scale.

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


def parse_distribution(text: str, labels: Sequence[str]) -> list[float]:
    """The probabilities of a JSON object in the order of the labels; omitted labels have 0.

    >>> parse_distribution('{"1": 0.75, "0": 0.25}', ["0", "1"])
    [0.25, 0.75]
    """
    try:
        given = {name: float(share) for name, share in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f'probabilities {text[:40]!r} are not an object such as {{"{labels[0]}": 0.9, …}}'
        ) from None
    for name in given:
        parse_class(name, labels)
    total = sum(given.values())
    if not (all(0 <= share <= 1 for share in given.values()) and abs(total - 1) < 0.01):
        raise ValueError(f"probabilities {text[:40]!r} are not numbers from 0 to 1 that sum to 1")
    return [given.get(name, 0.0) / total for name in labels]
