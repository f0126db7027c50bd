"""ESIM as two graphs: `encode` one sentence, `compare` two encodings.

With the projection folded (see `fold_projection`), the part of [a; ã; a − ã; a ⊙ ã] that is linear
in a and in ã belongs to `encode`, because ã is a mixture of the other sentence's b. A pair pays
only for the alignment, W4 (a ⊙ ã) and the composer (`softquery.export.graph.composition`).

B pairs, T tokens of either side, S projection size, D width of the states (twice the hidden size)
and of what a biLM lays beside them. An encoding is [T, D + 2 S]: states (D), W1' a + bias (S),
W2' a (S).
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.blocks import (
    MatchRanges,
    is_real,
    laid_beside,
    masked_softmax,
    part_of,
    rows_of,
    sentence_steps,
)
from softquery.export.graph.builder import Graph
from softquery.export.graph.composition import pooled_composition

FOLDED = ("own", "aligned", "product")


def fold_projection(weight: NDArray[np.float32], parts: tuple[str, ...]) -> NDArray[np.float32]:
    """W of [a; ã; a − ã; a ⊙ ã] as (W1 + W3), (W2 − W3), W4 of [a; ã; a ⊙ ã].

    Exact algebra: W1 a + W2 ã + W3 (a − ã) + W4 (a ⊙ ã); a part that was left out counts as zero.

    >>> parts = ("own", "aligned", "difference", "product")
    >>> fold_projection(np.array([[1.0, 2.0, 3.0, 4.0]]), parts)
    array([[ 4., -1.,  4.]])
    """
    width = weight.shape[1] // len(parts)
    blocks = {part: weight[:, place * width :][:, :width] for place, part in enumerate(parts)}
    nothing = np.zeros_like(weight[:, :width])
    own, aligned = blocks.get("own", nothing), blocks.get("aligned", nothing)
    difference, product = blocks.get("difference", nothing), blocks.get("product", nothing)
    return np.concatenate([own + difference, aligned - difference, product], axis=1)


def encode_graph(
    weights: dict[str, NDArray[Any]], ranges: MatchRanges, places: Collection[str] = ()
) -> Graph:
    """Sentences to encodings [B, T, D + 2 S].

    Inputs are those of `sentence_steps`, and `at_output` [B, T, E] where a biLM's vectors are laid
    beside the states.

    Args:
        weights: As `arrange` lays them out.
        ranges: What int8 has to hold.
        places: Of a biLM's vectors.
    """
    graph = Graph("encode", weights)
    steps, lengths = sentence_steps(graph, places)
    states = rows_of(graph, graph.recurrent(steps, lengths, "encoder", limit=ranges.embedded))
    states = laid_beside(graph, states) if "output" in places else states
    own = graph.linear(states, "project.own", limit=ranges.states)
    aligned = graph.linear(states, "project.aligned", limit=ranges.states, bias=False)
    _, _, size = _bounds(graph)
    encoding = graph.node("Concat", states, own, aligned, axis=2)
    graph.output(encoding, "encoding", TensorProto.FLOAT, ["batch", "tokens", size])
    return graph


def compare_graph(weights: dict[str, NDArray[Any]], ranges: MatchRanges) -> Graph:
    """Two encodings to logits and both alignments; the first side may be one for all pairs."""
    graph = Graph("compare", weights)
    width, _, size = _bounds(graph)
    sides, lengths = [], []
    for side, batch in (("first", "one_or_batch"), ("second", "batch")):
        shape = (batch, f"{side}_tokens", size)
        sides.append(graph.input(side, TensorProto.FLOAT, shape))
        lengths.append(graph.input(f"{side}_lengths", TensorProto.INT32, [batch]))
    real = [is_real(graph, side, length) for side, length in zip(sides, lengths, strict=True)]
    own = [part_of(graph, side, 0, width) for side in sides]
    scores = graph.node("MatMul", own[0], graph.node("Transpose", own[1], perm=[0, 2, 1]))
    turned = graph.node("Transpose", scores, perm=[0, 2, 1])
    to_second = masked_softmax(graph, scores, real[1])
    to_first = masked_softmax(graph, turned, real[0])
    pairs = graph.node("Shape", lengths[1])
    pooled = []
    for place, weights_of in ((0, to_second), (1, to_first)):
        sides_of = (sides[place], sides[1 - place])
        local = _local(graph, *sides_of, weights_of, limit=ranges.product)
        everyone = graph.node("Expand", lengths[place], pairs)
        pooled += pooled_composition(graph, local, real[place], everyone, ranges)
    everything = graph.node("Concat", *pooled, axis=1)
    hidden = graph.node("Tanh", graph.linear(everything, "classifier.1", limit=ranges.pooled))
    logits = graph.linear(hidden, "classifier.4", limit=1)
    graph.output(logits, "logits", TensorProto.FLOAT, ["batch", "outputs"])
    for weights_of, asker, asked in (
        (to_second, "first", "second"),
        (to_first, "second", "first"),
    ):
        asks = ("batch", f"{asker}_tokens", f"{asked}_tokens")
        graph.output(weights_of, f"{asker}_to_{asked}", TensorProto.FLOAT, asks)
    return graph


def _bounds(graph: Graph) -> tuple[int, int, int]:
    """Where the three parts of an encoding end."""
    width, size = graph.weights["project.own.weight"].shape
    return width, width + size, width + 2 * size


def _local(graph: Graph, own: str, other: str, weights_of: str, *, limit: float) -> str:
    """ReLU(W1' a + W2' ã + W4 (a ⊙ ã) + bias): [B, T, S]."""
    width, middle, size = _bounds(graph)
    about = graph.node("MatMul", weights_of, part_of(graph, other, 0, width))
    linear = graph.node("MatMul", weights_of, part_of(graph, other, middle, size))
    product = graph.node("Mul", part_of(graph, own, 0, width), about)
    clash = graph.linear(product, "project.product", limit=limit, bias=False)
    total = graph.node("Add", graph.node("Add", clash, linear), part_of(graph, own, width, middle))
    return graph.node("Relu", total)
