"""Recall by vectors: the nearest of the stored vectors, found by a graph if there are very many.

Vectors have length one, so that their dot product is the cosine. `vectors.bin` holds them as
float16; segments of more than a few thousand rows also have a graph (HNSW, Malkov & Yashunin 2020),
which usearch maps into memory. Up to `SCANNED_ROWS` in the whole index, all vectors are looked at.

N rows, D width.
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.index_files import (
    FolderWriter,
    check_count,
    check_finite,
    damaged,
    mapped,
)
from softquery.search.storage.vector_graph import GraphShape, check_graph
from softquery.search.storage.vector_scan import SCANNED_ROWS, VectorScan

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
VECTORS, GRAPH = "vectors.bin", "vectors.usearch"
EXACT_ROWS = 4096
"""Up to so many vectors are compared one by one, which is about as fast as anything else."""
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 64
"""Neighbours per node (twice as many on the lowest level), and the candidates kept while adding and
while searching."""


def write_vectors(
    writer: FolderWriter, vectors: NDArray[np.float16], *, threads: int, is_temporary: bool = False
) -> None:
    """Write the vectors of a segment, and a graph if there are many.

    Args:
        writer: Writes into the segment's folder.
        vectors: [N, D].
        threads: Threads that build the graph.
        is_temporary: Whether the segment will soon be merged, so that a graph would be wasted.
    """
    writer.write_array(VECTORS, vectors)
    if len(vectors) > EXACT_ROWS and not is_temporary:
        graph = new_graph(vectors.shape[1])
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=threads)
        # Through memory: when usearch writes the file itself, it does not report a full disk.
        writer.write(GRAPH, bytes(graph.save()))


def new_graph(width: int) -> Any:
    """An empty graph of usearch for vectors of a width."""
    return _usearch().Index(
        ndim=width,
        metric="ip",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
        enable_key_lookups=False,
    )


class VectorIndex:
    """The vectors of a stored segment.

    Args:
        folder: The segment.
        num_rows: N.
        width: D.
        has_graph: Whether it was written with a graph.

    Raises:
        InputError: The files do not fit together.
    """

    def __init__(self, folder: Path, num_rows: int, width: int, *, has_graph: bool) -> None:
        stored = mapped(folder / VECTORS, np.float16)
        check_count(folder / VECTORS, len(stored), num_rows * width, "numbers")
        check_finite(folder / VECTORS, stored)
        self.stored: NDArray[np.float16] = stored.reshape(-1, width)
        self._graph = _open_graph(folder / GRAPH, num_rows, width) if has_graph else None
        self._lock = threading.Lock()
        self._scan: VectorScan | None = None

    def nearest(
        self, query: Floats, count: int, allowed: NDArray[np.bool_], *, num_rows: int
    ) -> tuple[Rows, Floats]:
        """The rows whose vectors are nearest to that of a query, nearest first, with their cosines.

        Args:
            query: [D], of length one.
            count: The most rows to return.
            allowed: Which rows may be found: [N].
            num_rows: Rows of the whole index; they say whether all vectors are looked at.
        """
        num_allowed = int(np.count_nonzero(allowed))
        if num_allowed > EXACT_ROWS:
            if num_rows <= SCANNED_ROWS:
                rows = self._all().likeliest(query, count, allowed)
                return self._among(rows, query, count)
            if self._graph is not None:
                return self._by_graph(query, min(count, num_allowed), allowed)
        if num_allowed == len(allowed):
            return _one_by_one(self.stored, query, count)
        return self._among(np.flatnonzero(allowed), query, count)

    def _among(self, rows: Rows, query: Floats, count: int) -> tuple[Rows, Floats]:
        """The nearest of some rows."""
        places, scores = _one_by_one(self.stored[rows], query, count)
        return rows[places], scores

    def _all(self) -> VectorScan:
        """The vectors in eight bits, which are made when they are first needed."""
        with self._lock:
            if self._scan is None:
                _usearch()  # before the library of its kernels, which it brings
                self._scan = VectorScan(self.stored)
            return self._scan

    def _by_graph(
        self, query: Floats, count: int, allowed: NDArray[np.bool_]
    ) -> tuple[Rows, Floats]:
        """Ask the graph for more and more rows until enough of them are allowed."""
        wanted_count = count
        while True:
            with self._lock:
                found = self._graph.search(query, wanted_count, threads=1)  # type: ignore[union-attr]
            rows = np.asarray(found.keys, dtype=np.int64)
            kept = allowed[rows]
            if int(kept.sum()) >= count or wanted_count >= len(allowed):
                scores = 1 - np.asarray(found.distances, dtype=np.float32)
                return rows[kept][:count], scores[kept][:count]
            wanted_count = min(len(allowed), 4 * wanted_count)


def _one_by_one(vectors: NDArray[np.float16], query: Floats, count: int) -> tuple[Rows, Floats]:
    """The nearest of some vectors by comparing each; in one thread, because others search as well.

    numpy would first convert all of them to float32, and its own threads wait for each other.
    """
    count = min(count, len(vectors))
    if not count:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    wanted = query.astype(np.float16)
    found = _usearch().search(vectors, wanted, count, "ip", exact=True, threads=1)
    distances = np.asarray(found.distances, dtype=np.float32)
    rows = np.asarray(found.keys, dtype=np.int64)
    order = np.lexsort((rows, distances))  # ties in the order of the rows
    return rows[order], 1 - distances[order]


def _open_graph(path: Path, num_rows: int, width: int) -> Any:
    """A graph that usearch maps into memory, after its structure was checked."""
    content = mapped(path, np.uint8)
    shape = GraphShape(num_rows=num_rows, vector_bytes=2 * width, connectivity=CONNECTIVITY)
    try:
        check_graph(content, shape)
        graph = _usearch().Index.restore(path, view=True, enable_key_lookups=False)
    except Exception as error:  # usearch raises several types, none of them public
        raise damaged(path, " ".join(str(error).split())[:200]) from None
    if graph is None:
        raise damaged(path, "not a graph")
    graph.expansion_search = EXPANSION_SEARCH
    return graph


def _usearch() -> Any:
    import onnxruntime  # noqa: F401  (imported after usearch 2.26, it crashes)
    import usearch.index  # slow to import, and optional

    return usearch.index
