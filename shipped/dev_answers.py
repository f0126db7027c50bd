"""Labelled rows of several sets, a model's answers to them, and figures for each set.

The first half of every set fits what is fitted after training; the second measures it. Halves are
cut by position: neighbours often share a sentence, and should not fall on both sides.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.errors import InputError
from softquery.files import Row, read_rows
from softquery.measure import (
    chance_calibration_error,
    expected_calibration_error,
    mean_interval,
)
from softquery.runtime import Matcher
from softquery.runtime.mistakes import gold_labels

COLUMNS = ("sentence1", "sentence2", "label", "source")
SKEW = 0.05
"""A label's share may differ by so much between a set's halves before it is told."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Every set's first half, and every set's second half."""

    first: list[Row]
    second: list[Row]

    @property
    def ordered(self) -> list[Row]:
        """All rows, the first halves before the second ones."""
        return [*self.first, *self.second]


def read_dev(path: Path) -> list[Row]:
    """The rows of a file; `source` says which set each comes from."""
    rows = list(read_rows(path, columns=COLUMNS))
    if not rows:
        raise InputError("holds no rows", source=path)
    return rows


def split_halves(rows: Sequence[Row]) -> Halves:
    """Cut every set in two, as calibration does; the second half has the odd row.

    >>> rows = [Row({"source": name}, 1, "f") for name in "aaabbbcc"]
    >>> halves = split_halves(rows)
    >>> ["".join(row.values["source"] for row in half) for half in (halves.first, halves.second)]
    ['abc', 'aabbc']
    """
    sets: dict[str, list[Row]] = {}
    for row in rows:
        sets.setdefault(row.values["source"], []).append(row)
    first: list[Row] = []
    second: list[Row] = []
    for part in sets.values():
        first += part[: len(part) // 2]
        second += part[len(part) // 2 :]
    return Halves(first, second)


def sources_of(rows: Sequence[Row]) -> list[str]:
    """Each row's set."""
    return [row.values["source"] for row in rows]


def skewed_sets(halves: Halves) -> list[str]:
    """A warning for every set whose halves have unlike labels, as when it is sorted by them."""
    counts = [
        {name: Counter[str]() for name in dict.fromkeys(sources_of(halves.ordered))}
        for _ in range(2)
    ]
    for count, half in zip(counts, (halves.first, halves.second), strict=True):
        for row in half:
            count[row.values["source"]][row.values["label"]] += 1
    return [
        f"{name}: label {label} has a share of {shares[0]:.2f} in the first half and "
        f"{shares[1]:.2f} in the second"
        for name in counts[0]
        for label, shares in _shares(counts[0][name], counts[1][name]).items()
        if abs(shares[0] - shares[1]) > SKEW
    ]


def _shares(first: Counter[str], second: Counter[str]) -> dict[str, tuple[float, float]]:
    totals = max(1, first.total()), max(1, second.total())
    labels = sorted({*first, *second})
    return {each: (first[each] / totals[0], second[each] / totals[1]) for each in labels}


Say = Callable[[str], None]
AT_ONCE = 8192
"""Pairs between two lines of progress: whole chunks of the runtime, so that no answer changes."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Logits and gold labels of rows, in their order."""

    rows: Sequence[Row]
    logits: NDArray[Any]
    gold: NDArray[np.int64]

    def right(self, calibration: Calibration | None = None) -> NDArray[np.bool_]:
        """Which rows are answered rightly."""
        used = calibration or Calibration()
        right: NDArray[np.bool_] = used.decide(used.probabilities(self.logits)) == self.gold
        return right

    def part(self, start: int) -> "Answers":
        """The answers from a row on."""
        return Answers(self.rows[start:], self.logits[start:], self.gold[start:])


def answer(matcher: Matcher, rows: Sequence[Row], say: Say, what: str) -> Answers:
    """Answer all rows, telling how far it is."""
    gold = gold_labels(matcher, rows)
    parts = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        parts.append(matcher.logits([(r.values["sentence1"], r.values["sentence2"]) for r in some]))
        say(f"{what}: {start + len(some):,} of {len(rows):,} pairs")
    return Answers(rows, np.concatenate(parts), gold)


def by_source(rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """The places of each set's rows, in the order in which the sets appear."""
    names = np.array(sources_of(rows))
    return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())}


def accuracies(rows: Sequence[Row], right: NDArray[np.bool_]) -> dict[str, float]:
    """The share of right answers for each set."""
    return {name: float(right[places].mean()) for name, places in by_source(rows).items()}


def with_interval(right: NDArray[np.bool_]) -> dict[str, Any]:
    """An accuracy with its bootstrap interval and the rows behind it."""
    bounds = mean_interval(right.astype(np.float64))
    return {
        "accuracy": float(right.mean()),
        "interval": [bounds.low, bounds.high],
        "n": len(right),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and range over the seeds.

    >>> spread([0.5, 0.75])
    {'mean': 0.625, 'min': 0.5, 'max': 0.75}
    """
    return {"mean": float(np.mean(values)), "min": min(values), "max": max(values)}


def calibration_errors(answers: Answers, calibration: Calibration) -> dict[str, dict[str, float]]:
    """For each set: ECE (15 bins of equal mass) without and with the calibration, and by chance."""
    tables = {
        "ece_before": Calibration().probabilities(answers.logits),
        "ece_after": calibration.probabilities(answers.logits),
    }
    return {
        name: {
            key: expected_calibration_error(table[places], answers.gold[places])
            for key, table in tables.items()
        }
        | {"ece_by_chance": chance_calibration_error(tables["ece_after"][places])}
        for name, places in by_source(answers.rows).items()
    }
