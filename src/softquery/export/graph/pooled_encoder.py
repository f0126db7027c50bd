"""A pooled encoder as one graph: ids of sub-words to a sentence's vector of length one.

B sentences, T tokens, D width of a state, E width of a vector.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import LOWEST, is_before, is_real, rows_of
from softquery.export.graph.builder import Graph
from softquery.export.graph.composition import window_linear
from softquery.export.graph.transformer import encoder_block, lowered_rows, normalised
from softquery.runtime.encode.onnx import ENCODE, EVEN, VECTORS
from softquery.runtime.graph_weights import SCALE

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
TABLE = "embedder.table"
Weights = dict[str, NDArray[Any]]


def encode_graphs(
    weights: Weights, settings: Mapping[str, Any], limits: Mapping[str, float] | None = None
) -> list[Graph]:
    """Ids [B, T] and lengths [B] to vectors [B, E], and the same for sentences of one length.

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model.
        limits: The largest value that each int8 layer reads.
    """
    names = (ENCODE, EVEN) if settings["body"] in WITHOUT_MASKS else (ENCODE,)
    graphs = [Graph(name, weights, limits=limits) for name in names]
    for graph in graphs:
        _add_nodes(graph, settings, is_even=graph.name == EVEN)
    return graphs


def _add_nodes(graph: Graph, settings: Mapping[str, Any], *, is_even: bool) -> None:
    """All of a graph, with masks or without."""
    ids = graph.input("ids", INT, ["B", "T"])
    rows = Rows(graph, ids, None if is_even else graph.input("lengths", TensorProto.INT32, ["B"]))
    states = BODIES[settings["body"]](graph, settings, rows)
    pooled = _beside(graph, [POOLS[pool](graph, states, rows) for pool in settings["pools"]])
    pooled = rows.without_empty(pooled)
    if graph.has("middle.weight"):
        middle = graph.node("Relu", graph.linear(pooled, "middle"))
        pooled = _beside(graph, [pooled, middle])
    vectors = of_length_one(graph, graph.linear(pooled, "output"))
    graph.output(vectors, VECTORS, FLOAT, ["B", settings["output_size"]])


def _beside(graph: Graph, parts: list[str]) -> str:
    return graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def of_length_one(graph: Graph, vectors: str) -> str:
    """Vectors [B, E] by their lengths; zeros stay zeros."""
    return graph.node("LpNormalization", vectors, axis=1, p=2)


class Rows:
    """The sentences of a batch, and which of their tokens are real; each mask is computed once.

    For one short text a node costs more than its numbers, so that there are as few as possible.

    Args:
        graph: To which the nodes are added.
        ids: [B, T].
        lengths: [B]; None where all tokens are real, and nothing needs a mask.
    """

    def __init__(self, graph: Graph, ids: str, lengths: str | None) -> None:
        self.graph, self.ids, self.lengths = graph, ids, lengths

    def zeroed(self, states: str) -> str:
        """States [B, T, D] with zeros at padding."""
        return states if self.lengths is None else self.graph.node("Mul", states, self._real)

    def lowered(self, values: str) -> str:
        """Values [B, T, D], far below any other at padding."""
        return values if self.lengths is None else self.graph.node("Add", values, self._far_below)

    def summed(self, states: str) -> str:
        """The sum over real tokens: [B, D]."""
        axis = self.graph.constant([1], np.int64)
        return self.graph.node("ReduceSum", self.zeroed(states), axis, keepdims=0)

    def told_all(self, states: str, name: str) -> str:
        """States of which each is told the mean of all, by a linear layer: [B, T, D]."""
        if self.lengths is None:
            mean = self.graph.node("ReduceMean", states, axes=[1], keepdims=1)
        else:
            mean = self._unsqueezed(self.mean(states), 1)
        return self.graph.node("Add", states, self.graph.linear(mean, name))

    def mean(self, states: str) -> str:
        """The mean over real tokens: [B, D]."""
        if self.lengths is None:
            return self.graph.node("ReduceMean", states, axes=[1], keepdims=0)
        count = self.graph.node("Max", self._counts, self.graph.constant(1.0, np.float32))
        return self.graph.node("Div", self.summed(states), count)

    def without_empty(self, pooled: str) -> str:
        """Pooled states [B, D], zeros for a sentence without tokens."""
        if self.lengths is None:
            return pooled
        some = self.graph.node("Min", self._counts, self.graph.constant(1.0, np.float32))
        return self.graph.node("Mul", pooled, some)

    @cached_property
    def _counts(self) -> str:
        """The lengths as float32: [B, 1]."""
        return self.graph.node("Cast", self._unsqueezed(self.lengths or "", 1), to=FLOAT)

    @cached_property
    def _is_real(self) -> str:
        """Whether a token is no padding: [B, T, 1]."""
        return self._unsqueezed(is_before(self.graph, self.ids, self._counts), 2)

    @cached_property
    def _real(self) -> str:
        """1 at tokens and 0 at padding: [B, T, 1]."""
        return self.graph.node("Cast", self._is_real, to=FLOAT)

    @cached_property
    def _far_below(self) -> str:
        """0 at tokens, far below any value at padding: [B, T, 1]."""
        values = [self.graph.constant(value, np.float32) for value in (0.0, LOWEST)]
        return self.graph.node("Where", self._is_real, *values)

    def _unsqueezed(self, value: str, axis: int) -> str:
        return self.graph.node("Unsqueeze", value, self.graph.constant([axis], np.int64))


def _static(graph: Graph, settings: Mapping[str, Any], rows: Rows) -> str:
    """The table's rows."""
    return graph.table(rows.ids, TABLE)


