"""Pretrained encoders with pools, each as one graph: ids of pieces to a sentence's vector.

B sentences, T pieces, H heads, D width of a state, E width of a vector.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.bert import encoder_layers, places_of
from softquery.export.graph.blocks import is_real, max_pool, mean_pool
from softquery.export.graph.builder import Graph
from softquery.export.graph.pooled_encoder import of_length_one
from softquery.export.graph.transformer import lowered_rows
from softquery.nn import distance_buckets
from softquery.runtime.encode.onnx import ENCODE, VECTORS

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
PREFIX = "encoder."
Weights = dict[str, NDArray[Any]]
Settings = Mapping[str, Any]
Limits = Mapping[str, float] | None
"""The largest value that each int8 layer reads."""


def bert_sentence_graphs(
    weights: Weights, settings: Settings, limits: Limits = None
) -> list[Graph]:
    """Ids [B, T] and lengths [B] to vectors [B, E], by a BERT that reads one text.

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model.
        limits: The largest value that each int8 layer reads.
    """
    return [_sentence_graph(weights, settings, limits, _bert_states)]


def mpnet_sentence_graphs(
    weights: Weights, settings: Settings, limits: Limits = None
) -> list[Graph]:
    """Ids [B, T] and lengths [B] to vectors [B, E], by an MPNet.

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model.
        limits: The largest value that each int8 layer reads.
    """
    return [_sentence_graph(weights, settings, limits, _mpnet_states)]


def _sentence_graph(
    weights: Weights,
    settings: Settings,
    limits: Limits,
    read: Callable[[Graph, Settings, str, str], str],
) -> Graph:
    graph = Graph(ENCODE, weights, limits=limits)
    ids = graph.input("ids", INT, ["B", "T"])
    lengths = graph.input("lengths", TensorProto.INT32, ["B"])
    real = is_real(graph, ids, lengths)
    states = read(graph, settings["encoder"], ids, lowered_rows(graph, real))
    # Zeros at padding, as the pools want it.
    wide = graph.node("Unsqueeze", real, graph.constant([2], np.int64))
    states = graph.node("Mul", states, wide)
    pooled = [POOLS[pool](graph, states, lengths) for pool in settings["pools"]]
    vectors = graph.node("Concat", *pooled, axis=1) if len(pooled) > 1 else pooled[0]
    if settings["dense"] != "none":
        vectors = graph.linear(vectors, "output")
    if settings["dense"] == "tanh":
        vectors = graph.node("Tanh", vectors)
    if settings["length"] == "one":
        vectors = of_length_one(graph, vectors)
    graph.output(vectors, VECTORS, FLOAT, ["B", settings["output_size"]])
    return graph


def _bert_states(graph: Graph, sizes: Settings, ids: str, hidden: str) -> str:
    """The highest states of texts that are all of the first segment."""
    first = graph.constant(0, np.int64)
    tables = [(ids, "words"), (places_of(graph, ids), "positions"), (first, "segments")]
    return encoder_layers(graph, sizes, PREFIX, tables, hidden)[0][-1]


def _mpnet_states(graph: Graph, sizes: Settings, ids: str, hidden: str) -> str:
    """The highest states; what distance makes of a pair is added to the scores of every layer."""
    hidden = graph.node("Add", hidden, _distances(graph, sizes, ids))  # [B, H, T, T]
    tables = [(ids, "words"), (_positions(graph, sizes, ids), "positions")]
    return encoder_layers(graph, sizes, PREFIX, tables, hidden)[0][-1]


def _distances(graph: Graph, sizes: Settings, ids: str) -> str:
    """The bias of every head, query and key: [1, H, T, T]."""
    farthest = sizes["max_length"] - 1
    ahead = torch.arange(-farthest, farthest + 1)
    buckets = distance_buckets(ahead, sizes["num_buckets"], sizes["max_distance"])
    table = graph.array("buckets", buckets.numpy())
    places = places_of(graph, ids)
    rows, columns = (
        graph.node("Unsqueeze", places, graph.constant([axis], np.int64)) for axis in (0, 1)
    )
    offset = graph.node("Sub", rows, columns)
    index = graph.node("Add", offset, graph.constant(farthest, np.int64))
    bias = graph.table(graph.node("Gather", table, index), f"{PREFIX}distances.table")  # [T, T, H]
    turned = graph.node("Transpose", bias, perm=[2, 0, 1])
    return graph.node("Unsqueeze", turned, graph.constant([0], np.int64))


def _positions(graph: Graph, sizes: Settings, ids: str) -> str:
    """Positions that count from behind the id of padding, which itself stands nowhere: [B, T]."""
    padding = graph.constant(sizes["padding_id"], np.int64)
    other = graph.node("Not", graph.node("Equal", ids, padding))
    counted = graph.node("Cast", other, to=INT)
    number = graph.node("CumSum", counted, graph.constant(1, np.int64))
    return graph.node("Add", graph.node("Mul", number, counted), padding)


def _first(graph: Graph, states: str, lengths: str) -> str:
    """The state of the first token."""
    return graph.node("Gather", states, graph.constant(0, np.int64), axis=1)


def _mean_sqrt_len(graph: Graph, states: str, lengths: str) -> str:
    """The sum of the states by the root of their number."""
    wide = graph.node("Unsqueeze", lengths, graph.constant([1], np.int64))
    root = graph.node("Sqrt", graph.node("Cast", wide, to=FLOAT))
    return graph.node("Mul", mean_pool(graph, states, lengths), root)


POOLS: dict[str, Callable[[Graph, str, str], str]] = {
    "cls": _first,
    "max": max_pool,
    "mean": mean_pool,
    "mean_sqrt_len": _mean_sqrt_len,
}
"""From states that are zero at padding to [B, D]."""
