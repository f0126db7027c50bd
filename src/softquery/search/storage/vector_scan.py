"""The nearest of some hundred thousand vectors, all of which are looked at.

A graph of neighbours misses some of the nearest rows, and another graph of the same rows, such as
that of a database, misses others. A scan misses none. It compares the query with a copy of all
vectors in eight bits, of which a processor reads a hundred thousand in about a millisecond; the
caller then compares the best of them, somewhat more than it needs, with the vectors themselves.

N rows, D width, K rows that are asked for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.index_files import BLOCK

SCANNED_ROWS = 1 << 17
"""Rows of an index up to which searches look at all vectors; beyond, a graph is faster."""
SPARE = 100
"""Rows beyond twice as many as are asked for. Among 100,000 questions of random words, the hardest
case, 68 held the true 50 of every query that was tried."""
SAMPLED = 4096
"""Rows that tell the centre, and how far components are from it."""
DEVIATIONS = 8
"""Standard deviations that eight bits cover on either side."""
LARGEST = 127
Floats = NDArray[np.float32]


class VectorScan:
    """All vectors of a segment in eight bits.

    With c the centre of all v, the product q·v is (q - c)·(v - c) + c·(v - c) + q·c. The last part
    is the same for all rows, the second is kept per row in full, and only the first, which is small
    where rows are alike, is computed from eight bits. Each component has a scale of its own. Rows
    too far out for it, of which there are few, are always among the likeliest.

    Args:
        vectors: [N, D], N at least one.
    """

    def __init__(self, vectors: NDArray[np.float16]) -> None:
        sample = vectors[:: max(1, len(vectors) // SAMPLED)].astype(np.float32)
        self._centre: Floats = sample.mean(axis=0)
        self._scale: Floats = np.maximum(sample.std(axis=0), 1e-9) * (DEVIATIONS / LARGEST)
        self._own: Floats = np.empty(len(vectors), dtype=np.float32)  # c·(v - c)
        stored = np.empty(vectors.shape, dtype=np.int8)
        is_far = np.zeros(len(vectors), dtype=np.bool_)
        step = max(1, BLOCK // vectors.shape[1])
        for start in range(0, len(vectors), step):
            part = vectors[start : start + step] - self._centre
            self._own[start : start + step] = part @ self._centre
            scaled = part / self._scale
            is_far[start : start + step] = np.abs(scaled).max(axis=1) > LARGEST
            stored[start : start + step] = np.rint(np.clip(scaled, -LARGEST, LARGEST))
        self._far = np.flatnonzero(is_far)
        self._packed = _kernels().dots_pack(stored)

    def likeliest(self, query: Floats, count: int, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows among which the nearest are, in the order of the rows.

        Args:
            query: [D].
            count: K.
            allowed: Which rows may be found: [N].
        """
        asked = self._scale * (query - self._centre)
        unit = np.float32(max(float(np.abs(asked).max()), 1e-30) / LARGEST)
        rounded = np.rint(asked / unit).astype(np.int8)[None]
        dots = np.asarray(_kernels().dots_packed(rounded, self._packed)).reshape(-1)
        cosines = dots * unit + self._own  # but for q·c
        places = np.flatnonzero(allowed)
        if len(places) < len(cosines):
            cosines = cosines[places]
        num_kept = 2 * count + SPARE
        if num_kept < len(cosines):
            kept = np.argpartition(cosines, len(cosines) - num_kept)[len(cosines) - num_kept :]
            far = self._far[allowed[self._far]]
            places = np.union1d(places[kept], far)
        return places


def _kernels() -> Any:
    import numkong  # comes with usearch, and is optional as that is

    return numkong
