"""Composers in graphs: from what a pair's words became beside each other to pooled vectors.

Which composer it is shows in its weights: a recurrence has `composer.R`, the others have layers
over a window of tokens. A layer over a window is one matrix product over shifted copies: ONNX
Runtime's own convolution is several times slower on matrices of this size.

B pairs, T tokens, P width of what is composed, W tokens of a window.
"""

import numpy as np

from softquery.export.graph.blocks import MatchRanges, max_pool, mean_pool, rows_of
from softquery.export.graph.builder import Graph
from softquery.runtime.graph_weights import SCALE

NAME = "composer"
FARTHEST = np.iinfo(np.int64).max
"""An end of a slice that is never reached."""


def pooled_composition(
    graph: Graph, local: str, real: str, lengths: str, ranges: MatchRanges
) -> list[str]:
    """Mean and maximum over the composed states of one side of every pair: two times [B, E].

    Args:
        graph: To which it is added.
        local: [B, T, P] before its ReLU; padding may hold anything.
        real: 1 at tokens and 0 at padding: [B, T], or [1, T] where all sides are one.
        lengths: Of the rows, [B].
        ranges: What int8 has to hold.
    """
    if graph.has(f"{NAME}.R"):
        steps = graph.node("Transpose", graph.node("Relu", local), perm=[1, 0, 2])
        states = graph.recurrent(steps, lengths, NAME, limit=ranges.local, signed=False)
        composed = rows_of(graph, states)
        return [mean_pool(graph, composed, lengths), max_pool(graph, composed, lengths)]
    mask = graph.node("Unsqueeze", real, graph.constant([2], np.int64))
    states = local
    for number, limit in enumerate((ranges.local, ranges.composed)):
        states = graph.node("Mul", states, mask)
        states = window_layer(graph, states, f"{NAME}.layers.{number}", limit)
    states = graph.node("Mul", graph.node("Relu", states), mask)
    # Nothing is below 0, and padding is 0: the maximum needs no mask.
    return [
        mean_pool(graph, states, lengths),
        graph.node("ReduceMax", states, axes=[1], keepdims=0),
    ]


def window_layer(graph: Graph, states: str, name: str, limit: float) -> str:
    """A linear layer over ReLUs of every token and its neighbours, int8 where its weight is.

    In int8, values up to the limit have seven bits, as in other layers, and larger ones up to twice
    the limit are held, too. Sums of two products below the limit fit into 16 bits, in which older
    processors add them up. No byte is below zero, so that nothing else has to rectify.

    Args:
        graph: To which it is added.
        states: [B, T, P], zero at padding.
        name: The layer.
        limit: The largest value that was met.

    Returns:
        [B, T, E].
    """
    weight = f"{name}.weight"
    is_first = name.endswith(".0")
    given = graph.width("project.own" if is_first else f"{NAME}.layers.0")
    window = int(graph.weights[weight].shape[0]) // given
    if not graph.has(weight + SCALE):
        rectified = graph.node("Relu", states)
        return graph.linear(with_neighbours(graph, rectified, window, np.float32), name)
    small = graph.quantised(states, limit, zero=0)
    near = with_neighbours(graph, small.values, window, np.uint8)
    return graph.product(small._replace(values=near), name)


def window_linear(graph: Graph, states: str, name: str, window: int) -> str:
    """A linear layer over every token and its neighbours, as `Graph.linear` has it: [B, T, E].

    In int8, the copies are made of bytes.

    Args:
        graph: To which it is added.
        states: [B, T, P], zero at padding.
        name: The layer.
        window: Tokens that it sees.
    """
    if not graph.has(f"{name}.weight{SCALE}"):
        return graph.linear(with_neighbours(graph, states, window, np.float32), name)
    small = graph.quantised(states, graph.limits[name])
    near = with_neighbours(graph, small.values, window, np.uint8, filling=small.zero)
    return graph.product(small._replace(values=near), name)


def with_neighbours(graph: Graph, states: str, window: int, kind: type, *, filling: int = 0) -> str:
    """[x_{t-1}; x_t; x_{t+1}] of [B, T, P]: [B, T, W P].

    Args:
        graph: To which it is added.
        states: Numbers of this kind.
        window: W.
        kind: Of the numbers.
        filling: What stands beyond both ends: 0, or the byte that means it.
    """
    if window == 1:
        return states
    reach = window // 2
    around = graph.constant([0, reach, 0, 0, reach, 0], np.int64)
    padded = graph.node("Pad", states, around, graph.constant(filling, kind))
    copies = []
    for shift in range(window):
        end = shift - 2 * reach or FARTHEST
        bounds = [graph.constant([value], np.int64) for value in (shift, end, 1)]
        copies.append(states if shift == reach else graph.node("Slice", padded, *bounds))
    return graph.node("Concat", *copies, axis=2)
