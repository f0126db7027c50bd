"""What a graph may consist of, looked at before ONNX Runtime sees it. Needs no `onnx`.

A graph is data, but data that is computed by: with the right operators it could loop without end or
read files beside the bundle. So only operators are allowed that `softquery.export` writes, each of
which costs what its inputs' sizes say; weights are handed over and never looked for on the disk.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

_OURS = {
    "Abs", "Add", "Cast", "Clip", "Concat", "Conv", "CumSum", "Div", "Equal", "Erf", "Expand",
    "GRU", "Gather", "Gemm", "Identity", "LSTM", "LayerNormalization", "Less", "LogSoftmax",
    "LpNormalization", "MatMul", "Max", "Min", "Mul", "Not", "Pad", "QuantizeLinear", "RNN",
    "Range", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Scan", "Shape",
    "Sigmoid", "Slice", "Softmax", "Split", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose",
    "Unsqueeze", "Where",
}  # fmt: skip
OPERATORS = {"": _OURS, "com.microsoft": {"DynamicQuantizeLSTM", "MatMulIntegerToFloat"}}
"""The operators of each domain that a graph may use."""
SCAN = "Scan"
"""The one operator with a graph inside, which runs once per entry of what it reads."""
MOST_NODES = 20_000

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class _Model(NamedTuple):
    """Numbers of fields in onnx.proto."""

    graph: int = 7
    functions: int = 25


class _Graph(NamedTuple):
    node: int = 1
    initializer: int = 5
    sparse_initializer: int = 15


class _Node(NamedTuple):
    op_type: int = 4
    attribute: int = 5
    domain: int = 7


class _Attribute(NamedTuple):
    tensor: int = 5
    graph: int = 6
    tensors: int = 10
    graphs: int = 11
    sparse_tensor: int = 22
    sparse_tensors: int = 23


class _Tensor(NamedTuple):
    name: int = 8
    external_data: int = 13
    data_location: int = 14


_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR = _Model(), _Graph(), _Node(), _Attribute(), _Tensor()


def check_graph(content: bytes, weights: Collection[str]) -> None:
    """Refuse a graph with an operator, a function or a place of weights that none of ours has.

    Args:
        content: An ONNX file.
        weights: The names of the weights that it is handed.

    Raises:
        ValueError: What is wrong with it.
    """
    graphs = 0
    for number, value in fields(memoryview(content)):
        if number == _MODEL.functions:
            raise ValueError("it defines functions")
        if number == _MODEL.graph and isinstance(value, memoryview):
            graphs += 1
            _check_body(value, weights, inside=False)
    if graphs != 1:
        raise ValueError("it is not one graph")


def _check_body(graph: memoryview, weights: Collection[str], *, inside: bool) -> None:
    num_nodes = 0
    for number, value in fields(graph):
        if number == _GRAPH.sparse_initializer:
            raise ValueError("it holds sparse weights")
        if not isinstance(value, memoryview):
            continue
        if number == _GRAPH.initializer:
            _check_tensor(value, () if inside else weights)
        elif number == _GRAPH.node:
            num_nodes += 1
            _check_node(value, inside=inside)
    if num_nodes > MOST_NODES:
        raise ValueError(f"it has more than {MOST_NODES:,} operations")


def _check_node(node: memoryview, *, inside: bool) -> None:
    # What stands twice is looked at twice: libraries take the last of them.
    parts = list(fields(node))
    domains = [_text(value) for number, value in parts if number == _NODE.domain] or [""]
    operators = [_text(value) for number, value in parts if number == _NODE.op_type] or [""]
    for domain in domains:
        for operator in operators:
            if operator not in OPERATORS.get(domain, ()):
                named = f"{domain}.{operator}" if domain else operator
                raise ValueError(f"the operator {named!r:.60} is not allowed")
    if inside and SCAN in operators:
        raise ValueError("a Scan stands inside another")
    for number, value in parts:
        if number == _NODE.attribute and isinstance(value, memoryview):
            _check_attribute(value, may_hold_graph=operators == [SCAN])


def _check_attribute(attribute: memoryview, *, may_hold_graph: bool) -> None:
    for number, value in fields(attribute):
        if number in (_ATTRIBUTE.graph, _ATTRIBUTE.graphs) and isinstance(value, memoryview):
            if not may_hold_graph:
                raise ValueError("a graph stands inside an operation that takes none")
            _check_body(value, (), inside=True)
        elif number in (_ATTRIBUTE.sparse_tensor, _ATTRIBUTE.sparse_tensors):
            raise ValueError("it holds sparse weights")
        elif number in (_ATTRIBUTE.tensor, _ATTRIBUTE.tensors) and isinstance(value, memoryview):
            _check_tensor(value, ())


def _check_tensor(tensor: memoryview, weights: Collection[str]) -> None:
    """An array lies in the graph, or is one of the weights that are handed over."""
    parts = list(fields(tensor))
    is_elsewhere = any(
        number == _TENSOR.external_data or (number == _TENSOR.data_location and value)
        for number, value in parts
    )
    names = [_text(value) for number, value in parts if number == _TENSOR.name] or [""]
    if is_elsewhere and not all(name in weights for name in names):
        raise ValueError(f"{names[-1]!r:.60} lies in another file")


def _text(value: memoryview | int) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, memoryview) else ""


def fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """The fields of a message in protobuf's encoding: numbers, and their values.

    >>> list(fields(memoryview(bytes([8, 150, 1, 16, 3]))))
    [(1, 150), (2, 3)]
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            size, place = _varint(message, place)
        elif kind in (_FIXED_64, _FIXED_32):
            size = 8 if kind == _FIXED_64 else 4
        else:
            raise ValueError("it is not an ONNX graph")
        if place + size > len(message):
            raise ValueError("it breaks off")
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise ValueError("it breaks off")
        byte = message[place]
        value, place = value | (byte & 0x7F) << shift, place + 1
        if byte < 0x80:
            return value, place
    raise ValueError("it is not an ONNX graph")
