"""A tagger as two graphs: `spell` reads words by their characters, `tag` sentences by their words.

Which tags go together, and the best sequence of them, is no matter of a graph: see
`softquery.runtime.tag.backend`.

U distinct words, C characters of each, F features of their spelling, B sentences, T tokens, E width
of a biLM's vectors, L tags.
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import (
    character_features,
    given_steps,
    joined_steps,
    laid_beside,
    rows_of,
    table_of,
)
from softquery.export.graph.builder import Graph
from softquery.runtime.inner.inner_weights import inner_places


@dataclass(frozen=True, kw_only=True, slots=True)
class TagRanges:
    """The largest absolute values that were met; larger ones are cut to them."""

    embedded: float = 1.0
    """Of what the lowest LSTM reads."""
    states: float = 1.0
    """Of what the last layer reads."""


def spell_graph(weights: dict[str, NDArray[Any]], kind: str, length: int) -> Graph:
    """Characters [U, C] to features [U, F].

    Args:
        weights: As `arrange` lays them out.
        kind: `"cnn"` or `"lstm"`.
        length: C.
    """
    graph = Graph("spell", weights)
    shape = ["words", length]
    characters = graph.input("characters", TensorProto.INT64, shape)
    features = character_features(graph, characters, kind, "lengths")
    graph.output(features, "spelt", TensorProto.FLOAT, ["words", "features"])
    return graph


def tag_graph(
    weights: dict[str, NDArray[Any]], settings: dict[str, Any], ranges: TagRanges
) -> Graph:
    """Words, their spelling, and what a biLM says of them, to scores [B, T, L].

    Inputs are `words` (ids of the table), `spelt`, `at_input` and `at_output` (a biLM's mixed
    vectors), each [B, T] or [B, T, D] and there only if the model reads it, and `lengths` [B].

    Args:
        weights: As `arrange` lays them out.
        settings: Of the model, as its bundle has them.
        ranges: What int8 has to hold.
    """
    graph = Graph("tag", weights)
    places = inner_places(settings)
    parts = []
    table = table_of(graph)
    if table is not None:
        words = graph.input("words", TensorProto.INT64, ["batch", "tokens"])
        parts.append(graph.table(graph.node("Transpose", words, perm=[1, 0]), table))
    parts += [given_steps(graph, "at_input")] if "input" in places else []
    parts += [given_steps(graph, "spelt")] if settings["spelling"]["kind"] != "none" else []
    steps = joined_steps(graph, parts)
    lengths = graph.input("lengths", TensorProto.INT32, ["batch"])
    rows, limit = "", ranges.embedded
    for place in range(len(settings["hidden_sizes"])):
        rows = rows_of(graph, graph.recurrent(steps, lengths, f"layers.{place}", limit=limit))
        steps, limit = graph.node("Transpose", rows, perm=[1, 0, 2]), 1.0
    if "output" in places:
        rows = laid_beside(graph, rows)
    logits = graph.linear(rows, "output", limit=ranges.states)
    graph.output(logits, "logits", TensorProto.FLOAT, ["batch", "tokens", "tags"])
    return graph
