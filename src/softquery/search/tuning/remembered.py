"""Labelled queries that an index remembers: what was asked like this, and what answered it.

M remembered queries, N rows, D width of a vector.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WARMTH = 0.06
"""Of the votes of remembered queries: how much nearer a query must be to count e times as much."""
NEAR = 0.7
"""The cosine of a query that counts as much as all that is not known."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """Queries that were labelled.

    Attributes:
        vectors: Theirs, of length one: [M, D].
        relevant: The ids of the rows that answer each of them; none if the index has no answer.
    """

    vectors: NDArray[np.float32]
    relevant: Sequence[Sequence[str]]
    by_id: dict[str, list[int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, list[int]] = defaultdict(list)
        for number, ids in enumerate(self.relevant):
            for key in ids:
                found[key].append(number)
        object.__setattr__(self, "by_id", dict(found))

    def __len__(self) -> int:
        return len(self.relevant)

    def in_vain(self) -> NDArray[np.bool_]:
        """Which queries had no answer: [M]."""
        return np.array([not ids for ids in self.relevant], dtype=np.bool_)

    def cosines(self, vector: NDArray[np.float32]) -> Floats:
        """Of a query with each of those remembered: [M]."""
        found: Floats = (self.vectors @ vector).astype(np.float64)
        return found

    def voters(self, ids: Sequence[str], answer: NDArray[np.int64]) -> "Voters":
        """Which remembered queries speak for which answer of some rows.

        Args:
            ids: Those of the rows: [N].
            answer: The number of each row's answer: [N].
        """
        pairs = {
            (number, int(answer[row]))
            for row, key in enumerate(ids)
            for number in self.by_id.get(key, ())
        }
        flat = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        return Voters(flat[:, 0], flat[:, 1], answer)


@dataclass(frozen=True, slots=True)
class Voters:
    """Remembered queries, each with an answer that it speaks for.

    Attributes:
        query: Numbers of remembered queries.
        voted: The answer that each of these speaks for.
        answer: The number of each row's answer: [N].
    """

    query: NDArray[np.int64]
    voted: NDArray[np.int64]
    answer: NDArray[np.int64]

    def shares(self, weights: Floats) -> Floats:
        """The votes for each row's answer: [N].

        >>> voters = Voters(np.array([0, 1]), np.array([0, 0]), np.array([0, 1]))
        >>> voters.shares(np.array([0.5, 0.2])).tolist()
        [0.7, 0.0]
        """
        count = int(self.answer.max(initial=-1)) + 1
        sums = np.bincount(self.voted, weights[self.query], count)
        found: Floats = sums[self.answer].astype(np.float64)
        return found


def vote_weights(cosines: Floats) -> Floats:
    """What each remembered query counts: [M]; with what is not known, at most 1 together.

    >>> vote_weights(np.array([1.0, 0.2])).round(2).tolist()
    [0.99, 0.0]
    """
    weights = np.exp((cosines - 1) / WARMTH)
    found: Floats = weights / (weights.sum() + np.exp((NEAR - 1) / WARMTH))
    return found
