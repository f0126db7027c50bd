"""A model's answers to labelled rows, and figures about them for each set that rows are from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dev_rows import sources_of
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.files import Row
from softquery.measure import expected_calibration_error, mean_interval
from softquery.runtime import Matcher
from softquery.runtime.mistakes import gold_labels

NUM_CHANCES = 20
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


def error_by_chance(probabilities: NDArray[np.float64], *, seed: int = 0) -> float:
    """The ECE that these rows would show if every probability were true.

    Bins of few rows miss their confidence by luck, so that no ECE is to be read against 0.
    """
    chance = np.random.default_rng(seed)
    edges = probabilities.cumsum(axis=1)
    edges[:, -1] = 1.0  # rounding must not leave a gap above the last label
    drawn = [(chance.random((len(edges), 1)) >= edges).sum(axis=1) for _ in range(NUM_CHANCES)]
    return float(np.mean([expected_calibration_error(probabilities, gold) for gold in drawn]))


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
        | {"ece_by_chance": error_by_chance(tables["ece_after"][places])}
        for name, places in by_source(answers.rows).items()
    }
