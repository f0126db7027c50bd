"""BERT as a graph whose weights stay outside: rows of pieces to what a head says of them.

B rows, T pieces, L layers, D width, C scores; M masked places, V pieces of the vocabulary.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import LOWEST, is_real
from softquery.export.graph.builder import Graph
from softquery.export.graph.transformer import (
    activated,
    encoder_block,
    lowered_rows,
    normalised,
)
from softquery.runtime.bert.onnx import ANSWER, ENCODE
from softquery.runtime.fill.onnx import FILL

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
Weights = dict[str, NDArray[Any]]


def answer_graph(
    weights: Weights, kind: str, settings: dict[str, Any], limits: Mapping[str, float] | None = None
) -> Graph:
    """Ids and segments [B, T] and lengths [B] to answers: [B, C], or [B, T, C].

    Args:
        weights: As `arrange` lays them out.
        kind: Of the bundle; a classifier also says whom its first piece asked, `weights` [B, T].
        settings: Of the model.
        limits: The largest value that each int8 layer reads.
    """
    graph = Graph(ANSWER, weights, limits=limits)
    layers, looks = _encoded(graph, settings["encoder"], "encoder.")
    states = layers[-1]
    if kind in ("classifier", "matcher"):
        first = graph.node("Gather", states, graph.constant(0, np.int64), axis=1)
        states = graph.node("Tanh", graph.linear(first, "encoder.pooler"))
    shape = ["B", "C"] if kind in ("classifier", "matcher") else ["B", "T", "C"]
    graph.output(graph.linear(states, "output"), "answer", FLOAT, shape)
    if kind == "classifier":
        mean = graph.node("ReduceMean", looks, axes=[1], keepdims=0)  # [B, T, T]
        asked = graph.node("Gather", mean, graph.constant(0, np.int64), axis=1)
        graph.output(asked, "weights", FLOAT, ["B", "T"])
    return graph


def encode_graph(weights: Weights, settings: dict[str, Any]) -> Graph:
    """Ids and segments [B, T] and lengths [B] to the states of all layers, [L, B, T, D]."""
    graph = Graph(ENCODE, weights)
    layers, _ = _encoded(graph, settings, "")
    axis = graph.constant([0], np.int64)
    stacked = graph.node("Concat", *(graph.node("Unsqueeze", each, axis) for each in layers),
                         axis=0)  # fmt: skip
    graph.output(stacked, "states", FLOAT, ["L", "B", "T", settings["hidden_size"]])
    return graph


def fill_graph(weights: Weights, settings: dict[str, Any]) -> Graph:
    """Ids and segments [B, T], lengths [B] and places [M] to logits of the vocabulary, [M, V].

    Places count the pieces of all rows, laid end to end with their padding. The head is asked for
    these alone, because the product with the table is its most expensive part.
    """
    graph = Graph(FILL, weights)
    layers, _ = _encoded(graph, settings, "")
    places = graph.input("places", INT, ["M"])
    flat = graph.constant([-1, settings["hidden_size"]], np.int64)
    states = graph.node("Gather", graph.node("Reshape", layers[-1], flat), places, axis=0)
    changed = graph.linear(states, "word_head.transform")
    changed = activated(graph, changed, settings["activation"])
    changed = normalised(graph, settings, changed, "word_head.norm")
    table, bias = graph.weight("embedding.words.weight"), graph.weight("word_head.bias")
    logits = graph.node("Gemm", changed, table, bias, transB=1)
    graph.output(logits, "logits", FLOAT, ["M", settings["vocab_size"]])
    return graph


def _encoded(graph: Graph, sizes: dict[str, Any], prefix: str) -> tuple[list[str], str]:
    """The states of every layer, and the attention weights of the highest."""
    ids = graph.input("ids", INT, ["B", "T"])
    segments = graph.input("segments", INT, ["B", "T"])
    lengths = graph.input("lengths", TensorProto.INT32, ["B"])
    hidden = lowered_rows(graph, is_real(graph, ids, lengths))
    tables = [(ids, "words"), (places_of(graph, ids), "positions"), (segments, "segments")]
    return encoder_layers(graph, sizes, prefix, tables, hidden)


def places_of(graph: Graph, ids: str) -> str:
    """0, 1, ... for as many tokens as rows [B, T] have: [T]."""
    length = graph.node("Gather", graph.node("Shape", ids), graph.constant(1, np.int64))
    zero, one = graph.constant(0, np.int64), graph.constant(1, np.int64)
    return graph.node("Range", zero, length, one)


def encoder_layers(
    graph: Graph,
    sizes: Mapping[str, Any],
    prefix: str,
    tables: Sequence[tuple[str, str]],
    hidden: str,
) -> tuple[list[str], str]:
    """The states of every layer, and the attention weights of the highest.

    Args:
        graph: To which they are added.
        sizes: Of the encoder.
        prefix: Before the names of its weights.
        tables: What is looked up, each with the name of its table; the sum is what is read.
        hidden: Added to the scores of every head, far below zero at padding.
    """
    config = {**sizes, "norm": "post"}
    summed = ""
    for index, table in tables:
        rows = graph.table(index, f"{prefix}embedding.{table}")
        summed = graph.node("Add", summed, rows) if summed else rows
    read = normalised(graph, config, summed, f"{prefix}embedding.norm")
    if sizes.get("embedding_size"):
        read = graph.linear(read, f"{prefix}embedding.widen")
    if sizes.get("direction") == "left":
        hidden = graph.node("Add", hidden, _lowered_after(graph, tables[0][0]))
    if sizes.get("window"):
        hidden = graph.node("Add", hidden, _lowered_outside(graph, tables[0][0], sizes["window"]))
    layers, looks = [read], ""
    for layer in range(sizes["num_layers"]):
        name = f"{prefix}blocks.{layer}"
        states, looks = encoder_block(graph, config, layers[-1], name, hidden)
        layers.append(states)
    return layers, looks


def _lowered_after(graph: Graph, ids: str) -> str:
    """0 at each token itself and what stands before it, far below it at what follows: [T, T]."""
    places = graph.node("Cast", places_of(graph, ids), to=FLOAT)
    column = graph.node("Unsqueeze", places, graph.constant([1], np.int64))
    after = graph.node("Relu", graph.node("Sub", places, column))
    hidden = graph.node("Min", after, graph.constant(1.0, np.float32))  # whole numbers: 0 or 1
    return graph.node("Mul", hidden, graph.constant(LOWEST, np.float32))


def _lowered_outside(graph: Graph, ids: str, window: int) -> str:
    """0 at the pairs that see each other and far below it at others, for rows [B, T]: [T, T].

    They are those that stand at most `window` apart, and all with the first token. All pairs are
    compared, so that this saves no time.
    """
    one = graph.constant(1.0, np.float32)
    places = graph.node("Cast", places_of(graph, ids), to=FLOAT)
    column = graph.node("Unsqueeze", places, graph.constant([1], np.int64))
    apart = graph.node("Abs", graph.node("Sub", column, places))
    beyond = graph.node("Sub", apart, graph.constant(float(window), np.float32))
    hidden = graph.node("Min", graph.node("Relu", beyond), one)  # whole numbers: 0 or 1
    for side in (column, places):
        hidden = graph.node("Mul", hidden, graph.node("Min", side, one))
    return graph.node("Mul", hidden, graph.constant(LOWEST, np.float32))
