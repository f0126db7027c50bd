"""The nearest of some hundred thousand vectors, all of which are looked at.

A graph of neighbours misses some of the nearest rows, and another graph of the same rows, such as
that of a database, misses others. A scan misses next to none. It compares the query with a copy of
the vectors in eight bits, of their most telling components alone, because what takes time is to
read them; the caller then compares the best, many more than it needs, with the vectors themselves.

N rows, D width, K rows that are asked for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.index_files import BLOCK

SCANNED_ROWS = 1 << 17
"""Rows of an index up to which searches look at all vectors; beyond, a graph is faster."""
MORE, SPARE = 8, 600
"""How many times as many rows are kept as are asked for, and how many beyond: 1,000 for the usual
50. Among 100,000 questions of random words, the hardest case, 817 held the true 50 of each of 200
queries; among as many that people asked, 477."""
SHARE = 0.85
"""The share of all variance that the components have which are looked at."""
BLOCK_ROWS = 8
"""Rows of a block; where only the highest are wanted, the highest of each block says much."""
TOGETHER = 64
"""Components that are read together: their number is a multiple of this."""
SAMPLED = 4096
"""Rows that tell the centre, and how far components are from it."""
DEVIATIONS = 8
"""Standard deviations that eight bits cover on either side."""
FAR = 4
"""How many times as much as usual the other components may come to."""
LARGEST = 127
Floats = NDArray[np.float32]


class VectorScan:
    """The vectors of a segment in eight bits.

    With c the centre of all v, the product q·v is (q - c)·(v - c) + c·(v - c) + q·c. The last part
    is the same for all rows, the second is kept per row in full, and only the first, which is small
    where rows are alike, is estimated. Rows that are too far out for it, of which there are few,
    are always among the likeliest.

    Args:
        vectors: [N, D], N at least one.
    """

    def __init__(self, vectors: NDArray[np.float16]) -> None:
        sample = vectors[:: max(1, len(vectors) // SAMPLED)].astype(np.float32)
        centre: Floats = sample.mean(axis=0)
        spread: Floats = sample.std(axis=0)
        looked_at = telling(spread**2)
        scale = np.maximum(spread[looked_at], 1e-9) * np.float32(DEVIATIONS / LARGEST)
        self._looked_at, self._centre, self._scale = looked_at, centre[looked_at], scale
        self._own: Floats = np.empty(len(vectors), dtype=np.float32)  # c·(v - c)
        usual = float((spread**2).sum() - (spread[looked_at] ** 2).sum())
        stored = np.empty((len(vectors), len(looked_at)), dtype=np.int8)
        is_far = np.zeros(len(vectors), dtype=np.bool_)
        step = max(1, BLOCK // vectors.shape[1])
        for start in range(0, len(vectors), step):
            rows = slice(start, start + step)
            part = vectors[rows] - centre
            self._own[rows] = part @ centre
            others = np.delete(part, looked_at, axis=1)
            scaled = part[:, looked_at] / scale
            is_far[rows] = np.abs(scaled).max(axis=1) > LARGEST
            is_far[rows] |= np.square(others).sum(axis=1) > FAR**2 * usual + 1e-6
            stored[rows] = np.rint(np.clip(scaled, -LARGEST, LARGEST))
        self._far = np.flatnonzero(is_far)
        self._packed = _kernels().dots_pack(stored)

    def likeliest(self, query: Floats, count: int, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows among which the nearest are, in the order of the rows.

        Args:
            query: [D].
            count: K.
            allowed: Which rows may be found: [N].
        """
        num_kept, num_allowed = MORE * count + SPARE, int(np.count_nonzero(allowed))
        if num_kept >= num_allowed:
            return np.flatnonzero(allowed)
        asked = self._scale * (query[self._looked_at] - self._centre)
        unit = np.float32(max(float(np.abs(asked).max()), 1e-30) / LARGEST)
        rounded = np.rint(asked / unit).astype(np.int8)[None]
        dots = np.asarray(_kernels().dots_packed(rounded, self._packed)).reshape(-1)
        cosines = dots.astype(np.float32)  # but for q·c
        cosines *= unit
        cosines += self._own
        cosines[self._far] = np.inf
        if num_allowed < len(allowed):
            cosines[~allowed] = -np.inf
        return highest_rows(cosines, min(num_allowed, num_kept + len(self._far)))


def highest_rows(values: Floats, count: int) -> NDArray[np.int64]:
    """The places of the highest values, in their order; of equal ones at the edge, any.

    The values are cut into blocks, and so many of these have a highest value that reaches some edge
    that nothing below it needs to be looked at.

    >>> highest_rows(np.array([3, 1, 2, 5], dtype=np.float32), 2).tolist()
    [0, 3]
    """
    rows = np.arange(len(values))
    num_blocks = len(values) // BLOCK_ROWS
    if num_blocks > count:
        tops = values[: num_blocks * BLOCK_ROWS].reshape(BLOCK_ROWS, num_blocks).max(axis=0)
        edge = np.partition(tops, num_blocks - count)[num_blocks - count]
        rows = np.flatnonzero(values >= edge)
        values = values[rows]
    if count < len(rows):
        rows = rows[np.sort(np.argpartition(values, len(rows) - count)[len(rows) - count :])]
    return rows


def telling(variances: Floats) -> NDArray[np.int64]:
    """The components that vary most, as many as have most of all variance, in their order.

    >>> telling(np.array([9.0] * 70 + [0.1] * 200, dtype=np.float32)).tolist() == list(range(64))
    True
    """
    order = np.argsort(-variances, kind="stable")
    shares = np.cumsum(variances[order]) / max(float(variances.sum()), 1e-30)
    needed = int(np.searchsorted(shares, SHARE)) + 1
    rounded = -(-needed // TOGETHER) * TOGETHER
    found: NDArray[np.int64] = np.sort(order[:rounded])
    return found


def _kernels() -> Any:
    import numkong  # of the extra [search], as usearch is

    return numkong
