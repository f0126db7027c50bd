"""The answer about one pair."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """What two sentences are to each other.

    With two classes, `score` is the probability of the second one (same meaning); with more, that
    of the chosen label; with grades, the grade itself, and there is no label. A model that was
    given the right to abstain answers no label where it is not sure enough.
    """

    label: str | None
    score: float
    probabilities: dict[str, float]
