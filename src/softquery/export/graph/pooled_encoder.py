"""A pooled encoder as one graph: ids of sub-words to a sentence's vector of length one.

B sentences, T tokens, D width of a state, E width of a vector.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.attentive import learned_query
from softquery.export.graph.blocks import is_real, masked_softmax, max_pool, mean_pool, rows_of
from softquery.export.graph.builder import Graph
from softquery.export.graph.composition import with_neighbours
from softquery.export.graph.transformer import encoder_block, lowered_rows, normalised
from softquery.runtime.encode.onnx import ENCODE, VECTORS
from softquery.runtime.graph_weights import SCALE

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
TABLE = "embedder.table"
SMALLEST = 1e-12
"""Below which a vector's length counts as this, as in torch."""
Weights = dict[str, NDArray[Any]]


def encode_graph(
    weights: Weights, settings: Mapping[str, Any], limits: Mapping[str, float] | None = None
) -> Graph:
    """Ids [B, T] and lengths [B] to vectors [B, E].

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model.
        limits: The largest value that each int8 layer reads.
    """
    graph = Graph(ENCODE, weights, limits=limits)
    ids = graph.input("ids", INT, ["B", "T"])
    lengths = graph.input("lengths", TensorProto.INT32, ["B"])
    states = BODIES[settings["body"]](graph, settings, ids, lengths)
    pooled = [POOLS[pool](graph, states, lengths) for pool in settings["pools"]]
    if graph.has("middle.weight"):
        pooled.append(graph.node("Relu", graph.linear(_beside(graph, pooled), "middle")))
    vectors = of_length_one(graph, graph.linear(_beside(graph, pooled), "output"))
    graph.output(vectors, VECTORS, FLOAT, ["B", settings["output_size"]])
    return graph


def _beside(graph: Graph, parts: list[str]) -> str:
    return graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def of_length_one(graph: Graph, vectors: str) -> str:
    """Vectors [B, E] by their lengths."""
    length = graph.node("ReduceL2", vectors, axes=[1], keepdims=1)
    return graph.node(
        "Div", vectors, graph.node("Max", length, graph.constant(SMALLEST, np.float32))
    )


def _static(graph: Graph, settings: Mapping[str, Any], ids: str, lengths: str) -> str:
    """The table's rows, zeros at padding."""
    return _real_rows(graph, graph.table(ids, TABLE), lengths)


def _recurrent(graph: Graph, settings: Mapping[str, Any], ids: str, lengths: str) -> str:
    """States of both directions, side by side."""
    steps = graph.table(graph.node("Transpose", ids, perm=[1, 0]), TABLE)
    found = graph.recurrent(steps, lengths, "body", limit=_largest(graph.weights))
    return rows_of(graph, found)


def _convolution(graph: Graph, settings: Mapping[str, Any], ids: str, lengths: str) -> str:
    """States that have seen their neighbours, zeros at padding."""
    states = graph.table(ids, TABLE)
    if graph.has("body.widen.weight"):
        states = graph.linear(states, "body.widen")
    window = settings.get("window", 3)  # bundles from before it could be set have three
    for layer in range(settings["num_layers"]):
        normed = normalised(graph, dict(settings), states, f"body.norms.{layer}")
        near = with_neighbours(graph, _real_rows(graph, normed, lengths), window, np.float32)
        added = graph.node("Relu", graph.linear(near, f"body.layers.{layer}"))
        states = graph.node("Add", states, added)
    return _real_rows(graph, states, lengths)


def _transformer(graph: Graph, settings: Mapping[str, Any], ids: str, lengths: str) -> str:
    """States after all blocks, normalised, zeros at padding."""
    config = {**settings, "norm": "pre", "activation": "gelu"}
    states = graph.table(ids, TABLE)
    if graph.has("body.widen.weight"):
        states = graph.linear(states, "body.widen")
    states = graph.node("Add", states, _positions(graph, ids))
    hidden = lowered_rows(graph, is_real(graph, ids, lengths))
    for layer in range(settings["num_layers"]):
        states, _ = encoder_block(graph, config, states, f"body.blocks.{layer}", hidden)
    return _real_rows(graph, normalised(graph, config, states, "body.norm"), lengths)


def learned_queries(graph: Graph, states: str, lengths: str) -> str:
    """Every learned query asks its own part of all states: what comes back, [B, D]."""
    num_queries, size = graph.weights["query.query"].shape
    if num_queries == 1:
        return learned_query(graph, states, lengths, "query")[0]
    shape = graph.constant([0, 0, num_queries, size], np.int64)
    parts = graph.node("Reshape", states, shape)  # [B, T, H, D / H]
    scored = graph.node("Mul", graph.node("Tanh", parts), graph.weight("query.query"))
    scores = graph.node("ReduceSum", scored, graph.constant([3], np.int64), keepdims=0)
    scores = graph.node("Transpose", scores, perm=[0, 2, 1])  # [B, H, T]
    weights = masked_softmax(graph, scores, is_real(graph, states, lengths))
    wide = graph.node("Unsqueeze", weights, graph.constant([2], np.int64))
    mixed = graph.node("MatMul", wide, graph.node("Transpose", parts, perm=[0, 2, 1, 3]))
    return graph.node("Reshape", mixed, graph.constant([0, num_queries * size], np.int64))


BODIES: dict[str, Callable[[Graph, Mapping[str, Any], str, str], str]] = {
    "static": _static,
    "recurrent": _recurrent,
    "convolution": _convolution,
    "transformer": _transformer,
}
"""From ids to states [B, T, D], by the name of what reads them."""
POOLS: dict[str, Callable[[Graph, str, str], str]] = {
    "query": learned_queries,
    "max": max_pool,
    "mean": mean_pool,
}
"""From states to [B, D]."""


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


def _real_rows(graph: Graph, states: str, lengths: str) -> str:
    real = is_real(graph, states, lengths)
    return graph.node("Mul", states, graph.node("Unsqueeze", real, graph.constant([2], np.int64)))


def _largest(weights: Weights) -> float:
    """The largest absolute value in the table, which bounds what a recurrent layer reads."""
    scales = weights.get(f"{TABLE}.weight{SCALE}")
    if scales is not None:
        return float(127 * scales.max())
    return float(np.abs(weights[f"{TABLE}.weight"]).max()) or 1.0
