"""A Transformer as two graphs: `encode` reads a source, `step` says one more token, from a cache.

N rows, S tokens of the source, P tokens so far, H heads, D width, V tokens of the vocabulary, L
layers. What a step has to remember goes in and out as tensors: keys and values of the tokens so far
[N, H, P, D / H], by layer, and those of the source, which never change.

A step reads one token per row, so that states are [N, D], and heads [N, H, 1, D / H] without
turning anything. A query, its key and its value come of one product.
"""

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from softquery.export.graph.blocks import LOWEST, log_probabilities
from softquery.export.graph.builder import Graph
from softquery.runtime.generate.decoder_weights import TOGETHER

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
EPSILON = 1e-5
ROOT = (2 / math.pi) ** 0.5


def encode_graph(graph: Graph, config: dict[str, Any]) -> None:
    """From ids [N, S] and a mask [N, S] of 1 and 0 to each decoder layer's keys and values."""
    ids = graph.input("ids", INT, ["N", "S"])
    mask = graph.input("mask", FLOAT, ["N", "S"])
    length = graph.node("Shape", ids, start=1, end=2)
    words = "words.source" if config["tie"] != "all" else "words.target"
    zero = graph.constant([0], np.int64)
    places = graph.node("Slice", graph.weight("source_positions.table"), zero, length, zero)
    states = graph.node("Add", scaled_words(graph, config, ids, words), places)
    hidden = lowered_rows(graph, mask)
    for layer in range(config["num_encoder_layers"]):
        states, _ = encoder_block(graph, config, states, f"encoder.{layer}", hidden)
    states = normed(graph, config, states, "encoder_norm")
    size = config["hidden_size"] // config["num_heads"]
    for layer in range(config["num_decoder_layers"]):
        key, value = _remembered(graph, config, states, f"decoder.{layer}.source_attention")
        shape = ["N", config["num_heads"], "S", size]
        graph.output(key, f"source_key_{layer}", FLOAT, shape)
        graph.output(value, f"source_value_{layer}", FLOAT, shape)


def encoder_block(
    graph: Graph, config: dict[str, Any], states: str, name: str, hidden: str
) -> tuple[str, str]:
    """One layer that all tokens ask all in: its states [N, S, D], and the weights [N, H, S, S].

    Args:
        graph: To which it is added.
        config: Sizes, activation, and where normalisation stands.
        states: What it reads.
        name: Of the block.
        hidden: What `lowered_rows` gave.
    """
    asked = entered(graph, config, states, f"{name}.around_attention")
    memory = _remembered(graph, config, asked, f"{name}.attention")
    answer, weights = _asked(graph, config, asked, memory, f"{name}.attention", hidden)
    states = left(graph, config, states, answer, f"{name}.around_attention")
    return thought(graph, config, states, name), weights


def scaled_words(graph: Graph, config: dict[str, Any], ids: str, words: str) -> str:
    """Words, without where they stand: one axis more than the ids."""
    scale = graph.constant(float(config["hidden_size"]) ** 0.5, np.float32)
    return graph.node("Mul", graph.table(ids, words), scale)


def entered(graph: Graph, config: dict[str, Any], states: str, name: str) -> str:
    """What a sublayer reads."""
    return normalised(graph, config, states, f"{name}.norm") if config["norm"] == "pre" else states


def left(graph: Graph, config: dict[str, Any], states: str, answer: str, name: str) -> str:
    """What comes out, from what went in and the sublayer's answer."""
    total = graph.node("Add", states, answer)
    return normalised(graph, config, total, f"{name}.norm") if config["norm"] == "post" else total


def normed(graph: Graph, config: dict[str, Any], states: str, name: str) -> str:
    """The end of a stack: normalised where nothing else has done so."""
    return normalised(graph, config, states, name) if config["norm"] == "pre" else states


def normalised(graph: Graph, config: dict[str, Any], states: str, name: str) -> str:
    """A layer normalisation."""
    scale, bias = (graph.weight(f"{name}.{part}") for part in ("weight", "bias"))
    epsilon = config.get("norm_eps", EPSILON)
    return graph.node("LayerNormalization", states, scale, bias, axis=-1, epsilon=epsilon)


