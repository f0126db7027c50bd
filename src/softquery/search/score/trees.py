"""A sum of small trees over features, as arrays: what the score of search is made of.

Every tree asks the same question of all rows at each of its levels (oblivious trees, Prokhorenkova
et al. 2018, Section 4), so that its answers are the bits of a number, and the number is the leaf.
A feature that is missing answers no.

N rows, F features, T trees, L levels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trees:
    """A sum of trees.

    Attributes:
        base: What is added to the sum.
        features: Which feature each level asks about: [T, L].
        thresholds: Whether it is above this: [T, L].
        leaves: What each tree adds to the sum: [T, 2 ** L].

    >>> trees = Trees(0.5, np.array([[0]]), np.array([[2.0]]), np.array([[-1.0, 1.0]]))
    >>> trees.sums(np.array([[1.0], [3.0], [np.nan]])).tolist()
    [-0.5, 1.5, -0.5]
    """

    base: float
    features: NDArray[np.int64]
    thresholds: Floats
    leaves: Floats

    def sums(self, rows: Floats) -> Floats:
        """The sum over all trees, for each of some rows [N, F]: [N]."""
        is_above = rows[:, self.features] > self.thresholds  # [N, T, L]
        leaf = is_above @ (1 << np.arange(self.features.shape[1]))  # [N, T]
        added: Floats = self.leaves[np.arange(len(self.leaves)), leaf].sum(axis=1)
        return self.base + added
