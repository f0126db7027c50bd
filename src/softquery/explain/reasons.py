"""What an answer owes to each word: by how much the answer moves without it.

Attention weights say where a model looked. Reasons say what the answer would be otherwise, which is
why both may differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError

Method = Literal["left out", "added up"]
"""How reasons were found: every word left out in turn, or the answer taken apart exactly."""
Numbers = NDArray[np.float64]
LEAST_SCALE = 0.5
"""The change of the log-odds that has the full colour where no word changes more."""


class WordReason(NamedTuple):
    """A word, and what the answer owes to it.

    >>> print(WordReason("not", 1, 2, 1.25, 0.31))
    not: +1.25
    """

    word: str
    sentence: int
    """From 0; of a pair, 0 is the first text and 1 the second."""
    position: int
    """Its place in its sentence, from 0."""
    change: float
    """Above 0, the word speaks for the answer; below 0, against it."""
    probability: float | None
    """Of the answer without the word; None where nothing was left out."""

    def __str__(self) -> str:
        return f"{self.word}: {signed(self.change)}"


def signed(change: float) -> str:
    """A change with its sign, to two decimals.

    >>> signed(0.5), signed(-1.239), signed(-0.001)
    ('+0.50', '−1.24', '0.00')
    """
    text = f"{abs(change):.2f}"
    if text == "0.00":
        return text
    return f"+{text}" if change > 0 else f"−{text}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reasons:
    """What an answer owes to each word of its texts.

    Left out: a change is the log-odds of the answer with all words, less those without the word, so
    that `probabilities` say what the model would answer then. Added up: changes are shares of the
    score itself, which they and `base` add up to; nothing is left out, and there are no
    `probabilities`.

    >>> reasons = Reasons(
    ...     answer="positive", method="left out", score=2.0, probability=0.88,
    ...     words=(("not", "bad"),), changes=(np.array([2.5, 0.4]),),
    ...     probabilities=(np.array([0.38, 0.83]),),
    ... )
    >>> print(*reasons.strongest(1))
    not: +2.50
    """

    answer: str
    """The label whose reasons these are; empty for a grade."""
    method: Method
    score: float
    """The log-odds of the answer with all words; where changes are added up, the logit of the
    answer above the mean of the others."""
    probability: float
    """Of the answer with all words; of a grade, its share of the scale."""
    words: tuple[tuple[str, ...], ...]
    """By sentence. In a long text neighbouring words are left out together, and count as one."""
    changes: tuple[Numbers, ...]
    """One for every word, by sentence."""
    probabilities: tuple[Numbers, ...] = ()
    """Of the answer without each word, by sentence."""
    base: float | None = None
    """The part of `score` that no word accounts for, where changes are added up."""

    def __post_init__(self) -> None:
        put = object.__setattr__  # the way into a frozen dataclass
        put(self, "words", tuple(tuple(words) for words in self.words))
        if self.method not in get_args(Method):
            raise ValueError(f"method must be one of {get_args(Method)}, got {self.method!r:.40}")
        is_left_out = self.method == "left out"
        if (self.base is None) != is_left_out:
            raise ValueError("a base belongs to changes that are added up, and to no others")
        for name, is_there in (("changes", True), ("probabilities", is_left_out)):
            arrays = [_finite(each, name) for each in getattr(self, name)]
            lengths = [len(words) for words in self.words] if is_there else []
            if [len(each) for each in arrays] != lengths:
                raise ValueError(f"{name} must hold a number for each word")
            put(self, name, tuple(arrays))
        for name in ("score", "probability", *(() if is_left_out else ("base",))):
            put(self, name, float(getattr(self, name)))
        if not np.isfinite([self.score, self.probability, self.base or 0.0]).all():
            raise ValueError("score, probability and base must be finite")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reasons) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        named = ", ".join(map(str, self.strongest(3)))
        return f"{type(self).__name__}({self.answer!r}, {self.method}: {named})"

    def listed(self) -> list[WordReason]:
        """Every word, in the order of the texts."""
        return [
            WordReason(
                word,
                row,
                place,
                float(self.changes[row][place]),
                float(self.probabilities[row][place]) if self.probabilities else None,
            )
            for row, words in enumerate(self.words)
            for place, word in enumerate(words)
        ]

    def strongest(self, top: int = 10) -> list[WordReason]:
        """The words that move the answer most, in either direction, the strongest first."""
        if isinstance(top, bool) or not isinstance(top, int) or top < 1:
            raise ValueError(f"top must be a whole number of at least 1, got {top!r:.40}")
        return sorted(self.listed(), key=lambda each: -abs(each.change))[:top]

    @property
    def scale(self) -> float:
        """The change that is drawn with full strength: the largest one, unless it is small."""
        return max(LEAST_SCALE, *(float(np.abs(each).max(initial=0)) for each in self.changes), 0.0)

    def strengths(self) -> tuple[Numbers, ...]:
        """How strongly each word is drawn: from -1, against the answer, to 1, for it."""
        return tuple(each / self.scale for each in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        return {
            "answer": self.answer,
            "method": self.method,
            "score": self.score,
            "probability": self.probability,
            "words": [list(words) for words in self.words],
            "changes": [np.round(each, 6).tolist() for each in self.changes],
            "probabilities": [np.round(each, 6).tolist() for each in self.probabilities],
            "base": self.base,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Reasons":
        """Rebuild reasons from what `to_dict` returned.

        Raises:
            InputError: If a field is missing, unknown, or does not fit the others.
        """
        names = {each.name for each in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != names:
            raise InputError(f"reasons must be an object with {', '.join(sorted(names))}")
        try:
            return cls(**{**values, "words": _words(values["words"])})
        except (TypeError, ValueError) as error:
            raise InputError(f"no reasons: {error}") from error


def _words(sentences: Any) -> list[list[str]]:
    if not isinstance(sentences, list) or not all(
        isinstance(words, list) and all(isinstance(word, str) for word in words)
        for words in sentences
    ):
        raise ValueError("words must be lists of strings")
    return sentences


def _finite(values: Sequence[float] | Numbers, name: str) -> Numbers:
    """A read-only copy of one sentence's numbers."""
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite numbers, a list for each sentence")
    numbers.setflags(write=False)
    return numbers
