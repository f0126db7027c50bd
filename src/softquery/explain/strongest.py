"""The few partners that matter to each token, for output that is read as text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Partner(NamedTuple):
    """A token that was asked, and how much of the question went to it."""

    token: str
    position: int
    """Its place in its sentence, from 0: a word may stand there twice."""
    weight: float


class StrongestLinks(NamedTuple):
    """A token that asked, and whom it asked most.

    >>> print(Asking("dog", 1, (Partner("animal", 3, 0.81),)))
    dog: animal 0.81
    """

    token: str
    position: int
    partners: tuple[Partner, ...]
    """The heaviest first; among equals the one that stands first."""

    def __str__(self) -> str:
        named = ", ".join(f"{each.token} {each.weight:.2f}" for each in self.partners)
        return f"{self.token}: {named or 'nothing'}"


def strongest_partners(
    askers: Sequence[str], asked: Sequence[str], weights: NDArray[np.float32], *, top: int
) -> tuple[StrongestLinks, ...]:
    """Name up to `top` partners of each asker that have any weight.

    >>> print(*strongest_partners(["a"], ["x", "y", "z"], np.array([[0.3, 0.7, 0.0]]), top=3))
    a: y 0.70, x 0.30
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    order = np.argsort(-weights, axis=1, kind="stable")[:, :top]
    return tuple(
        StrongestLinks(
            token,
            row,
            tuple(
                Partner(asked[place], int(place), float(weights[row, place]))
                for place in order[row]
                if weights[row, place] > 0
            ),
        )
        for row, token in enumerate(askers)
    )