def thought(graph: Graph, config: dict[str, Any], states: str, name: str) -> str:
    """The small network, with its residual."""
    inner = entered(graph, config, states, f"{name}.around_feed_forward")
    inner = graph.linear(inner, f"{name}.feed_forward.widen")
    inner = activated(graph, inner, config["activation"])
    inner = graph.linear(inner, f"{name}.feed_forward.narrow")
    return left(graph, config, states, inner, f"{name}.around_feed_forward")


def activated(graph: Graph, value: str, activation: str) -> str:
    """An activation by its name."""
    if activation == "relu":
        return graph.node("Relu", value)
    return _gelu_tanh(graph, value) if activation == "gelu_tanh" else _gelu(graph, value)


def _gelu_tanh(graph: Graph, value: str) -> str:
    """The approximation by a tanh (Hendrycks & Gimpel 2016, Section 2)."""
    cube = graph.node("Mul", graph.node("Mul", value, value), value)
    inner = graph.node("Mul", cube, graph.constant(0.044715, np.float32))
    inner = graph.node("Add", value, inner)
    curve = graph.node("Tanh", graph.node("Mul", inner, graph.constant(ROOT, np.float32)))
    share = graph.node("Add", curve, graph.constant(1.0, np.float32))
    return graph.node("Mul", graph.node("Mul", value, share), graph.constant(0.5, np.float32))


def _gelu(graph: Graph, value: str) -> str:
    """X Φ(x) (Hendrycks & Gimpel 2016, Section 2)."""
    scaled = graph.node("Mul", value, graph.constant(2**-0.5, np.float32))
    share = graph.node("Add", graph.node("Erf", scaled), graph.constant(1.0, np.float32))
    return graph.node("Mul", graph.node("Mul", value, share), graph.constant(0.5, np.float32))


def _remembered(graph: Graph, config: dict[str, Any], states: str, name: str) -> tuple[str, str]:
    key, value = (
        _split(graph, config, graph.linear(states, f"{name}.{part}_projection"))
        for part in ("key", "value")
    )
    return key, value


def attended(
    graph: Graph, query: str, memory: tuple[str, ...], hidden: str | None, size: int
) -> tuple[str, str]:
    """What each head mixes, and its weights; `hidden` is added to scores of what is not there."""
    query = graph.node("Mul", query, graph.constant(float(size) ** -0.5, np.float32))
    scores = graph.node("MatMul", query, graph.node("Transpose", memory[0], perm=[0, 1, 3, 2]))
    if hidden is not None:
        scores = graph.node("Add", scores, hidden)
    weights = graph.node("Softmax", scores, axis=-1)
    return graph.node("MatMul", weights, memory[1]), weights


def _asked(
    graph: Graph,
    config: dict[str, Any],
    states: str,
    memory: tuple[str, ...],
    name: str,
    hidden: str | None,
) -> tuple[str, str]:
    """The heads' answer [N, T, D] and their weights [N, H, T, K]."""
    size = config["hidden_size"] // config["num_heads"]
    query = _split(graph, config, graph.linear(states, f"{name}.query_projection"))
    mixed, weights = attended(graph, query, memory, hidden, size)
    joined = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    shape = graph.constant([0, 0, config["hidden_size"]], np.int64)
    joined = graph.node("Reshape", joined, shape)
    return graph.linear(joined, f"{name}.output_projection"), weights


def _split(graph: Graph, config: dict[str, Any], wide: str) -> str:
    """[N, T, D] to [N, H, T, D / H]."""
    shape = graph.constant([0, 0, config["num_heads"], -1], np.int64)
    return graph.node("Transpose", graph.node("Reshape", wide, shape), perm=[0, 2, 1, 3])


def lowered_rows(graph: Graph, mask: str) -> str:
    """0 at real tokens and far below it at padding: [N, 1, 1, S]."""
    missing = graph.node("Sub", graph.constant(1.0, np.float32), mask)
    low = graph.node("Mul", missing, graph.constant(LOWEST, np.float32))
    return graph.node("Unsqueeze", low, graph.constant([1, 2], np.int64))


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
        answer, _ = _asked_once(graph, config, query, memory, f"{name}.own_attention", None)
        states = left(graph, config, states, answer, f"{name}.around_own")
        asked = entered(graph, config, states, f"{name}.around_source")
        query = graph.linear(asked, f"{name}.source_attention.query_projection")
        query = graph.node("Reshape", query, graph.constant([0, heads, 1, size], np.int64))
        answer, weights = _asked_once(
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


def _asked_once(
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
