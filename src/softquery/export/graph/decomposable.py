"""Decomposable attention as two graphs: `encode` one sentence, `compare` two encodings.

Whatever needs one sentence alone belongs to `encode`: the projection, intra-sentence attention, the
network F, and both parts of the first layer of G, because β is a mixture of the other sentence's
tokens. A pair pays for the alignment, one layer of G and the classifier.

B pairs, T tokens, S hidden size. An encoding is [T, 3 S]: F(a), W1 a + bias, W2 a.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import is_real, masked_softmax, part_of, sentence_steps
from softquery.export.graph.builder import Graph

SMALLEST = 1e-12
"""Below this length, a vector is not scaled to length one."""


def encode_graph(
    weights: dict[str, NDArray[Any]],
    limits: Mapping[str, float],
    max_distance: int,
    places: Collection[str] = (),
) -> Graph:
    """Sentences to encodings [B, T, 3 S].

    Args:
        weights: As `arrange` lays them out.
        limits: What each linear layer read at most.
        max_distance: Of intra-sentence attention; 0 where there is none.
        places: Of an embedder of words in context.
    """
    graph = Graph("encode", weights, limits=limits)
    steps, lengths = sentence_steps(graph, places)
    rows = graph.node("Transpose", steps, perm=[1, 0, 2])
    states = graph.linear(_unit(graph, rows), "projection", bias=False)
    if max_distance:
        states = _with_intra(graph, states, is_real(graph, rows, lengths), max_distance)
    asked = _network(graph, states, "attend")
    own = graph.linear(states, "compare_own")
    aligned = graph.linear(states, "compare_aligned", bias=False)
    encoding = graph.node("Concat", asked, own, aligned, axis=2)
    shape = ["batch", "tokens", 3 * _size(graph)]
    graph.output(encoding, "encoding", TensorProto.FLOAT, shape)
    return graph


def compare_graph(weights: dict[str, NDArray[Any]], limits: Mapping[str, float]) -> Graph:
    """Two encodings to logits and both alignments; the first side may be one for all pairs."""
    graph = Graph("compare", weights, limits=limits)
    sides, lengths, size = [], [], _size(graph)
    for side, batch in (("first", "one_or_batch"), ("second", "batch")):
        sides.append(graph.input(side, TensorProto.FLOAT, (batch, f"{side}_tokens", 3 * size)))
        lengths.append(graph.input(f"{side}_lengths", TensorProto.INT32, [batch]))
    real = [is_real(graph, side, length) for side, length in zip(sides, lengths, strict=True)]
    asked = [part_of(graph, side, 0, size) for side in sides]
    scores = graph.node("MatMul", asked[0], graph.node("Transpose", asked[1], perm=[0, 2, 1]))
    turned = graph.node("Transpose", scores, perm=[0, 2, 1])
    weights_of = [masked_softmax(graph, scores, real[1]), masked_softmax(graph, turned, real[0])]
    sums = []
    for place in (0, 1):
        own = part_of(graph, sides[place], size, 2 * size)
        other = part_of(graph, sides[1 - place], 2 * size, 3 * size)
        local = graph.node("Add", own, graph.node("MatMul", weights_of[place], other))
        hidden = graph.linear(graph.node("Relu", local), "compare_hidden.2")
        mask = graph.node("Unsqueeze", real[place], graph.constant([2], np.int64))
        compared = graph.node("Mul", graph.node("Relu", hidden), mask)
        sums.append(graph.node("ReduceSum", compared, graph.constant([1], np.int64), keepdims=0))
    pooled = graph.node("Relu", graph.linear(graph.node("Concat", *sums, axis=1), "classifier.1"))
    logits = graph.linear(pooled, "classifier.4")
    graph.output(logits, "logits", TensorProto.FLOAT, ["batch", "outputs"])
    for place, (asker, other) in enumerate((("first", "second"), ("second", "first"))):
        shape = ("batch", f"{asker}_tokens", f"{other}_tokens")
        graph.output(weights_of[place], f"{asker}_to_{other}", TensorProto.FLOAT, shape)
    return graph


def _size(graph: Graph) -> int:
    return int(graph.weights["compare_own.weight"].shape[1])


def _unit(graph: Graph, rows: str) -> str:
    """Vectors of length one; those of padding stay zero."""
    length = graph.node("ReduceL2", rows, axes=[2], keepdims=1)
    return graph.node("Div", rows, graph.node("Max", length, graph.constant(SMALLEST, np.float32)))


def _network(graph: Graph, rows: str, name: str) -> str:
    """Two layers with rectified units."""
    hidden = graph.node("Relu", graph.linear(rows, f"{name}.1"))
    return graph.node("Relu", graph.linear(hidden, f"{name}.4"))


def _with_intra(graph: Graph, words: str, real: str, max_distance: int) -> str:
    """[a; a']: every token beside what its own sentence says about it."""
    asked = _network(graph, words, "intra.network")
    scores = graph.node("MatMul", asked, graph.node("Transpose", asked, perm=[0, 2, 1]))
    biased = graph.node("Add", scores, _distance_bias(graph, words, max_distance))
    aligned = graph.node("MatMul", masked_softmax(graph, biased, real), words)
    return graph.node("Concat", words, aligned, axis=2)


def _distance_bias(graph: Graph, words: str, max_distance: int) -> str:
    """The learned bias of every pair of places: [T, T]."""
    tokens = graph.node("Gather", graph.node("Shape", words), graph.constant(1, np.int64))
    zero, one = graph.constant(0, np.int64), graph.constant(1, np.int64)
    places = graph.node("Range", zero, tokens, one)
    column = graph.node("Unsqueeze", places, graph.constant([1], np.int64))
    apart = graph.node("Sub", column, places)
    low, high = (graph.constant(sign * max_distance, np.int64) for sign in (-1, 1))
    known = graph.node("Add", graph.node("Clip", apart, low, high), high)
    return graph.node("Gather", graph.weight("intra.distance_bias"), known)
