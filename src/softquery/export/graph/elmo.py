"""ELMo's biLM as two graphs: `read` tokens without their context, and `context` in one direction.

ONNX has no LSTM with a projection. What of a step does not depend on the step before, the product
of its input, is computed for all steps at once; the rest is a Scan (`benchmarks/embed` compares
it with the alternatives).

U distinct tokens, C characters, E width of a character, W widest window, F filters in all, T steps,
B sentences, L layers, P width of a direction, H of its cell.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from softquery.export.graph.builder import Graph
from softquery.runtime.embed.elmo import WORDS, BiLmSizes, bilm_weights
from softquery.text import UNK_ID
from softquery.text.characters import FILLER
from softquery.text.spelling_keys import multipliers

LAST = np.iinfo(np.int64).max
"""The end of a slice that goes to the end."""


def bilm_graphs(stored: dict[str, NDArray[Any]], sizes: BiLmSizes, prefix: str = "") -> list[Graph]:
    """The graphs `read` and `context` of a biLM, for its own bundle or for one around it.

    Args:
        stored: As float32, by torch's names.
        sizes: The biLM's.
        prefix: What stands before the names of its weights.
    """
    reader, ahead, _ = bilm_weights(stored, sizes, prefix)
    return [read_graph(reader, sizes), context_graph(ahead, sizes)]


def read_graph(weights: dict[str, NDArray[Any]], sizes: BiLmSizes) -> Graph:
    """Characters [U, C] to vectors [U, P] (`softquery.nn.CharacterCnn`, or `WordLookup`).

    Columns that hold filling alone, beyond as many as the widest filter sees, may be left out.
    """
    graph = Graph("read", weights)
    characters = graph.input("characters", TensorProto.INT32, ["tokens", "characters"])
    if sizes.reads == WORDS:
        vector = graph.node("Gather", graph.weight("table"), _looked_up(graph, characters, sizes))
        graph.output(vector, "vectors", TensorProto.FLOAT, ["tokens", sizes.width])
        return graph
    found = graph.node("MatMul", _windows(graph, characters, sizes), graph.weight("kernel"))
    groups = graph.split(found, sizes.filters, axis=2)
    strongest = [
        graph.node("ReduceMax", _inside(graph, group, width), axes=[1], keepdims=0)
        for group, width in zip(groups, sizes.widths, strict=True)
    ]
    pooled = graph.node("Concat", *strongest, axis=1) if len(strongest) > 1 else strongest[0]
    vector = graph.node("Add", pooled, graph.weight("bias"))
    vector = graph.node("Relu" if sizes.activation == "relu" else "Tanh", vector)
    for place in range(sizes.num_highways):
        vector = _highway(graph, vector, f"highway.{place}", sizes.num_filters)
    vector = graph.linear(vector, "projection", limit=1)
    graph.output(vector, "vectors", TensorProto.FLOAT, ["tokens", sizes.width])
    return graph


def _looked_up(graph: Graph, characters: str, sizes: BiLmSizes) -> str:
    """The row of each word in a table: its number is looked for among those of the table's words.

    In ever smaller steps to the first that is not below it, as ONNX has no such search; a number
    above all others ends beyond the last, which is none of them either.
    """
    number = partial(graph.constant, kind=np.int64)
    symbols = graph.node("Cast", characters, to=TensorProto.INT64)
    is_filling = graph.node("Equal", symbols, number([FILLER]))
    counted = graph.node("Where", is_filling, number([0]), symbols)
    factors = graph.array("factors", multipliers(sizes.max_characters))
    length = graph.node("Shape", characters, start=1, end=2)
    factors = graph.node("Slice", factors, number([0]), length)
    # A sum would be one of floating-point numbers in ONNX Runtime; a product is exact.
    asked = graph.node("MatMul", counted, factors)
    keys, count = graph.weight("keys"), len(graph.weights["keys"])
    last = number([count - 1])
    place = graph.node("Mul", asked, number([0]))
    for power in reversed(range(count.bit_length())):
        further = graph.node("Add", place, number([1 << power]))
        at = graph.node("Min", graph.node("Sub", further, number([1])), last)
        is_below = graph.node("Less", graph.node("Gather", keys, at), asked)
        place = graph.node("Where", is_below, further, place)
    at = graph.node("Min", place, last)
    is_known = graph.node("Equal", graph.node("Gather", keys, at), asked)
    row = graph.node("Gather", graph.weight("rows"), at)
    return graph.node("Where", is_known, row, number([UNK_ID]))


def context_graph(weights: dict[str, NDArray[Any]], sizes: BiLmSizes) -> Graph:
    """Vectors [T, B, P] in reading order to the states of every layer, with where it stopped.

    `is_real` [T, B, 1] is false at padding, which leaves a sentence's state as it was; what layers
    say there means nothing. `hidden` [L, B, P] and `cell` [L, B, H] are where reading begins.
    """
    graph = Graph("context", weights)
    width, hidden_size, count = sizes.width, sizes.hidden_size, sizes.num_layers
    inputs = graph.input("vectors", TensorProto.FLOAT, ["steps", "batch", width])
    is_real = graph.input("is_real", TensorProto.BOOL, ["steps", "batch", 1])
    hidden = graph.input("hidden", TensorProto.FLOAT, [count, "batch", width])
    cell = graph.input("cell", TensorProto.FLOAT, [count, "batch", hidden_size])
    begins = [_of_layers(graph, state, count) for state in (hidden, cell)]
    last: list[list[str]] = []
    for place in range(count):
        product = graph.node("MatMul", inputs, graph.weight(f"{place}.input"))
        gates = graph.node("Add", product, graph.weight(f"{place}.bias"))
        begin = [states[place] for states in begins]
        *states, above = graph.scan(_step(weights, sizes, place), begin, [gates, is_real])
        last.append(states)
        if sizes.residual and place:
            above = graph.node("Add", above, inputs)
        graph.output(above, f"layer_{place + 1}", TensorProto.FLOAT, ["steps", "batch", width])
        inputs = above
    for name, size, parts in zip(
        ("last_hidden", "last_cell"), (width, hidden_size), zip(*last, strict=True), strict=True
    ):
        rows = [graph.node("Unsqueeze", each, graph.constant([0], np.int64)) for each in parts]
        stacked = graph.node("Concat", *rows, axis=0)
        graph.output(stacked, name, TensorProto.FLOAT, [count, "batch", size])
    return graph


def _of_layers(graph: Graph, state: str, count: int) -> list[str]:
    """[L, B, …] as one state [B, …] a layer."""
    first = graph.constant([0], np.int64)
    return [graph.node("Squeeze", each, first) for each in graph.split(state, [1] * count, axis=0)]


def _windows(graph: Graph, characters: str, sizes: BiLmSizes) -> str:
    """What stands at each place and after it, as wide as the widest filter: [U, C, W E]."""
    widest = max(sizes.widths)
    embedded = graph.node("Gather", graph.weight("table"), characters)
    if widest == 1:
        return embedded
    zero = graph.constant(0.0, np.float32)
    room = graph.constant([0, 0, 0, 0, widest - 1, 0], np.int64)
    padded = graph.node("Pad", embedded, room, zero)
    shifted = [
        _places(graph, padded, first, first + 1 - widest if first + 1 < widest else LAST)
        for first in range(widest)
    ]
    return graph.node("Concat", *shifted, axis=2)


def _inside(graph: Graph, found: str, width: int) -> str:
    """The places of [U, C, F] where a filter does not stand out over the end."""
    return found if width == 1 else _places(graph, found, 0, 1 - width)


def _places(graph: Graph, value: str, start: int, end: int) -> str:
    bounds = [graph.constant([each], np.int64) for each in (start, end, 1)]
    return graph.node("Slice", value, *bounds)


def _highway(graph: Graph, vector: str, name: str, size: int) -> str:
    """X + g ⊙ (relu(W x + b) − x), both matrices as one."""
    change, gate = graph.split(graph.linear(vector, name, limit=1), [size, size], axis=1)
    difference = graph.node("Sub", graph.node("Relu", change), vector)
    share = graph.node("Mul", graph.node("Sigmoid", gate), difference)
    return graph.node("Add", vector, share)


def _step(weights: dict[str, NDArray[Any]], sizes: BiLmSizes, place: int) -> Graph:
    """One step of one layer (`softquery.nn.ProjectedLstm.step`), for a Scan."""
    prefix, size, width = f"layer_{place}_", sizes.hidden_size, sizes.width
    step = Graph("step", weights, prefix)
    hidden = step.input(f"{prefix}hidden", TensorProto.FLOAT, ["batch", width])
    cell = step.input(f"{prefix}cell", TensorProto.FLOAT, ["batch", size])
    gates = step.input(f"{prefix}gates", TensorProto.FLOAT, ["batch", 4 * size])
    is_real = step.input(f"{prefix}is_real", TensorProto.BOOL, ["batch", 1])
    total = step.node("Gemm", hidden, step.weight(f"{place}.recurrent"), gates)
    squashed, candidate = step.split(total, [3 * size, size], axis=1)
    enter, forget, leave = step.split(step.node("Sigmoid", squashed), [size] * 3, axis=1)
    taken = step.node("Mul", enter, step.node("Tanh", candidate))
    new_cell = step.node("Add", step.node("Mul", forget, cell), taken)
    new_cell = _clipped(step, new_cell, sizes.cell_clip)
    shown = step.node("Mul", leave, step.node("Tanh", new_cell))
    new_hidden = step.node("MatMul", shown, step.weight(f"{place}.projection"))
    new_hidden = _clipped(step, new_hidden, sizes.projection_clip)
    kept = [
        step.node("Where", is_real, new, old)
        for new, old in ((new_hidden, hidden), (new_cell, cell))
    ]
    for value, name, wide in (
        (kept[0], "next_hidden", width), (kept[1], "next_cell", size), (new_hidden, "above", width),
    ):  # fmt: skip
        step.output(value, f"{prefix}{name}", TensorProto.FLOAT, ["batch", wide])
    return step


def _clipped(graph: Graph, value: str, limit: float) -> str:
    if not limit:
        return value
    return graph.node("Clip", value, *(graph.constant(end, np.float32) for end in (-limit, limit)))
