"""What the threshold of an index aims at: so much precision, or so much coverage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from softquery.errors import ConfigError

Goal = Literal["precision", "coverage"]
GOALS: tuple[Goal, ...] = ("precision", "coverage")
_EXPECTED = "expected precision=P or coverage=C, each above 0 and below 1, such as precision=0.9"


@dataclass(frozen=True, slots=True)
class Aim:
    """A goal that a threshold is chosen for.

    Attributes:
        goal: Precision, the share of answers that are right; or coverage, the share of answerable
            queries that are answered.
        value: How much of it.

    >>> Aim("coverage", 0.8).spelt
    'coverage=0.8'
    """

    goal: Goal
    value: float

    @property
    def spelt(self) -> str:
        """As it is typed."""
        return f"{self.goal}={self.value:g}"


DEFAULT_AIM = Aim("precision", 0.9)


def parse_aim(text: object) -> Aim:
    """An aim as it is typed.

    Raises:
        ConfigError: It is none.

    >>> parse_aim("precision=0.95")
    Aim(goal='precision', value=0.95)
    >>> parse_aim("recall=2")
    Traceback (most recent call last):
        ...
    softquery.errors.ConfigError: aim is 'recall=2', expected precision=P or coverage=C, each \
above 0 and below 1, such as precision=0.9
    """
    if isinstance(text, str):
        goal, _, value = (part.strip() for part in text.partition("="))
        if goal in GOALS and (number := _number(value)) is not None:
            return Aim(goal, number)
    raise ConfigError(f"aim is {text!r:.60}, {_EXPECTED}")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1 else None


@dataclass(frozen=True, slots=True)
class AimCurve:
    """What was seen at each threshold, over sets that the score had not learned from.

    Attributes:
        scores: Thresholds, lowest first.
        precision: The share of answers that were right.
        coverage: The share of answerable queries that were answered.

    >>> curve = AimCurve((0.2, 0.5, 0.8), (0.7, 0.92, 0.97), (0.95, 0.75, 0.4))
    >>> curve.threshold(Aim("precision", 0.9)), curve.threshold(Aim("coverage", 0.9))
    (0.5, 0.2)
    >>> curve.threshold(Aim("precision", 0.99)), curve.threshold(Aim("coverage", 0.99))
    (0.8, 0.2)
    """

    scores: Sequence[float]
    precision: Sequence[float]
    coverage: Sequence[float]

    def threshold(self, aim: Aim) -> float:
        """The threshold that meets an aim and answers most; the nearest if none meets it."""
        if aim.goal == "precision":
            found = [s for s, p in zip(self.scores, self.precision, strict=True) if p >= aim.value]
            return found[0] if found else self.scores[-1]
        found = [s for s, c in zip(self.scores, self.coverage, strict=True) if c >= aim.value]
        return found[-1] if found else self.scores[0]
