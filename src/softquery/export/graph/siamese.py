"""Siamese matching as two graphs: a sentence to its vector, two vectors to logits.

B sentences or pairs, T tokens, S hidden size; a vector is [2 S].
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.attentive import learned_query
from softquery.export.graph.blocks import (
    max_pool,
    mean_pool,
    rows_of,
    sentence_steps,
)
from softquery.export.graph.builder import Graph
from softquery.export.match_ranges import Ranges


def encode_graph(
    weights: dict[str, NDArray[Any]],
    pooling: str,
    ranges: Ranges,
    places: Collection[str] = (),
) -> Graph:
    """Sentences, as `sentence_steps` takes them, to vectors [B, 2 S]."""
    graph = Graph("encode", weights)
    steps, lengths = sentence_steps(graph, places)
    states = rows_of(graph, graph.recurrent(steps, lengths, "encoder", limit=ranges.embedded))
    if pooling == "attentive":
        vector, _ = learned_query(graph, states, lengths, "attentive")
    else:
        vector = (mean_pool if pooling == "mean" else max_pool)(graph, states, lengths)
    size = 2 * graph.hidden_size("encoder")
    graph.output(vector, "encoding", TensorProto.FLOAT, ["batch", size])
    return graph


def compare_graph(
    weights: dict[str, NDArray[Any]], head: str, outputs: int, ranges: Ranges
) -> Graph:
    """Two vectors [B, 2 S] to logits; the first may be one for all pairs."""
    graph = Graph("compare", weights)
    size = 2 * graph.hidden_size("encoder")
    first = graph.input("first", TensorProto.FLOAT, ["one_or_batch", size])
    second = graph.input("second", TensorProto.FLOAT, ["batch", size])
    logits = (
        _cosine(graph, first, second, outputs)
        if head == "cosine"
        else _features(graph, first, second, 2 * ranges.pooled)
    )
    graph.output(logits, "logits", TensorProto.FLOAT, ["batch", "outputs"])
    return graph


def _cosine(graph: Graph, first: str, second: str, outputs: int) -> str:
    """Scale * cos + offset, beside a constant 0 where there are two classes."""
    axes = graph.constant([1], np.int64)
    dot = graph.node("ReduceSum", graph.node("Mul", first, second), axes, keepdims=1)
    norms = [graph.node("ReduceL2", side, axes=[1], keepdims=1) for side in (first, second)]
    least = graph.constant(1e-8, np.float32)
    length = graph.node("Mul", *(graph.node("Max", norm, least) for norm in norms))
    scaled = graph.node("Mul", graph.node("Div", dot, length), graph.weight("head.scale"))
    same = graph.node("Add", scaled, graph.weight("head.offset"))
    return (
        same if outputs == 1 else graph.node("Concat", graph.node("Sub", same, same), same, axis=1)
    )


def _features(graph: Graph, first: str, second: str, limit: float) -> str:
    """[u; v; |u − v|; u ⊙ v] through one hidden layer."""
    everyone = graph.node("Expand", first, graph.node("Shape", second))
    clash = graph.node("Abs", graph.node("Sub", everyone, second))
    product = graph.node("Mul", everyone, second)
    views = graph.node("Concat", everyone, second, clash, product, axis=1)
    hidden = graph.node("Tanh", graph.linear(views, "head.layers.1", limit=limit))
    return graph.linear(hidden, "head.layers.4", limit=1)
