"""Pieces that several exported graphs share.

B rows, T tokens, D width, S hidden size. Lengths are int32 [B]; a row may be empty.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from softquery.export.graph.builder import Graph

SPELLING = "spelling.reader"
"""Before the names of what reads a word's characters."""
LOWEST = -1e4
"""Far below any score or state, and within half precision."""
TABLES = ("embedder.table", "embedder.words.table")
"""Where the table of words is: by itself, or beside a biLM."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchRanges:
    """The largest absolute values that were met; larger ones are cut to them."""

    embedded: float = 1.0
    """Of word vectors, and of a biLM's at the input."""
    states: float = 1.0
    """Of the first BiLSTM's states, and of a biLM's vectors beside them."""
    product: float = 1.0
    """Of ESIM's a ⊙ ã."""
    local: float = 1.0
    """Of ESIM's projection, which the composer reads."""
    composed: float = 1.0
    """Of what the second layer of a composer without recurrence reads."""
    pooled: float = 1.0
    """Of what the classifier reads."""


def table_of(graph: Graph) -> str | None:
    """The name of the table of words, where there is one."""
    return next((name for name in TABLES if graph.has(f"{name}.weight")), None)


def sentence_steps(graph: Graph, places: Collection[str]) -> tuple[str, str]:
    """What an encoder reads, [T, B, D], and the lengths of the rows.

    Inputs of the graph are `ids` [B, T] where there is a table of words, `at_input` [B, T, D] where
    a biLM's mixed vectors are laid beside it, and `lengths`.

    Args:
        graph: To which the inputs are added.
        places: Of a biLM's vectors.
    """
    table, parts = table_of(graph), []
    ids = "" if table is None else graph.input("ids", TensorProto.INT64, ["batch", "tokens"])
    lengths = graph.input("lengths", TensorProto.INT32, ["batch"])
    if table is not None:
        parts.append(graph.table(graph.node("Transpose", ids, perm=[1, 0]), table))
    if "input" in places:
        parts.append(given_steps(graph, "at_input"))
    return joined_steps(graph, parts), lengths


def given_steps(graph: Graph, name: str) -> str:
    """An input [B, T, D], its steps first."""
    given = graph.input(name, TensorProto.FLOAT, ["batch", "tokens", f"{name}_width"])
    return graph.node("Transpose", given, perm=[1, 0, 2])


def joined_steps(graph: Graph, parts: list[str]) -> str:
    """Everything that is read at a step, side by side."""
    return graph.node("Concat", *parts, axis=2) if len(parts) > 1 else parts[0]


def laid_beside(graph: Graph, rows: str) -> str:
    """States [B, T, D] with the input `at_output` beside them."""
    beside = graph.input("at_output", TensorProto.FLOAT, ["batch", "tokens", "width"])
    return graph.node("Concat", rows, beside, axis=2)


def rows_of(graph: Graph, states: str) -> str:
    """[T, 2, B, S] to [B, T, 2 S]."""
    turned = graph.node("Transpose", states, perm=[2, 0, 1, 3])
    return graph.node("Reshape", turned, graph.constant([0, 0, -1], np.int64))


def part_of(graph: Graph, encoding: str, start: int, end: int) -> str:
    """Features from `start` to `end` of [B, T, D]."""
    bounds = [graph.constant([value], np.int64) for value in (start, end, 2)]
    return graph.node("Slice", encoding, *bounds)


def is_real(graph: Graph, rows: str, lengths: str) -> str:
    """1 at tokens and 0 at padding of [B, T, …]: [B, T]."""
    wide = graph.node("Unsqueeze", lengths, graph.constant([1], np.int64))
    before = is_before(graph, rows, graph.node("Cast", wide, to=TensorProto.INT64), np.int64)
    return graph.node("Cast", before, to=TensorProto.FLOAT)


def is_before(graph: Graph, rows: str, ends: str, kind: type = np.float32) -> str:
    """Whether a token of [B, T, …] stands before its row's end: [B, T].

    Args:
        graph: To which it is added.
        rows: Have as many tokens as are looked at.
        ends: [B, 1].
        kind: Of the ends' numbers.
    """
    tokens = graph.node("Gather", graph.node("Shape", rows), graph.constant(1, np.int64))
    if kind is np.float32:
        tokens = graph.node("Cast", tokens, to=TensorProto.FLOAT)
    places = graph.node("Range", graph.constant(0, kind), tokens, graph.constant(1, kind))
    return graph.node("Less", places, ends)


