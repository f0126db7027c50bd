"""What several systems got right on the same words, as a report."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.measure.paired import compare_means, grouped_interval

Right = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class System:
    """What one system did: for each word whether it was right, and whether it answered at all."""

    right: Right
    answered: Right

    @property
    def accuracy(self) -> float:
        """Share of all words that it got right."""
        return float(self.right.mean())

    @property
    def f1(self) -> float:
        """Harmonic mean of the shares of all words and of the answered ones that were right.

        >>> System(np.array([True, False, False]), np.array([True, True, False])).f1
        0.4
        """
        total = len(self.right) + int(self.answered.sum())
        return 2 * int(self.right.sum()) / total if total else 0.0


@dataclass(slots=True)
class Probed:
    """One set of words and what each system did on it.

    Attributes:
        sentences: The number of each word's sentence.
        baselines: Names of the systems that look into nothing; the others are compared with the
            first of them.
        systems: By name, in the order in which they are shown.
        families: Names of the systems that are compared among each other, such as the layers of one
            model.
    """

    sentences: NDArray[np.int64]
    baselines: tuple[str, ...]
    systems: dict[str, System] = field(default_factory=dict)
    families: list[list[str]] = field(default_factory=list)

    def add(self, name: str, right: Iterable[bool], answered: Iterable[bool] | None = None) -> None:
        """One more system; where nothing else is said, it answered always."""
        correct = np.fromiter(right, dtype=np.bool_)
        given = np.ones_like(correct) if answered is None else np.fromiter(answered, np.bool_)
        if not len(correct) == len(given) == len(self.sentences):
            raise ValueError(f"{name} has {len(correct)} answers for {len(self.sentences)} words")
        self.systems[name] = System(correct, given)

    def report(self) -> dict[str, Any]:
        """Every system with its interval and its lead over the baseline, and the comparisons.

        Intervals and chances are by drawing sentences; a chance is that of the other sign.
        """
        return {
            "n": len(self.sentences),
            "sentences": len(np.unique(self.sentences)),
            "baselines": list(self.baselines),
            "systems": {name: self._told(name) for name in self.systems},
            "comparisons": [
                {"first": first, "second": second, **self._compared(second, first)}
                for family in self.families
                for first, second in combinations(family, 2)
            ],
        }

    def _told(self, name: str) -> dict[str, Any]:
        system = self.systems[name]
        low, high = grouped_interval(system.right, self.sentences)
        told = {
            "accuracy": system.accuracy,
            "accuracy_interval": [low, high],
            "f1": system.f1,
            "answered": float(system.answered.mean()),
        }
        if name != self.baselines[0]:
            told["over_baseline"] = self._compared(name, self.baselines[0])
        return told

    def _compared(self, name: str, other: str) -> dict[str, Any]:
        """By how much the one is better than the other."""
        found = compare_means(self.systems[name].right, self.systems[other].right, self.sentences)
        return {
            "difference": found.difference,
            "interval": list(found.interval),
            "chance": found.chance,
        }
