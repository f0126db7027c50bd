"""The answer of a matcher about one pair."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Match:
    """How two sentences relate to each other.

    With two classes, `score` is the probability of the second one (same meaning); with more, that
    of the chosen label; with grades, the grade itself, and there is no label. A model that
    may abstain answers no label where it is not sure enough.
    """

    label: str | None
    score: float
    probabilities: dict[str, float]

    def record(self, sentence1: str, sentence2: str) -> dict[str, Any]:
        """The answer as a JSON record that repeats its input, numbers to six decimals."""
        shares = {name: round(value, 6) for name, value in self.probabilities.items()}
        return {
            "sentence1": sentence1,
            "sentence2": sentence2,
            "label": self.label,
            "score": round(self.score, 6),
            "probabilities": shares,
        }