def masked_softmax(graph: Graph, scores: str, real: str) -> str:
    """Over the last axis of [B, Q, T]; rows with nothing to attend to are all zeros."""
    wide = graph.node("Unsqueeze", real, graph.constant([1], np.int64))
    weights = graph.node("Softmax", graph.node("Add", scores, lowered(graph, wide)), axis=2)
    return graph.node("Mul", weights, wide)


def lowered(graph: Graph, real: str) -> str:
    """0 where `real` is 1, and `LOWEST` where it is 0."""
    missing = graph.node("Sub", graph.constant(1.0, np.float32), real)
    return graph.node("Mul", missing, graph.constant(LOWEST, np.float32))


def mean_pool(graph: Graph, rows: str, lengths: str) -> str:
    """The mean over real tokens of rows that are zero at padding: [B, D]."""
    count = graph.node("Max", _column(graph, lengths), graph.constant(1.0, np.float32))
    total = graph.node("ReduceSum", rows, graph.constant([1], np.int64), keepdims=0)
    return graph.node("Div", total, count)


def max_pool(graph: Graph, rows: str, lengths: str) -> str:
    """The largest value over real tokens: [B, D]; zeros for an empty row."""
    real = graph.node("Unsqueeze", is_real(graph, rows, lengths), graph.constant([2], np.int64))
    low = graph.node("Add", rows, lowered(graph, real))
    largest = graph.node("ReduceMax", low, axes=[1], keepdims=0)
    some = graph.node("Min", _column(graph, lengths), graph.constant(1.0, np.float32))
    return graph.node("Mul", largest, some)


def _column(graph: Graph, lengths: str) -> str:
    wide = graph.node("Unsqueeze", lengths, graph.constant([1], np.int64))
    return graph.node("Cast", wide, to=TensorProto.FLOAT)


def log_probabilities(graph: Graph, states: str) -> str:
    """Of every token, from states [N, D], by the table that is handed in turned."""
    return graph.node("LogSoftmax", graph.linear(states, "words.turned"), axis=-1)


def character_features(graph: Graph, characters: str, kind: str, lengths: str) -> str:
    """What the characters [U, C] of distinct words say: [U, F].

    Args:
        graph: To which it is added.
        characters: What is read.
        kind: `"cnn"` or `"lstm"`.
        lengths: What the input of the words' lengths is called, which an LSTM needs.
    """
    if kind == "cnn":
        return _filtered(graph, characters)
    if kind == "lstm":
        return _read_through(graph, characters, lengths)
    raise ValueError(f"no graph reads characters by {kind!r}")


def _filtered(graph: Graph, characters: str) -> str:
    """The strongest answer of each filter, projected (`softquery.nn.CharacterCnn`)."""
    embedded = graph.table(characters, f"{SPELLING}.table")  # [U, C, E]
    turned = graph.node("Transpose", embedded, perm=[0, 2, 1])
    kernel, bias = graph.weight(f"{SPELLING}.kernels.0"), graph.weight(f"{SPELLING}.bias")
    found = graph.node("Conv", turned, kernel, bias)
    strongest = graph.node("Relu", graph.node("ReduceMax", found, axes=[2], keepdims=0))
    return graph.linear(strongest, f"{SPELLING}.projection", limit=1)


def _read_through(graph: Graph, characters: str, lengths: str) -> str:
    """The last states from both ends (`softquery.nn.CharacterLstm`); filling is not read."""
    steps = graph.table(graph.node("Transpose", characters, perm=[1, 0]), f"{SPELLING}.table")
    given = graph.input(lengths, TensorProto.INT32, ["words"])
    name = f"{SPELLING}.recurrent"
    weights = [graph.weight(f"{name}.{letter}") for letter in "WRB"]
    size = graph.hidden_size(name)
    settings: dict[str, Any] = {"hidden_size": size, "direction": "bidirectional"}
    # Of the operator's outputs the second: each direction's state at its own end.
    graph.nodes.append(helper.make_node("LSTM", [steps, *weights, given], ["", "ends"], **settings))
    turned = graph.node("Transpose", "ends", perm=[1, 0, 2])
    return graph.node("Reshape", turned, graph.constant([0, 2 * size], np.int64))
