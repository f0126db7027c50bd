"""BiDAF as two graphs: `encode` a question or a context, `read` the one with the other in mind.

A context that is asked many questions is encoded once. Beside a biLM, which has a graph `read` of
its own, the second graph is called `answer`.

B texts or windows, T words of a context, J of a question, U distinct words, C characters of each,
S hidden size, E width of a biLM's vectors; a state is D wide, 2 S and what is laid beside it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import (
    character_features,
    is_real,
    laid_beside,
    lowered,
    masked_softmax,
    rows_of,
    table_of,
)
from softquery.export.graph.builder import Graph
from softquery.runtime.inner.inner_weights import inner_places
from softquery.runtime.read.onnx import ENCODE, second_graph


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRanges:
    """The largest absolute values that were met; larger ones are cut to them."""

    embedded: float = 1.0
    """Of what the highway layers read."""
    inputs: float = 1.0
    """Of what the encoder reads."""
    states: float = 1.0
    """Of the encoder's states."""
    aware: float = 1.0
    """Of [h; ũ; h ∘ ũ; h ∘ h̃], which the modelling layer and the head read."""


def encode_graph(
    weights: dict[str, NDArray[Any]], settings: dict[str, Any], ranges: ReadRanges
) -> Graph:
    """Words [B, T] and lengths [B] to states [B, T, D].

    Where words are spelt, `characters` [U, C] are those of the distinct words, and `places` [B, T]
    say which of them stands where. `at_input` and `at_output` [B, T, E] are a biLM's mixed vectors,
    there only if the model reads them; so are `words`, the rows of a table.

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model, complete.
        ranges: What int8 has to hold.
    """
    graph = Graph(ENCODE, weights)
    places = inner_places(settings)
    table, parts = table_of(graph), []
    words = "" if table is None else graph.input("words", TensorProto.INT64, ["batch", "tokens"])
    lengths = graph.input("lengths", TensorProto.INT32, ["batch"])
    parts += [] if table is None else [graph.table(words, table)]
    if "input" in places:
        shape: list[Any] = ["batch", "tokens", "width"]
        parts.append(graph.input("at_input", TensorProto.FLOAT, shape))
    parts += _spelt(graph, settings["spelling"])
    rows = graph.node("Concat", *parts, axis=2) if len(parts) > 1 else parts[0]
    for place in range(settings["num_highways"]):
        rows = _highway(graph, rows, f"highways.{place}", limit=ranges.embedded)
    steps = graph.node("Transpose", rows, perm=[1, 0, 2])
    states = rows_of(graph, graph.recurrent(steps, lengths, "encoder", limit=ranges.inputs))
    states = laid_beside(graph, states) if "output" in places else states
    graph.output(states, "states", TensorProto.FLOAT, ["batch", "tokens", _width(graph)])
    return graph


def _spelt(graph: Graph, spelling: dict[str, Any]) -> list[str]:
    """What the characters of every word say [B, T, F], where they are read."""
    if spelling["kind"] == "none":
        return []
    places = graph.input("places", TensorProto.INT64, ["batch", "tokens"])
    shape = ["words", spelling["max_characters"]]
    characters = graph.input("characters", TensorProto.INT64, shape)
    read = character_features(graph, characters, spelling["kind"], "spelt_lengths")
    return [graph.node("Gather", read, places)]


def _width(graph: Graph) -> int:
    """D: the head reads four times as much, and two directions of the modelling layer."""
    return (len(graph.weights["head.start.weight"]) - 2 * graph.hidden_size("ending")) // 4


