"""The answer of a classifier about one text."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Classified:
    """The label of a text.

    `score` is the probability of the answered label. A model that may abstain answers no
    label where it is not sure enough; the score is then that of the label it would have answered.
    """

    label: str | None
    score: float
    probabilities: dict[str, float]

    def record(self, text: str) -> dict[str, Any]:
        """The answer as a JSON record that repeats its input, numbers to six decimals.

        >>> Classified("good", 0.75, {"bad": 0.25, "good": 0.75}).record("fine")["label"]
        'good'
        """
        shares = {name: round(value, 6) for name, value in self.probabilities.items()}
        return {
            "text": text,
            "label": self.label,
            "score": round(self.score, 6),
            "probabilities": shares,
        }
