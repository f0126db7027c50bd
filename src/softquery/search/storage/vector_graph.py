"""The file of a usearch graph, checked before usearch maps it.

usearch follows the neighbours of a node without looking where they lead. A neighbour beyond the
last node, or a list that is longer than its place, crashes the process, and a right checksum does
not prevent it: whoever forges a graph also writes its checksum. So the structure of the file is
checked when a segment is opened.

| part | holds |
|---|---|
| matrix | rows and bytes per row as uint32, then the vectors |
| head | 64 bytes: `usearch`, its version, kinds of numbers, counts, width |
| sizes | nodes, neighbours per node, the same on level 0, highest level, first node, as uint64 |
| levels | the level of every node as int16 |
| nodes | each: key as uint64, level as int16, a list of neighbours for every level from 0 on |
| a list | how many neighbours there are as uint32, then places for all that there may be |

N nodes, one per row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
BLOCK = 1 << 16
"""Nodes that are checked at a time."""
MOST_LEVELS = 32
"""A billion nodes have about eight."""
MAGIC = b"usearch"
HEAD_BYTES, SIZES_BYTES, NODE_BYTES, SLOT_BYTES = 64, 40, 10, 4
KINDS = slice(13, 17)
"""Where the head names its metric, and the types of numbers, keys and neighbours."""
OUR_KINDS = b"i\x0c\x0e\x0f"
"""Inner product, float16, uint64, uint32."""
COUNTS = slice(17, 42)
"""Where the head has the nodes, the deleted nodes, the width, and whether keys repeat."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphShape:
    """What the file of a graph must have."""

    num_rows: int
    vector_bytes: int
    connectivity: int
    """Neighbours per node; twice as many on level 0."""

    def list_bytes(self, level: int) -> int:
        """The bytes of a list of neighbours."""
        return SLOT_BYTES * (1 + self.most_neighbours(level))

    def most_neighbours(self, level: int) -> int:
        """The most neighbours that a node has on a level."""
        return self.connectivity if level else 2 * self.connectivity


def check_graph(content: Bytes, shape: GraphShape) -> None:
    """Refuse a file through which usearch could not walk safely.

    Args:
        content: The whole file.
        shape: What it must have.

    Raises:
        ValueError: Something does not fit; the message says what.
    """
    _check_matrix(content, shape)
    rest = content[8 + shape.num_rows * shape.vector_bytes :]
    _check_head(rest[:HEAD_BYTES].tobytes(), shape)
    rest = rest[HEAD_BYTES:]
    sizes = rest[:SIZES_BYTES].view("<u8").tolist() if len(rest) >= SIZES_BYTES else []
    expected = [shape.num_rows, shape.connectivity, shape.most_neighbours(0)]
    if sizes[:3] != expected:
        raise ValueError("the sizes of its graph differ from those of the segment")
    rest = rest[SIZES_BYTES:]
    levels = _levels(rest, shape)
    highest, first = sizes[3:]
    if first >= shape.num_rows or highest != int(levels[first]) or highest != int(levels.max()):
        raise ValueError("its search does not begin at a node of the highest level")
    _check_nodes(rest[2 * shape.num_rows :], levels, shape)


def _check_matrix(content: Bytes, shape: GraphShape) -> None:
    least = 8 + shape.num_rows * shape.vector_bytes + HEAD_BYTES + SIZES_BYTES + 2 * shape.num_rows
    if not shape.num_rows or len(content) < least:
        raise ValueError("it is too short for its nodes")
    if content[:8].view("<u4").tolist() != [shape.num_rows, shape.vector_bytes]:
        raise ValueError("its matrix has another shape than the vectors of the segment")


def _check_head(head: bytes, shape: GraphShape) -> None:
    if not head.startswith(MAGIC) or head[KINDS] != OUR_KINDS:
        raise ValueError("its head is not that of a graph of float16 vectors")
    width = shape.vector_bytes // 2
    counts = b"".join(each.to_bytes(8, "little") for each in (shape.num_rows, 0, width))
    if head[COUNTS] != counts + b"\0":
        raise ValueError("its head has other counts than the segment")


def _levels(rest: Bytes, shape: GraphShape) -> Integers:
    """The level of every node, if the file is as long as all nodes together."""
    levels: Integers = rest[: 2 * shape.num_rows].view("<i2").astype(np.int64)
    if levels.min() < 0 or levels.max() > MOST_LEVELS:
        raise ValueError("its nodes have impossible levels")
    lowest, higher = NODE_BYTES + shape.list_bytes(0), shape.list_bytes(1)
    num_bytes = shape.num_rows * (2 + lowest) + int(levels.sum()) * higher
    if len(rest) != num_bytes:
        raise ValueError("its length differs from that of its nodes together")
    return levels


def _check_nodes(nodes: Bytes, levels: Integers, shape: GraphShape) -> None:
    sizes = NODE_BYTES + shape.list_bytes(0) + shape.list_bytes(1) * levels
    starts = np.cumsum(sizes) - sizes
    _check_keys(_gathered(nodes, starts, NODE_BYTES), levels)
    offset = NODE_BYTES
    for level in range(int(levels.max()) + 1):
        on_level = starts[levels >= level] + offset
        for begin in range(0, len(on_level), BLOCK):
            lists = _gathered(nodes, on_level[begin : begin + BLOCK], shape.list_bytes(level))
            _check_lists(lists.view("<u4"), level, levels)
        offset += shape.list_bytes(level)


def _check_keys(heads: Bytes, levels: Integers) -> None:
    """Every row must be a node, once, and every node must tell its level."""
    keys = heads[:, :8].copy().view("<u8").reshape(-1)
    is_node = np.zeros(len(keys), dtype=np.bool_)
    is_node[keys[keys < len(keys)]] = True
    if not is_node.all():
        raise ValueError("its nodes are not the rows of the segment")
    if not np.array_equal(heads[:, 8:].copy().view("<i2").reshape(-1), levels):
        raise ValueError("the levels of its nodes differ")


def _check_lists(lists: NDArray[np.uint32], level: int, levels: Integers) -> None:
    """Refuse neighbours that are too many, are no nodes, or are not on the level of the list."""
    counts, places = lists[:, :1], lists[:, 1:]
    if int(counts.max()) > places.shape[1]:
        raise ValueError(f"a node has {int(counts.max()):,} neighbours on level {level}")
    neighbours = places[np.arange(places.shape[1]) < counts]
    if bool((neighbours >= len(levels)).any()):
        raise ValueError(f"a neighbour on level {level} is not a node")
    if level and bool((levels[neighbours] < level).any()):
        raise ValueError(f"a neighbour is not on level {level}")


def _gathered(content: Bytes, starts: Integers, num_bytes: int) -> Bytes:
    """Equally long parts of a file, by where each begins: [len(starts), num_bytes]."""
    parts: Bytes = sliding_window_view(content, num_bytes)[starts]
    return parts
