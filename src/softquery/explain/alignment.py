"""Who asked whom in one pair: the weights of both directions, with the answer they led to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.explain.strongest import StrongestLinks, strongest_partners

Weights = NDArray[np.float32]

_SLACK = 1e-3
"""By how much a row may exceed 1: softmax in half precision does."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PairAlignment:
    """What each word of two sentences asked the other one (P and H tokens), and what came of it.

    A row of weights sums to 1; to less where some of what it asked is not among the tokens, and to
    0 where there was nothing to ask. Weights are kept as float32 and cannot be written to.

    >>> alignment = PairAlignment(
    ...     first="He eats.",
    ...     second="Eats!",
    ...     first_tokens=("he", "eats", "."),
    ...     second_tokens=("eats", "!"),
    ...     first_to_second=np.array([[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]]),
    ...     second_to_first=np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]),
    ...     label="entailment",
    ...     score=0.9,
    ...     probabilities={"entailment": 0.9, "neutral": 0.1},
    ... )
    >>> alignment.first_to_second.shape
    (3, 2)
    """

    first: str
    """The first sentence, as given."""
    second: str
    first_tokens: tuple[str, ...]
    """What the model read of it."""
    second_tokens: tuple[str, ...]
    first_to_second: Weights
    """Each token of the first sentence asks those of the second: [P, H]."""
    second_to_first: Weights
    """Likewise the other way round: [H, P]."""
    label: str | None
    """The answer; None for a grade, or where the model abstains."""
    score: float
    probabilities: dict[str, float] = field(default_factory=dict)
    """One for each label; empty for a grade."""
    model: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__  # the way into a frozen dataclass
        put(self, "first_tokens", tuple(self.first_tokens))
        put(self, "second_tokens", tuple(self.second_tokens))
        num_first, num_second = len(self.first_tokens), len(self.second_tokens)
        for name, shape in (
            ("first_to_second", (num_first, num_second)),
            ("second_to_first", (num_second, num_first)),
        ):
            put(self, name, _checked(getattr(self, name), shape, name=name))
        put(self, "score", float(self.score))
        chances = {str(label): float(chance) for label, chance in self.probabilities.items()}
        put(self, "probabilities", chances)
        if not np.isfinite([self.score, *chances.values()]).all():
            raise ValueError("score and probabilities must be finite, but hold NaN or infinity")
        if not all(0 <= chance <= 1 + _SLACK for chance in chances.values()):
            raise ValueError(f"probabilities must be in [0, 1], got {chances}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairAlignment):
            return NotImplemented
        return all(
            bool(np.array_equal(getattr(self, each.name), getattr(other, each.name)))
            if each.name in ("first_to_second", "second_to_first")
            else getattr(self, each.name) == getattr(other, each.name)
            for each in fields(self)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, floats and strings under the names of the fields, ready for JSON."""
        from softquery.explain.data import as_dict

        return as_dict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PairAlignment":
        """The alignment that `to_dict` described; nothing is lost on the way.

        Raises:
            InputError: If a field is missing, unknown, or does not fit the others.
        """
        from softquery.explain.data import from_mapping

        return from_mapping(values)

    def strongest(
        self, top: int = 3
    ) -> tuple[tuple[StrongestLinks, ...], tuple[StrongestLinks, ...]]:
        """For each token of the first sentence, then of the second, whom it asked most.

        Args:
            top: How many partners to name at most; those without any weight are never named.

        >>> alignment = PairAlignment(
        ...     first="I eat", second="eat", first_tokens=("i", "eat"), second_tokens=("eat",),
        ...     first_to_second=np.ones((2, 1)), second_to_first=np.array([[0.25, 0.75]]),
        ...     label=None, score=4.5,
        ... )
        >>> for asking in alignment.strongest()[1]:
        ...     print(asking)
        eat: eat 0.75, i 0.25
        """
        return (
            strongest_partners(
                self.first_tokens, self.second_tokens, self.first_to_second, top=top
            ),
            strongest_partners(
                self.second_tokens, self.first_tokens, self.second_to_first, top=top
            ),
        )

    def plot(self, path: str | PathLike[str]) -> Path:
        """Write a picture (.svg, .png), a page to explore (.html) or the data (.json), whole.

        Args:
            path: The file; its ending decides what is written.

        Raises:
            InputError: If the ending is none of these, or the disk refuses.
            MissingExtra: If a PNG is asked for without `[plot]`.
        """
        from softquery.explain.write import write_explanation  # which draws what is defined here

        return write_explanation(self, path)


def _checked(values: Any, shape: tuple[int, int], *, name: str) -> Weights:
    """Weights of the right shape, as a copy of our own that nobody can change."""
    weights = np.array(values, dtype=np.float32)
    if weights.size == 0 and 0 in shape:  # an empty list of rows does not know its width
        weights = weights.reshape(shape)
    if weights.shape != shape:
        raise ValueError(f"{name} must have shape {shape} (tokens by tokens), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} must hold weights of at least 0, but holds others")
    if (weights.sum(axis=1, dtype=np.float64) > 1 + _SLACK).any():
        raise ValueError(f"{name} must have rows that sum to at most 1, but one sums to more")
    weights.setflags(write=False)
    return weights
