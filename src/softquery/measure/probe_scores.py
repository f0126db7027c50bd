"""Scores of probes: word senses by the nearest mean vector, and reports of several systems.

Senses: Peters et al. (2018), Section 5.3, after Melamud et al. (2016). The vectors of each sense in
the training text are averaged, and a word gets the sense with the nearest mean. Words without a
sense in the training text get WordNet's first sense.

J layers, D width.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.files.senses import SenseMention, SenseWord
from softquery.measure.bootstrap import compare_means, grouped_interval

DECIMALS = 6
"""Cosines are compared to this many decimals; of equal ones the more common sense wins."""
Layers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SenseDictionary:
    """The senses of words that annotated text shows.

    Attributes:
        seen: The senses of each word in the training text, most common first.
        first: The sense that WordNet numbers 1, for words that have it anywhere in the text.
    """

    seen: Mapping[SenseWord, tuple[str, ...]]
    first: Mapping[SenseWord, str]

    def first_sense(self, word: SenseWord) -> str | None:
        """WordNet's first sense, otherwise the most common of the training text; None for neither.

        >>> bank = SenseWord("bank", "n")
        >>> SenseDictionary({bank: ("bank%1:14:00::",)}, {}).first_sense(bank)
        'bank%1:14:00::'
        """
        return self.first.get(word) or next(iter(self.seen.get(word, ())), None)

    def commonest(self, word: SenseWord) -> str | None:
        """The most common sense of the training text, otherwise WordNet's first."""
        return next(iter(self.seen.get(word, ())), None) or self.first.get(word)


def build_dictionary(
    training: Iterable[SenseMention], everywhere: Iterable[SenseMention]
) -> SenseDictionary:
    """Count the senses of the training text, and find WordNet's first senses.

    Args:
        training: The mentions whose senses are counted.
        everywhere: All mentions with WordNet's numbers. Only the key with number 1 is taken from
            them. On this text it is right exactly where WordNet would be, because a word whose
            first sense never occurs is never right with it.
    """
    counts: defaultdict[SenseWord, Counter[str]] = defaultdict(Counter)
    for each in training:
        counts[each.word].update(each.senses)
    first = {
        each.word: sense
        for each in everywhere
        for sense, number in zip(each.senses, each.numbers, strict=False)
        if number == 1
    }
    seen = {
        word: tuple(sorted(found, key=lambda sense: (-found[sense], sense)))
        for word, found in counts.items()
    }
    return SenseDictionary(seen, first)


class SenseMeans:
    """Mean vectors of senses by layer, updated mention by mention.

    Args:
        senses: The keys of all senses.
        num_layers: The number J of layers.
        size: The width D of a layer.
    """

    def __init__(self, senses: Iterable[str], num_layers: int, size: int) -> None:
        self.rows = {sense: row for row, sense in enumerate(dict.fromkeys(senses))}
        # Sums in float64, so that the means of equal vectors are equal for any count.
        self.sums = np.zeros((len(self.rows), num_layers, size))
        self.counts = np.zeros(len(self.rows), dtype=np.int64)

    def add(self, sensed: SenseMention, vectors: Layers) -> None:
        """Add the vectors [J, D] of one mention to each of its senses."""
        for sense in sensed.senses:
            self.sums[self.rows[sense]] += vectors
            self.counts[self.rows[sense]] += 1

    def nearest(self, vectors: Layers, candidates: Iterable[str]) -> list[str | None]:
        """For each layer, the candidate whose mean has the highest cosine; of ties the first.

        None where no candidate has a mean, or where a vector is all zeros.

        >>> means = SenseMeans(["a", "b"], num_layers=1, size=2)
        >>> means.add(SenseMention(0, 1, SenseWord("w", "n"), ("a",)), np.array([[1.0, 0.0]]))
        >>> means.add(SenseMention(0, 1, SenseWord("w", "n"), ("b",)), np.array([[0.0, 1.0]]))
        >>> means.nearest(np.array([[1.0, 3.0]]), ["a", "b"])
        ['b']
        """
        known = [sense for sense in candidates if self.counts[self.rows[sense]]]
        if not known:
            return [None] * len(vectors)
        sums = self.sums[[self.rows[sense] for sense in known]]  # [senses, J, D]
        lengths = np.linalg.norm(sums, axis=-1) * np.linalg.norm(vectors, axis=-1)
        dots = np.einsum("sjd,jd->sj", sums, vectors)
        cosines = np.divide(dots, lengths, out=np.full(dots.shape, -np.inf), where=lengths > 0)
        best = np.round(cosines, DECIMALS).argmax(axis=0)
        defined = np.isfinite(cosines).any(axis=0)
        return [known[row] if there else None for row, there in zip(best, defined, strict=True)]


Right = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProbedSystem:
    """The results of one system: for each word whether it was right, and whether it answered."""

    right: Right
    answered: Right

    @property
    def accuracy(self) -> float:
        """The share of all words that it got right."""
        return float(self.right.mean())

    @property
    def f1(self) -> float:
        """The harmonic mean of precision (over answered words) and recall (over all words).

        >>> ProbedSystem(np.array([True, False, False]), np.array([True, True, False])).f1
        0.4
        """
        total = len(self.right) + int(self.answered.sum())
        return 2 * int(self.right.sum()) / total if total else 0.0


@dataclass(slots=True)
class ProbeReport:
    """The results of several systems on one set of words.

    Attributes:
        sentences: The index of each word's sentence.
        baselines: Names of the baselines; the other systems are compared with the first of them.
        systems: By name, in the order in which they are shown.
        families: Names of systems that are compared with each other, such as the layers of one
            model.
    """

    sentences: NDArray[np.int64]
    baselines: tuple[str, ...]
    systems: dict[str, ProbedSystem] = field(default_factory=dict)
    families: list[list[str]] = field(default_factory=list)

    def add(self, name: str, right: Iterable[bool], answered: Iterable[bool] | None = None) -> None:
        """Add a system; by default it answered every word."""
        correct = np.fromiter(right, dtype=np.bool_)
        given = np.ones_like(correct) if answered is None else np.fromiter(answered, np.bool_)
        if not len(correct) == len(given) == len(self.sentences):
            raise ValueError(f"{name} has {len(correct)} answers for {len(self.sentences)} words")
        self.systems[name] = ProbedSystem(correct, given)

    def report(self) -> dict[str, Any]:
        """Every system with its interval and its difference from the baseline, and the comparisons.

        Sentences are resampled. A "chance" is the share of resamples with the other sign.
        """
        return {
            "n": len(self.sentences),
            "sentences": len(np.unique(self.sentences)),
            "baselines": list(self.baselines),
            "systems": {name: self._described(name) for name in self.systems},
            "comparisons": [
                {"first": first, "second": second, **self._compared(second, first)}
                for family in self.families
                for first, second in combinations(family, 2)
            ],
        }

    def _described(self, name: str) -> dict[str, Any]:
        system = self.systems[name]
        low, high = grouped_interval(system.right, self.sentences)
        found = {
            "accuracy": system.accuracy,
            "accuracy_interval": [low, high],
            "f1": system.f1,
            "answered": float(system.answered.mean()),
        }
        if name != self.baselines[0]:
            found["over_baseline"] = self._compared(name, self.baselines[0])
        return found

    def _compared(self, name: str, other: str) -> dict[str, Any]:
        """The difference between two systems, with its interval."""
        found = compare_means(self.systems[name].right, self.systems[other].right, self.sentences)
        return {
            "difference": found.difference,
            "interval": list(found.interval),
            "chance": found.chance,
        }
