"""What it costs to check an index when it is opened: all of a segment, and its parts.

    python benchmarks search opening [--rows 50000 1000000] [--width 256 32] [--repeats 5]

Segments of random words, vectors and encodings are written to a temporary folder, so that no model
and no data are needed. The files are in memory, as they are when an index is opened again. Prints
one JSON object per segment, with the best time of each part in seconds.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from softquery.search.storage.cells import Cells
from softquery.search.storage.encodings import Encodings
from softquery.search.storage.index_files import check_files, mapped
from softquery.search.storage.segment import (
    EncodedRows,
    Segment,
    SegmentShape,
    read_facts,
    write_segment,
)
from softquery.search.storage.vector_graph import GraphShape, check_graph
from softquery.search.storage.vector_recall import CONNECTIVITY, GRAPH, VectorIndex
from softquery.search.storage.word_recall import WordIndex

CHUNK, WORDS, TOKENS, ENCODING_SIZE = 10_000, 20_000, 6, 32


def rows(count: int, width: int) -> Iterator[EncodedRows]:
    """Random rows, a chunk at a time."""
    draw = np.random.default_rng(1)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        words = [[f"w{word}" for word in row] for row in draw.integers(0, WORDS, (size, TOKENS))]
        values = [
            {"id": str(start + place), "question": " ".join(row), "answer": "yes " * 10}
            for place, row in enumerate(words)
        ]
        vectors = draw.normal(size=(size, width)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        encodings = draw.normal(size=(size, TOKENS, ENCODING_SIZE)).astype(np.float32)
        yield EncodedRows(values, words, vectors, list(encodings))


def best(repeats: int, work: Callable[[], object]) -> float:
    """The shortest of several times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(min(times), 4)


def measured(folder: Path, count: int, width: int, repeats: int) -> dict[str, object]:
    """Seconds of opening one segment, and of the parts of it."""
    shape = SegmentShape(
        columns=("id", "question", "answer"),
        precision="int8",
        vector_size=width,
        encoding_size=ENCODING_SIZE,
        is_flat=False,
    )
    place = folder / "000001-00000000"
    entry = write_segment(place, rows(count, width), shape=shape, threads=2)
    _, files = read_facts(place / "segment.json", entry)
    graph = GraphShape(num_rows=count, vector_bytes=2 * width, connectivity=CONNECTIVITY)
    content = mapped(place / GRAPH, np.uint8)
    parts: dict[str, Callable[[], object]] = {
        "whole": lambda: Segment(place, entry),
        "checksums": lambda: check_files(place, files, by_size=("encodings.bin",)),
        "texts": lambda: Cells(place, shape.columns, count),
        "words": lambda: WordIndex(place, count),
        "encodings": lambda: Encodings(place, "int8", ENCODING_SIZE, count, is_flat=False),
        "vectors and graph": lambda: VectorIndex(place, count, width, has_graph=True),
        "of which structure of the graph": lambda: check_graph(content, graph),
    }
    seconds = {name: best(repeats, work) for name, work in parts.items()}
    size = sum(path.stat().st_size for path in place.iterdir())
    return {"rows": count, "width": width, "megabytes": size // 2**20, "seconds": seconds}


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 1_000_000])
    parser.add_argument("--width", type=int, nargs="+", default=[256, 32])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    for count, width in zip(given.rows, given.width, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measured(Path(folder), count, width, given.repeats)), flush=True)


if __name__ == "__main__":
    main()
