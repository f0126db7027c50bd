"""Search forged graphs, each in a fork of its own; run in a process of its own.

    python forged_graphs.py FOLDER SEED COUNT [unchecked]

One line of JSON a graph says how it was forged and what became of it. With `unchecked`, usearch
gets the graphs as they are: that shows which of them would crash.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np

import softquery.runtime.graphs  # noqa: F401  (ONNX Runtime must be imported before usearch)
from softquery.errors import InputError
from softquery.search.storage import vector_recall
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.vector_recall import GRAPH, VectorIndex, write_vectors

NUM_ROWS, SIZE = 1500, 8
START = 8 + 2 * NUM_ROWS * SIZE
"""Where the vectors end and the head begins."""
LEVELS = START + 104
NODES = LEVELS + 2 * NUM_ROWS
LIMIT = 20
"""Seconds after which a search counts as endless."""


def forge(content: bytearray, draw: random.Random) -> str:
    """Change a graph, and say how."""
    kind = draw.choice(list(FORGERIES))
    FORGERIES[kind](content, draw)
    return kind


def _put(content: bytearray, place: int, value: int, width: int) -> None:
    content[place : place + width] = (value % (1 << 8 * width)).to_bytes(width, "little")


def _starts(content: bytearray) -> np.ndarray:
    levels = np.frombuffer(bytes(content[LEVELS:NODES]), dtype="<i2").astype(np.int64)
    sizes = 142 + 68 * levels
    return NODES + np.cumsum(sizes) - sizes


def _number(draw: random.Random) -> int:
    return draw.choice([0, 1, 2**31, 2**32 - 1, NUM_ROWS, NUM_ROWS + 1, draw.getrandbits(32)])


def neighbours(content: bytearray, draw: random.Random) -> None:
    """Neighbours of all nodes lead somewhere else."""
    for start in _starts(content):
        _put(content, int(start) + 14 + 4 * draw.randrange(8), _number(draw), 4)


def counts(content: bytearray, draw: random.Random) -> None:
    """Nodes have more neighbours than fit."""
    for start in _starts(content):
        _put(content, int(start) + 10, draw.choice([33, 1000, 2**31, draw.getrandbits(32)]), 4)


def upper_levels(content: bytearray, draw: random.Random) -> None:
    """On upper levels, neighbours are nodes that are not there."""
    levels = np.frombuffer(bytes(content[LEVELS:NODES]), dtype="<i2")
    for start in _starts(content)[levels > 0]:
        for place in range(16):
            _put(content, int(start) + 146 + 4 * place, draw.randrange(NUM_ROWS), 4)
        _put(content, int(start) + 142, 16, 4)


def levels(content: bytearray, draw: random.Random) -> None:
    """Nodes are on other levels."""
    for node in draw.sample(range(NUM_ROWS), 40):
        _put(content, LEVELS + 2 * node, draw.choice([1, 2, 5, 300, -1, 32767]), 2)


def entry(content: bytearray, draw: random.Random) -> None:
    """The search begins at another node, or on another level."""
    _put(content, START + 64 + draw.choice([24, 32]), _number(draw), 8)


def sizes(content: bytearray, draw: random.Random) -> None:
    """The head has other numbers."""
    place = START + draw.choice([*range(13, 17), 17, 25, 33, 64, 72, 80])
    _put(content, place, _number(draw), draw.choice([1, 4, 8]))


def matrix(content: bytearray, draw: random.Random) -> None:
    """The matrix of vectors has another shape."""
    _put(content, draw.choice([0, 4]), _number(draw), 4)


def keys(content: bytearray, draw: random.Random) -> None:
    """Nodes are other rows."""
    for start in _starts(content)[: draw.randrange(1, NUM_ROWS)]:
        _put(content, int(start), draw.choice([0, NUM_ROWS, 2**63, 2**64 - 1]), 8)


def length(content: bytearray, draw: random.Random) -> None:
    """The file ends earlier or later."""
    if draw.random() < 0.3:
        content += draw.randbytes(draw.choice([1, 142, 5000]))
    else:
        del content[draw.randrange(len(content)) :]


def some_bytes(content: bytearray, draw: random.Random) -> None:
    """Bytes behind the vectors are changed."""
    for _ in range(draw.choice([1, 10, 1000, 50_000])):
        content[draw.randrange(START, len(content))] = draw.getrandbits(8)


def all_ones(content: bytearray, draw: random.Random) -> None:
    """A stretch of the file is 0xff."""
    begin = draw.randrange(len(content))
    end = min(len(content), begin + draw.choice([4, 1000, len(content)]))
    content[begin:end] = b"\xff" * (end - begin)


FORGERIES = {
    each.__name__: each
    for each in (
        neighbours, counts, upper_levels, levels, entry, sizes, matrix, keys, length, some_bytes,
        all_ones,
    )
}  # fmt: skip


def searched(folder: Path, queries: np.ndarray) -> str:
    """What becomes of a graph in a fork: refused, searched, failed, or ended by a signal."""
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            index = VectorIndex(folder, NUM_ROWS, SIZE, has_graph=True)
            for query in queries:
                rows, _ = index.nearest(query, 20, np.ones(NUM_ROWS, dtype=bool), num_rows=10**9)
                assert len(set(rows.tolist())) == len(rows)
                index.nearest(query, 5, np.arange(NUM_ROWS) % 2 == 0, num_rows=10**9)
            os._exit(0)
        except InputError as error:
            os._exit(2 if GRAPH in str(error) and "\n" not in str(error) else 3)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(9)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return {0: "searched", 2: "refused"}.get(os.WEXITSTATUS(status), "failed")


def main() -> None:
    folder, seed, count = Path(sys.argv[1]), *map(int, sys.argv[2:4])
    if "unchecked" in sys.argv:
        vector_recall.check_graph = lambda content, shape: None
    vector_recall.EXACT_ROWS = 100
    vectors = np.random.default_rng(seed).normal(size=(NUM_ROWS, SIZE))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write_vectors(FolderWriter(folder), vectors.astype(np.float16), threads=1)
    sound = (folder / GRAPH).read_bytes()
    queries = vectors[:20].astype(np.float32)
    print(json.dumps({"kind": "sound", "became": searched(folder, queries)}))
    draw = random.Random(seed)
    for _ in range(count):
        content = bytearray(sound)
        kind = forge(content, draw)
        kind = "unchanged" if content == sound else kind
        (folder / GRAPH).write_bytes(content)
        print(json.dumps({"kind": kind, "became": searched(folder, queries)}))


if __name__ == "__main__":
    main()
