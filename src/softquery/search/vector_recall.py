"""Recall by vectors: the nearest of stored vectors, by a graph where there are many.

Vectors have length one, so that their product is the cosine. They lie in `vectors.bin` as float16;
segments of more than a few thousand rows also have a graph (HNSW, Malkov & Yashunin 2020), which
usearch maps into memory.

N rows, D width.
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.files import FolderWriter, damaged, mapped

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
VECTORS, GRAPH = "vectors.bin", "vectors.usearch"
EXACT_ROWS = 4096
"""So many vectors are looked at one by one; the answer is exact then, and about as quick."""
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 64
"""Neighbours of a node, and how many candidates are kept in mind when adding and searching."""


def write_vectors(
    writer: FolderWriter, vectors: NDArray[np.float16], *, threads: int, is_passing: bool = False
) -> None:
    """Write the vectors of a segment, with a graph where they are many.

    Args:
        writer: Of the segment's folder.
        vectors: [N, D].
        threads: For the graph.
        is_passing: Whether the segment will soon be merged, so that a graph would be for nothing.
    """
    writer.write_array(VECTORS, vectors)
    if len(vectors) > EXACT_ROWS and not is_passing:
        graph = _usearch().Index(
            ndim=vectors.shape[1],
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
            enable_key_lookups=False,
        )
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=threads)
        # By way of memory: written by the library itself, a full disk would not be told apart.
        writer.write(GRAPH, bytes(graph.save()))


class Vectors:
    """The vectors of a segment that was written.

    Args:
        folder: The segment.
        width: D.
    """

    def __init__(self, folder: Path, width: int) -> None:
        self.stored: NDArray[np.float16] = mapped(folder / VECTORS, np.float16).reshape(-1, width)
        self._graph = _open_graph(folder / GRAPH) if (folder / GRAPH).exists() else None
        self._lock = threading.Lock()

    def nearest(self, query: Floats, count: int, allowed: NDArray[np.bool_]) -> tuple[Rows, Floats]:
        """The rows whose vectors are nearest to a query's, nearest first, with their cosines.

        Args:
            query: [D], of length one.
            count: How many at most.
            allowed: Which rows may be found: [N].
        """
        num_allowed = int(allowed.sum())
        if self._graph is not None and num_allowed > EXACT_ROWS:
            return self._by_graph(query, min(count, num_allowed), allowed)
        if num_allowed == len(allowed):
            return _one_by_one(self.stored, query, count)
        rows = np.flatnonzero(allowed)
        places, scores = _one_by_one(self.stored[rows], query, count)
        return rows[places], scores

    def _by_graph(
        self, query: Floats, count: int, allowed: NDArray[np.bool_]
    ) -> tuple[Rows, Floats]:
        """Ask for more and more until enough are allowed."""
        asked = count
        while True:
            with self._lock:
                found = self._graph.search(query, asked, threads=1)  # type: ignore[union-attr]
            rows = np.asarray(found.keys, dtype=np.int64)
            kept = allowed[rows]
            if int(kept.sum()) >= count or asked >= len(allowed):
                scores = 1 - np.asarray(found.distances, dtype=np.float32)
                return rows[kept][:count], scores[kept][:count]
            asked = min(len(allowed), 4 * asked)


def _one_by_one(vectors: NDArray[np.float16], query: Floats, count: int) -> tuple[Rows, Floats]:
    """The nearest of some vectors, every one looked at; by one thread, as others may search, too.

    numpy would turn all of them into float32 first, and its own threads wait for each other.
    """
    count = min(count, len(vectors))
    if not count:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    wanted = query.astype(np.float16)
    found = _usearch().search(vectors, wanted, count, "ip", exact=True, threads=1)
    distances = np.asarray(found.distances, dtype=np.float32)
    rows = np.asarray(found.keys, dtype=np.int64)
    order = np.lexsort((rows, distances))  # equal ones in the order of the rows
    return rows[order], 1 - distances[order]


def _open_graph(path: Path) -> Any:
    try:
        graph = _usearch().Index.restore(path, view=True, enable_key_lookups=False)
    except Exception as error:  # the library raises several kinds, none of them public
        raise damaged(path, " ".join(str(error).split())[:200]) from None
    if graph is None:
        raise damaged(path, "is no graph")
    graph.expansion_search = EXPANSION_SEARCH
    return graph


def _usearch() -> Any:
    import onnxruntime  # noqa: F401  (2.26 of usearch makes a later import of this one crash)
    import usearch.index  # slow to import, and optional

    return usearch.index