def read_graph(
    weights: dict[str, NDArray[Any]], settings: dict[str, Any], ranges: ReadRanges
) -> Graph:
    """States of contexts and of questions to scores of both ends [B, T], and of words [B, T, J]."""
    graph = Graph(second_graph(settings), weights)
    size = _width(graph)
    sides, lengths = [], []
    for name in ("context", "question"):
        shape = ["batch", f"{name}_tokens", size]
        sides.append(graph.input(name, TensorProto.FLOAT, shape))
        lengths.append(graph.input(f"{name}_lengths", TensorProto.INT32, ["batch"]))
    real = [is_real(graph, side, length) for side, length in zip(sides, lengths, strict=True)]
    scores = _compared(graph, sides[0], sides[1], settings["score"], size, ranges.states)
    aware = _aware(graph, sides, real, lengths[1], scores)
    states, limit = aware, ranges.aware
    for place in range(settings["num_layers"]):
        states = _layer(graph, states, lengths[0], f"modelling.{place}", limit)
        limit = 1.0
    ending = _layer(graph, states, lengths[0], "ending", limit)
    for name, features in (("start", states), ("end", ending)):
        both = graph.node("Concat", aware, features, axis=2)
        found = graph.linear(both, f"head.{name}", limit=max(1.0, ranges.aware), bias=False)
        found = graph.node("Squeeze", found, graph.constant([2], np.int64))
        found = graph.node("Add", found, lowered(graph, real[0]))
        graph.output(found, name, TensorProto.FLOAT, ["batch", "context_tokens"])
    shape = ["batch", "context_tokens", "question_tokens"]
    graph.output(scores, "meeting", TensorProto.FLOAT, shape)
    return graph


def _compared(
    graph: Graph, context: str, question: str, score: str, size: int, limit: float
) -> str:
    """Every word of the context with every word of the question: [B, T, J]."""
    turned = graph.node("Transpose", question, perm=[0, 2, 1])
    if score == "bilinear":
        name = "meeting.score.query_projection"
        return graph.node("MatMul", graph.linear(context, name, limit=limit, bias=False), turned)
    if score == "dot":
        return graph.node("MatMul", context, turned)
    if score == "scaled_dot":
        scale = graph.constant(float(size) ** -0.5, np.float32)
        return graph.node("MatMul", graph.node("Mul", context, scale), turned)
    product, own, other = (
        graph.weight(f"meeting.score.{part}_weight") for part in ("product", "query", "key")
    )
    last = graph.constant([2], np.int64)
    common = graph.node("MatMul", graph.node("Mul", context, product), turned)
    alone = graph.node("ReduceSum", graph.node("Mul", context, own), last, keepdims=1)
    asked = graph.node("ReduceSum", graph.node("Mul", question, other), last, keepdims=1)
    asked = graph.node("Transpose", asked, perm=[0, 2, 1])  # [B, 1, J]
    return graph.node("Add", graph.node("Add", common, alone), asked)


def _aware(
    graph: Graph, sides: list[str], real: list[str], question_lengths: str, scores: str
) -> str:
    """[h; ũ; h ∘ ũ; h ∘ h̃] (`softquery.nn.TwoWayAttention`)."""
    context, question = sides
    about = graph.node("MatMul", masked_softmax(graph, scores, real[1]), question)
    first = graph.constant([1], np.int64)
    unseen = lowered(graph, graph.node("Unsqueeze", real[1], first))
    strongest = graph.node("ReduceMax", graph.node("Add", scores, unseen), axes=[2], keepdims=0)
    # To a question without words all are alike.
    some = graph.node("Cast", question_lengths, to=TensorProto.FLOAT)
    some = graph.node("Min", some, graph.constant(1.0, np.float32))
    strongest = graph.node("Mul", strongest, graph.node("Unsqueeze", some, first))
    asked = masked_softmax(graph, graph.node("Unsqueeze", strongest, first), real[0])
    summary = graph.node("MatMul", asked, context)  # [B, 1, D]
    products = [graph.node("Mul", context, other) for other in (about, summary)]
    return graph.node("Concat", context, about, *products, axis=2)


def _layer(graph: Graph, rows: str, lengths: str, name: str, limit: float) -> str:
    steps = graph.node("Transpose", rows, perm=[1, 0, 2])
    return rows_of(graph, graph.recurrent(steps, lengths, name, limit=limit))


def _highway(graph: Graph, rows: str, name: str, *, limit: float) -> str:
    """G ∘ relu(W x + b) + (1 − g) ∘ x, as x + g ∘ (relu(W x + b) − x)."""
    change = graph.node("Relu", graph.linear(rows, f"{name}.change", limit=limit))
    gate = graph.node("Sigmoid", graph.linear(rows, f"{name}.gate", limit=limit))
    share = graph.node("Mul", gate, graph.node("Sub", change, rows))
    return graph.node("Add", rows, share)
