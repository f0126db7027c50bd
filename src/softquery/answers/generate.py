"""A text that a model wrote."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """One answer to a source."""

    text: str
    score: float
    """What it is ranked by: log-probability, corrected for length and coverage where asked."""
    log_probability: float
    """Of the whole text and its end, in nats."""
    is_cut: bool = False
    """Whether it had to end at the longest length."""
    tokens: tuple[str, ...] = ()
    """As the model wrote them."""
    attention: NDArray[np.floating[Any]] | None = field(default=None, compare=False, repr=False)
    """[T + 1, ..., S]: where each token, and then the end, looked, where that was asked for."""


def generated_record(source: str, answers: Sequence[Generated]) -> dict[str, Any]:
    """Answers as JSON gives them: repeating their input, the best one first.

    >>> written_record("Hallo", [Written(text="Hello", score=-0.5, log_probability=-0.6)])
    {'source': 'Hallo', 'text': 'Hello', 'score': -0.5}
    """
    if not answers:
        return {"source": source, "text": None, "score": None}
    best = {"source": source, "text": answers[0].text, "score": round(answers[0].score, 6)}
    if len(answers) == 1:
        return best
    ranked = [{"text": each.text, "score": round(each.score, 6)} for each in answers]
    return {**best, "candidates": ranked}
