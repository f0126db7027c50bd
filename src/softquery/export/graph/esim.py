"""ESIM as two graphs: `encode` one sentence, `compare` two encodings.

With the projection folded (see `fold_projection`), the part of [a; ã; a − ã; a ⊙ ã] that is linear
in a and in ã belongs to `encode`, because ã is a mixture of the other sentence's b. A pair pays
only for the alignment, W4 (a ⊙ ã) and the composer (`softquery.export.graph.composition`).

B pairs, T tokens of either side, S projection size, D width of what is scored and multiplied: of
the states (twice the hidden size) and of what a biLM lays beside them, or of their projection for
the alignment. An encoding is [T, D + 2 S]: a (D), W1' a + bias (S), W2' a (S).
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
    rows_of,
    sentence_steps,
)
from softquery.export.graph.builder import Graph
from softquery.export.graph.composition import pooled_composition

ALIGNMENT = "alignment"
PARTS = ("own", "aligned", "difference", "product")
FOLDED = ("own", "aligned", "product")


def fold_projection(
    weight: NDArray[np.float32], parts: tuple[str, ...], *, width: int = 0, product_size: int = 0
) -> NDArray[np.float32]:
    """W of [a; ã; a − ã; a ⊙ ã] as (W1 + W3), (W2 − W3), W4 of [a; ã; a ⊙ ã].

    Exact algebra: W1 a + W2 ã + W3 (a − ã) + W4 (a ⊙ ã); a part that was left out counts as zero.

    Args:
        weight: W.
        parts: Those that it reads.
        width: Of the states; 0 where all parts are as wide.
        product_size: Width of a ⊙ ã, likewise.

    >>> parts = ("own", "aligned", "difference", "product")
    >>> fold_projection(np.array([[1.0, 2.0, 3.0, 4.0]]), parts)
    array([[ 4., -1.,  4.]])
    """
    width = width or weight.shape[1] // len(parts)
    blocks = {part: np.zeros((len(weight), width), weight.dtype) for part in PARTS}
    blocks["product"] = np.zeros((len(weight), product_size or width), weight.dtype)
    start = 0
    for part in parts:
        end = start + blocks[part].shape[1]
        blocks[part], start = weight[:, start:end], end
    own, aligned, difference, product = (blocks[part] for part in PARTS)
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
    compared = states
    if graph.has(ALIGNMENT + ".weight"):
        compared = graph.linear(states, ALIGNMENT, limit=ranges.states, bias=False)
    own = graph.linear(states, "project.own", limit=ranges.states)
    aligned = graph.linear(states, "project.aligned", limit=ranges.states, bias=False)
    encoding = graph.node("Concat", compared, own, aligned, axis=2)
    size = sum(_widths(graph))
    graph.output(encoding, "encoding", TensorProto.FLOAT, ["batch", "tokens", size])
    return graph


def compare_graph(weights: dict[str, NDArray[Any]], ranges: MatchRanges) -> Graph:
    """Two encodings to logits and both alignments; the first side may be one for all pairs."""
    graph = Graph("compare", weights)
    sides, lengths, parts = [], [], []
    widths = _widths(graph)
    for side, batch in (("first", "one_or_batch"), ("second", "batch")):
        shape = (batch, f"{side}_tokens", sum(widths))
        sides.append(graph.input(side, TensorProto.FLOAT, shape))
        lengths.append(graph.input(f"{side}_lengths", TensorProto.INT32, [batch]))
        parts.append(graph.split(sides[-1], widths, axis=2))
    real = [is_real(graph, side, length) for side, length in zip(sides, lengths, strict=True)]
    to_second, to_first = _alignments(graph, parts[0][0], parts[1][0], real)
    pairs = graph.node("Shape", lengths[1])
    pooled = []
    for place, weights_of in enumerate((to_second, to_first)):
        local = _local(graph, parts[place], parts[1 - place], weights_of, limit=ranges.product)
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


def _widths(graph: Graph) -> list[int]:
    """Of the three parts of an encoding: D, S, S."""
    width, size = graph.weights["project.product.weight"].shape
    return [int(width), int(size), int(size)]


def _alignments(graph: Graph, first: str, second: str, real: list[str]) -> tuple[str, str]:
    """Whom each token looks at, from the first side to the second and back."""
    # Where there is one first side for all, ONNX Runtime makes one product of this, and many small
    # ones of its transpose.
    scores = graph.node("MatMul", second, graph.node("Transpose", first, perm=[0, 2, 1]))
    turned = graph.node("Transpose", scores, perm=[0, 2, 1])
    return masked_softmax(graph, turned, real[1]), masked_softmax(graph, scores, real[0])


def _local(graph: Graph, own: list[str], other: list[str], weights_of: str, *, limit: float) -> str:
    """W1' a + W2' ã + W4 (a ⊙ ã) + bias, of which the ReLU is F: [B, T, S]."""
    about, linear = (graph.node("MatMul", weights_of, other[part]) for part in (0, 2))
    product = graph.node("Mul", own[0], about)
    clash = graph.linear(product, "project.product", limit=limit, bias=False)
    return graph.node("Add", graph.node("Add", clash, linear), own[1])
