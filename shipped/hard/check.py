"""Drops pairs whose label a sure teacher contradicts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SURE = 0.95
"""A teacher with this probability for another label is believed."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """The pairs that stay, and how many of each rule were there and went."""

    kept: list[Row]
    given: Counter[str]
    dropped: Counter[str]

    def shares(self) -> dict[str, float]:
        """Rule to the share of its pairs that went, the largest first."""
        found = {rule: self.dropped[rule] / count for rule, count in self.given.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def is_contradicted(row: Row, sure: float = SURE) -> bool:
    """Whether the teacher is sure of another label.

    >>> is_contradicted({"label": "0", "probabilities": {"0": 0.02, "1": 0.98}})
    True
    """
    told: dict[str, float] = row["probabilities"]
    return any(label != row["label"] and share >= sure for label, share in told.items())


def check(rows: Iterable[Row], sure: float = SURE) -> Checked:
    """Keep what the teacher does not surely contradict."""
    checked = Checked([], Counter(), Counter())
    for row in rows:
        checked.given[row["rule"]] += 1
        if is_contradicted(row, sure):
            checked.dropped[row["rule"]] += 1
        else:
            checked.kept.append(row)
    return checked
