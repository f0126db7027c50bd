"""The attention weights of a text's words and sentences, with the answer they led to."""

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.explain.alignment import shortest_floats
from softquery.explain.lettering import LabelNames, shortened
from softquery.explain.reasons import Reasons

Weights = NDArray[np.float32]

_SLACK = 1e-3
"""Tolerance by which a sum of weights may exceed 1, for softmax in half precision."""


class HeavyWord(NamedTuple):
    """A word with its position and its weight."""

    word: str
    sentence: int
    position: int
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TextWeights:
    """The weight of each word of a text, with the answer that the text was given.

    The weights of a sentence's words sum to 1, and so do those of the sentences where there are
    any. Weights say where the model looked, which is not the same as why it answered.

    >>> shown = TextWeights(
    ...     text="Well made. Dull.",
    ...     sentences=(("Well", "made", "."), ("Dull", ".")),
    ...     word_weights=(np.array([0.5, 0.4, 0.1]), np.array([0.9, 0.1])),
    ...     sentence_weights=np.array([0.25, 0.75]),
    ...     label="negative", score=0.8, probabilities={"negative": 0.8, "positive": 0.2},
    ... )
    >>> [(heavy.word, round(heavy.weight, 3)) for heavy in shown.heaviest(2)]
    [('Dull', 0.675), ('Well', 0.125)]
    """

    text: str
    """The text, as given."""
    sentences: tuple[tuple[str, ...], ...]
    """The words that the model read, by sentence."""
    word_weights: tuple[Weights, ...]
    """One array per sentence."""
    sentence_weights: Weights | None = None
    """None where the text is read as one sentence."""
    label: str | None
    score: float
    probabilities: dict[str, float] = field(default_factory=dict)
    model: str = ""
    reasons: Reasons | None = None
    """What the answer owes to each word, by leaving it out; None where nobody asked."""
    contributions: Reasons | None = None
    """What the state of each word adds to the answer, exactly; None where the answer is not read
    off a mixture of states alone."""
    label_names: LabelNames = field(default_factory=dict)
    """What pictures call the labels, by language; no part of the data."""

    def __post_init__(self) -> None:
        put = object.__setattr__  # the way into a frozen dataclass
        put(self, "sentences", tuple(tuple(words) for words in self.sentences))
        if len(self.word_weights) != len(self.sentences):
            raise ValueError(
                f"{len(self.word_weights)} arrays of weights for {len(self.sentences)} sentences"
            )
        arrays = [
            _checked(values, len(words), "word_weights")
            for values, words in zip(self.word_weights, self.sentences, strict=True)
        ]
        put(self, "word_weights", tuple(arrays))
        if self.sentence_weights is not None:
            found = _checked(self.sentence_weights, len(self.sentences), "sentence_weights")
            put(self, "sentence_weights", found)

    def __repr__(self) -> str:
        answer = f"label={self.label!r}, score={self.score:.3f}"
        return f"{type(self).__name__}({shortened(self.text)!r}, {answer})"

    def _repr_html_(self) -> str:
        """The picture of `plot`, as notebooks show it."""
        from softquery.explain.notebook import picture_html
        from softquery.explain.svg import text_to_svg  # imports this module

        return picture_html(text_to_svg(self), f"Weights of the words of “{self.text[:400]}”")

    def shares(self) -> list[Weights]:
        """The weight of each word in the whole text: its own times that of its sentence."""
        if self.sentence_weights is None:
            return list(self.word_weights)
        return [
            words * share
            for words, share in zip(self.word_weights, self.sentence_weights, strict=True)
        ]

    def strengths(self) -> list[Weights]:
        """How strongly each word is drawn, from 0 to 1 for the strongest.

        √(sentence) · word, so that a word is seen where its sentence matters little, but less so
        (Yang et al. 2016, Section 3.6).
        """
        roots = [1.0] * len(self.sentences)
        if self.sentence_weights is not None:
            roots = np.sqrt(self.sentence_weights).tolist()
        found = [words * root for words, root in zip(self.word_weights, roots, strict=True)]
        most = max((float(words.max(initial=0)) for words in found), default=0.0)
        return [words / most if most else words for words in found]

    def heaviest(self, top: int = 10) -> list[HeavyWord]:
        """The words with the largest shares, largest first."""
        words = [
            HeavyWord(self.sentences[row][place], row, place, float(share))
            for row, shares in enumerate(self.shares())
            for place, share in enumerate(shares)
        ]
        return sorted(words, key=lambda word: -word.weight)[:top]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        sentences = self.sentence_weights
        return {
            "text": self.text,
            "sentences": [list(words) for words in self.sentences],
            "word_weights": [shortest_floats(each[None])[0] for each in self.word_weights],
            "sentence_weights": None if sentences is None else shortest_floats(sentences[None])[0],
            "label": self.label,
            "score": self.score,
            "probabilities": dict(self.probabilities),
            "model": self.model,
            "reasons": None if self.reasons is None else self.reasons.to_dict(),
            "contributions": None if self.contributions is None else self.contributions.to_dict(),
        }

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write a picture (.svg, .png), a page (.html) or data (.json), atomically.

        Args:
            path: The file; its ending decides what is written.

        Raises:
            InputError: If the ending is none of these, or the file cannot be written.
            MissingExtra: If a PNG is asked for without `[plot]`.
        """
        from softquery.explain.write import write_explanation  # imports this module

        return write_explanation(self, path)


def _checked(values: Any, length: int, name: str) -> Weights:
    weights = np.array(values, dtype=np.float32)
    if weights.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() > 1 + _SLACK:
        raise ValueError(f"{name} must hold weights of at least 0 that sum to at most 1")
    weights.setflags(write=False)
    return weights
