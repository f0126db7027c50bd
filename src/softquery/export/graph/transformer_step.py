"""A Transformer's decoder as a graph that says one more token, from a cache.

N rows, S tokens of the source, P tokens so far, H heads, D width, V tokens of the vocabulary, L
layers. What a step has to remember goes in and out as tensors: keys and values of the tokens so far
[N, H, P, D / H], by layer, and those of the source, which never change.

A step reads one token a row, so that states are [N, D], and heads [N, H, 1, D / H] without turning
anything. A query, its key and its value come of one product.
"""

from typing import Any

import numpy as np
from onnx import TensorProto

from softquery.export.graph.builder import Graph
from softquery.export.graph.transformer import (
    attended,
    entered,
    left,
    lowered_rows,
    normed,
    scaled_words,
    thought,
)
from softquery.runtime.generate.decoder_weights import TOGETHER

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def step_graph(graph: Graph, config: dict[str, Any]) -> None:
    """From the last tokens [N], the past and the source to log-probabilities [N, V]."""
    heads, size = config["num_heads"], config["hidden_size"] // config["num_heads"]
    tokens = graph.input("tokens", INT, ["N"])
    mask = graph.input("mask", FLOAT, ["N", "S"])
    layers = range(config["num_decoder_layers"])
    past, source = (
        [
            tuple(
                graph.input(f"{name}_{part}_{layer}", FLOAT, ["N", heads, axis, size])
                for part in ("key", "value")
            )
            for layer in layers
        ]
        for name, axis in (("past", "P"), ("source", "S"))
    )
    place = graph.node("Shape", past[0][0], start=2, end=3)
    place = graph.node("Gather", graph.weight("target_positions.table"), place)  # [1, D]
    states = graph.node("Add", scaled_words(graph, config, tokens, "words.target"), place)
    hidden, seen = lowered_rows(graph, mask), []
    for layer in layers:
        name = f"decoder.{layer}"
        asked = entered(graph, config, states, f"{name}.around_own")
        query, memory = _recalled(graph, config, asked, past[layer], layer)
        answer, _ = _asked(graph, config, query, memory, f"{name}.own_attention", None)
        states = left(graph, config, states, answer, f"{name}.around_own")
        asked = entered(graph, config, states, f"{name}.around_source")
        query = graph.linear(asked, f"{name}.source_attention.query_projection")
        query = graph.node("Reshape", query, graph.constant([0, heads, 1, size], np.int64))
        answer, weights = _asked(
            graph, config, query, source[layer], f"{name}.source_attention", hidden
        )
        seen.append(weights)
        states = left(graph, config, states, answer, f"{name}.around_source")
        states = thought(graph, config, states, name)
        for part, value in zip(("key", "value"), memory, strict=True):
            graph.output(value, f"next_{part}_{layer}", FLOAT, ["N", heads, "Q", size])
    states = normed(graph, config, states, "decoder_norm")
    graph.output(log_probabilities(graph, states), "log_probabilities", FLOAT, ["N", "V"])
    stacked = graph.node("Concat", *seen, axis=2)  # [N, H, L, S]
    turned = graph.node("Transpose", stacked, perm=[0, 2, 1, 3])
    graph.output(turned, "attention", FLOAT, ["N", len(layers), heads, "S"])


def log_probabilities(graph: Graph, states: str) -> str:
    """Of every token, from states [N, D], by the table that is handed in turned."""
    return graph.node("LogSoftmax", graph.linear(states, "words.turned"), axis=-1)


def _recalled(
    graph: Graph, config: dict[str, Any], states: str, past: tuple[str, ...], layer: int
) -> tuple[str, tuple[str, ...]]:
    """The query [N, H, 1, D / H], and all keys and values so far, [N, H, P + 1, D / H] each."""
    heads, size = config["num_heads"], config["hidden_size"] // config["num_heads"]
    together = graph.linear(states, f"decoder.{layer}.own_attention.{TOGETHER}")
    shape = graph.constant([0, 3 * heads, 1, size], np.int64)
    query, *new = graph.split(graph.node("Reshape", together, shape), [heads] * 3, axis=1)
    memory = tuple(
        graph.node("Concat", old, more, axis=2, name=f"next_{part}_{layer}")
        for part, old, more in zip(("key", "value"), past, new, strict=True)
    )
    return query, memory


def _asked(
    graph: Graph,
    config: dict[str, Any],
    query: str,
    memory: tuple[str, ...],
    name: str,
    hidden: str | None,
) -> tuple[str, str]:
    """The heads' answer [N, D] and their weights [N, H, 1, K]."""
    size = config["hidden_size"] // config["num_heads"]
    mixed, weights = attended(graph, query, memory, hidden, size)
    joined = graph.node("Reshape", mixed, graph.constant([0, config["hidden_size"]], np.int64))
    return graph.linear(joined, f"{name}.output_projection"), weights
