"""The answer of a generator: one or several texts for a source."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """One generated text."""

    text: str
    score: float
    """What texts are ranked by: log-probability, adjusted for length and coverage where asked."""
    log_probability: float
    """The log-probability of the text and its end token, in nats."""
    is_cut: bool = False
    """Whether it was cut at the maximal length."""
    tokens: tuple[str, ...] = ()
    """The tokens that the model generated."""
    attention: NDArray[np.floating[Any]] | None = field(default=None, compare=False, repr=False)
    """[T + 1, ..., S]: attention of each token and of the end token, where it was asked for."""


def generated_record(source: str, answers: Sequence[Generated]) -> dict[str, Any]:
    """Answers as a JSON record that repeats the source, the best answer first.

    >>> generated_record("Hallo", [Generated(text="Hello", score=-0.5, log_probability=-0.6)])
    {'source': 'Hallo', 'text': 'Hello', 'score': -0.5}
    """
    if not answers:
        return {"source": source, "text": None, "score": None}
    best = {"source": source, "text": answers[0].text, "score": round(answers[0].score, 6)}
    if len(answers) == 1:
        return best
    ranked = [{"text": each.text, "score": round(each.score, 6)} for each in answers]
    return {**best, "candidates": ranked}