def _recurrent(graph: Graph, settings: Mapping[str, Any], rows: Rows) -> str:
    """States of both directions, side by side."""
    steps = graph.table(graph.node("Transpose", rows.ids, perm=[1, 0]), TABLE)
    found = graph.recurrent(steps, rows.lengths or "", "body", limit=_largest(graph.weights))
    return rows_of(graph, found)


def _convolution(graph: Graph, settings: Mapping[str, Any], rows: Rows) -> str:
    """States that have seen their neighbours."""
    states = graph.table(rows.ids, TABLE)
    if graph.has("body.widen.weight"):
        states = graph.linear(states, "body.widen")
    window = settings.get("window", 3)  # bundles from before it could be set have three
    alone = settings["num_layers"] - settings.get("num_context", 0)
    for layer in range(settings["num_layers"]):
        if layer >= alone:
            states = rows.told_all(states, f"body.context.{layer - alone}")
        normed = rows.zeroed(normalised(graph, dict(settings), states, f"body.norms.{layer}"))
        added = window_linear(graph, normed, f"body.layers.{layer}", window)
        states = graph.node("Add", states, graph.node("Relu", added))
    return states


def _transformer(graph: Graph, settings: Mapping[str, Any], rows: Rows) -> str:
    """States after all blocks, normalised."""
    config = {**settings, "norm": "pre", "activation": "gelu"}
    states = graph.table(rows.ids, TABLE)
    if graph.has("body.widen.weight"):
        states = graph.linear(states, "body.widen")
    states = graph.node("Add", states, _positions(graph, rows.ids))
    hidden = lowered_rows(graph, is_real(graph, rows.ids, rows.lengths or ""))
    for layer in range(settings["num_layers"]):
        states, _ = encoder_block(graph, config, states, f"body.blocks.{layer}", hidden)
    return normalised(graph, config, states, "body.norm")


def learned_queries(graph: Graph, states: str, rows: Rows) -> str:
    """Every learned query asks its own part of all states: what comes back, [B, D].

    Each query asks and mixes whole states, and keeps its own part: two products for the whole
    batch, instead of one for every part of every sentence.
    """
    num_queries, size = graph.weights["query.query"].shape
    scores = graph.node("MatMul", graph.node("Tanh", states), _apart(graph, num_queries, size))
    scores = graph.node("Transpose", rows.lowered(scores), perm=[0, 2, 1])  # [B, H, T]
    mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=2), states)  # [B, H, D]
    if num_queries > 1:
        own = np.repeat(np.eye(num_queries, dtype=np.float32), size, axis=1)
        mixed = graph.node("Mul", mixed, graph.array("own_parts", own))
    return graph.node("ReduceSum", mixed, graph.constant([1], np.int64), keepdims=0)


def _apart(graph: Graph, num_queries: int, size: int) -> str:
    """The queries as one matrix [D, H], each beside zeros; computed when the graph is opened."""
    queries = graph.node("Unsqueeze", graph.weight("query.query"), graph.constant([2], np.int64))
    own = np.eye(num_queries, dtype=np.float32)[:, None]
    apart = graph.node("Mul", queries, graph.array("own_query", own))  # [H, D / H, H]
    shape = graph.constant([num_queries * size, num_queries], np.int64)
    return graph.node("Reshape", apart, shape)


def _largest_values(graph: Graph, states: str, rows: Rows) -> str:
    """The largest value over real tokens: [B, D]."""
    return graph.node("ReduceMax", rows.lowered(states), axes=[1], keepdims=0)


def _mean_values(graph: Graph, states: str, rows: Rows) -> str:
    """The mean over real tokens: [B, D]."""
    return rows.mean(states)


BODIES: dict[str, Callable[[Graph, Mapping[str, Any], Rows], str]] = {
    "static": _static,
    "recurrent": _recurrent,
    "convolution": _convolution,
    "transformer": _transformer,
}
"""From ids to states [B, T, D], by the name of what reads them; padding may hold anything."""
WITHOUT_MASKS = ("static", "recurrent", "convolution")
"""The bodies that have a graph without masks as well, for sentences of one length."""
POOLS: dict[str, Callable[[Graph, str, Rows], str]] = {
    "query": learned_queries,
    "max": _largest_values,
    "mean": _mean_values,
}
"""From states to [B, D]; an empty sentence may have anything."""


def _positions(graph: Graph, ids: str) -> str:
    """The vectors of as many positions as there are tokens: [T, D]."""
    name = "body.positions.table"
    zero, length = graph.constant([0], np.int64), graph.node("Shape", ids, start=1, end=2)
    rows = graph.node("Slice", graph.weight(name), zero, length, zero)
    if not graph.has(name + SCALE):
        return rows
    scale = graph.node("Slice", graph.weight(name + SCALE), zero, length, zero)
    scale = graph.node("Unsqueeze", scale, graph.constant([-1], np.int64))
    return graph.node("Mul", graph.node("Cast", rows, to=FLOAT), scale)


def _largest(weights: Weights) -> float:
    """The largest absolute value in the table, which bounds what a recurrent layer reads."""
    scales = weights.get(f"{TABLE}.weight{SCALE}")
    if scales is not None:
        return float(127 * scales.max())
    return float(np.abs(weights[f"{TABLE}.weight"]).max()) or 1.0
