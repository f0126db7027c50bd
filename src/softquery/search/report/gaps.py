"""Gaps: queries that mean about the same, and that no row answers.

Clusters are those of Butina (1999): the query with most near neighbours takes them all, then the
next of those that are left. N queries, D width of a vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MOST_QUERIES = 4000
"""Queries that are looked at; every pair of them is compared."""
LEAST_COSINE, MOST_COSINE = 0.5, 0.75
"""Between these the index itself says how near is near: see `near_enough`."""
CHUNK = 512


@dataclass(frozen=True, slots=True)
class Cluster:
    """Queries that mean about the same: their places, the most typical first."""

    members: list[int]


def near_enough(nearest: float) -> float:
    """The cosine from which two queries are of one cluster.

    Args:
        nearest: The mean cosine of a stored row and the row nearest to it.

    >>> near_enough(0.62), near_enough(0.9)
    (0.62, 0.75)
    """
    return float(min(max(nearest, LEAST_COSINE), MOST_COSINE))


def find_clusters(vectors: Floats, least: float) -> list[Cluster]:
    """Clusters of at least two, the largest first.

    Args:
        vectors: Of length one: [N, D].
        least: The cosine from which two are near.

    >>> a, b = [1.0, 0.0], [0.0, 1.0]
    >>> find_clusters(np.array([a, b, a, b, b], dtype=np.float32), 0.9)
    [Cluster(members=[1, 3, 4]), Cluster(members=[0, 2])]
    """
    neighbours, closeness = _neighbours(vectors, least)
    order = sorted(range(len(vectors)), key=lambda place: (-len(neighbours[place]), place))
    is_free = np.ones(len(vectors), dtype=np.bool_)
    found = []
    for place in order:
        if not is_free[place]:
            continue
        mine = [
            (-close, other)
            for other, close in zip(neighbours[place], closeness[place], strict=True)
            if is_free[other] and other != place
        ]
        members = [place, *(other for _, other in sorted(mine))]
        is_free[members] = False
        if len(members) > 1:
            found.append(Cluster(members))
    return sorted(found, key=lambda each: (-len(each.members), each.members[0]))


def _neighbours(vectors: Floats, least: float) -> tuple[list[list[int]], list[list[float]]]:
    """The places that are near to each, with their cosines."""
    places: list[list[int]] = []
    cosines: list[list[float]] = []
    for start in range(0, len(vectors), CHUNK):
        block = vectors[start : start + CHUNK] @ vectors.T
        for row in block:
            near = np.flatnonzero(row >= least)
            places.append(near.tolist())
            cosines.append(row[near].tolist())
    return places, cosines


def drawn(places: Sequence[int], most: int = MOST_QUERIES) -> list[int]:
    """So many of some places, evenly spread.

    >>> drawn([1, 2, 3, 4, 5], 3)
    [1, 3, 5]
    """
    if len(places) <= most:
        return list(places)
    return [places[each] for each in np.linspace(0, len(places) - 1, most).astype(int)]
