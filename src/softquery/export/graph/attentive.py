"""Classifiers of texts as graphs whose weights stay outside.

An attention-BiLSTM is one graph, `classify`: words to logits. A hierarchical one is two, `read`
from words to sentences and `judge` from sentences to logits. All of them give their weights, too.

B texts, N sentences, T tokens, S sentences of a text, H hidden size, D = 2 H unless directions are
added.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import (
    is_real,
    laid_beside,
    masked_softmax,
    rows_of,
    sentence_steps,
)
from softquery.export.graph.builder import Graph

Weights = dict[str, NDArray[Any]]


def classify_graph(
    weights: Weights, merge: str, limit: float, places: Collection[str] = ()
) -> Graph:
    """Texts to logits [B, C], weights [B, T], and the states that are mixed by them.

    Inputs are those of `sentence_steps`, and `at_output` [B, T, E] where a biLM's vectors are laid
    beside the states.

    Args:
        weights: As `arrange` lays them out.
        merge: How the two directions become one state: `"sum"` or `"concat"`.
        limit: The largest absolute value that the LSTM reads, for int8.
        places: Of a biLM's vectors.
    """
    graph = Graph("classify", weights)
    states, lengths = _read_words(graph, "encoder", merge, limit, places)
    states = laid_beside(graph, states) if "output" in places else states
    mixed, shares = learned_query(graph, states, lengths, "attention")
    summary = graph.node("Tanh", mixed)
    graph.output(
        graph.linear(summary, "output", limit=1), "logits", TensorProto.FLOAT, ["batch", "outputs"]
    )
    graph.output(shares, "weights", TensorProto.FLOAT, ["batch", "tokens"])
    graph.output(states, "states", TensorProto.FLOAT, ["batch", "tokens", "state"])
    return graph


def read_graph(weights: Weights, limit: float) -> Graph:
    """Ids [N, T] and lengths [N] to sentences [N, D] and the weights of their words [N, T]."""
    graph = Graph("read", weights)
    states, lengths = _read_words(graph, "words.encoder", "concat", limit)
    mixed, shares = learned_query(graph, states, lengths, "words.attention")
    size = 2 * graph.hidden_size("words.encoder")
    graph.output(mixed, "sentence", TensorProto.FLOAT, ["batch", size])
    graph.output(shares, "weights", TensorProto.FLOAT, ["batch", "tokens"])
    return graph


def judge_graph(weights: Weights) -> Graph:
    """Sentences [B, S, D] and how many [B] to logits [B, C] and the sentences' weights [B, S]."""
    graph = Graph("judge", weights)
    size = 2 * graph.hidden_size("words.encoder")
    sentences = graph.input("sentences", TensorProto.FLOAT, ["batch", "sentences", size])
    lengths = graph.input("lengths", TensorProto.INT32, ["batch"])
    steps = graph.node("Transpose", sentences, perm=[1, 0, 2])
    # Sentences are mixtures of states, and so within [-1, 1].
    states = rows_of(graph, graph.recurrent(steps, lengths, "sentences.encoder", limit=1))
    mixed, shares = learned_query(graph, states, lengths, "sentences.attention")
    graph.output(
        graph.linear(mixed, "output", limit=1), "logits", TensorProto.FLOAT, ["batch", "outputs"]
    )
    graph.output(shares, "weights", TensorProto.FLOAT, ["batch", "sentences"])
    return graph


def _read_words(
    graph: Graph, encoder: str, merge: str, limit: float, places: Collection[str] = ()
) -> tuple[str, str]:
    """Words to the states of both directions, and their lengths."""
    steps, lengths = sentence_steps(graph, places)
    found = graph.recurrent(steps, lengths, encoder, limit=limit)  # [T, 2, B, H]
    if merge == "concat":
        return rows_of(graph, found), lengths
    both = graph.node("ReduceSum", found, graph.constant([1], np.int64), keepdims=0)
    return graph.node("Transpose", both, perm=[1, 0, 2]), lengths


def learned_query(graph: Graph, states: str, lengths: str, name: str) -> tuple[str, str]:
    """The learned query asks all states: what comes back [B, D], and the weights [B, T]."""
    key = states
    if graph.has(f"{name}.projection.weight"):
        key = graph.linear(states, f"{name}.projection", limit=1)
    key = graph.node("Tanh", key)
    query = graph.node("Transpose", graph.weight(f"{name}.query"), perm=[1, 0])  # [E, 1]
    scores = graph.node("Transpose", graph.node("MatMul", key, query), perm=[0, 2, 1])
    weights = masked_softmax(graph, scores, is_real(graph, states, lengths))  # [B, 1, T]
    axis = graph.constant([1], np.int64)
    mixed = graph.node("Squeeze", graph.node("MatMul", weights, states), axis)
    return mixed, graph.node("Squeeze", weights, axis)
