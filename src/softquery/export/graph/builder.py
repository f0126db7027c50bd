"""A small writer of ONNX graphs whose weights stay outside."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from softquery.runtime.graph_weights import EXTRA, SCALE
from softquery.runtime.graphs import USED

OPSET = 17
IR_VERSION = 9
"""Old enough for every ONNX Runtime that the package accepts."""


class Quantised(NamedTuple):
    """A value as bytes: its name, the name of its scale, and the byte that means zero."""

    values: str
    scale: str
    zero: int


class Graph:
    """Nodes in the order they are added; each call returns the name of what it computes.

    Args:
        name: Such as `"encode"`.
        weights: The arrays the graph may use, as `arrange` lays them out; only their names, types
            and shapes go into the file.
        prefix: Before the name of every node; a graph inside another one needs one of its own.
        limits: The largest absolute value that each linear layer reads, where it was measured.
    """

    def __init__(
        self,
        name: str,
        weights: dict[str, NDArray[Any]],
        prefix: str = "",
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self.name = name
        self.weights = weights
        self.prefix = prefix
        self.limits = limits or {}
        self.read: dict[str, str] = {}
        """What each linear layer reads."""
        self.nodes: list[onnx.NodeProto] = []
        self.used: dict[str, NDArray[Any]] = {}
        self.constants: dict[str, onnx.TensorProto] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: int, shape: Sequence[Any]) -> str:
        """A tensor that is given when the graph runs."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, value: str, name: str, kind: int, shape: Sequence[Any] | None) -> None:
        """Give a computed value a public name, unless it bears it; its shape may be left open."""
        if value != name:
            self.node("Identity", value, name=name)
        axes = None if shape is None else list(shape)
        self.outputs.append(helper.make_tensor_value_info(name, kind, axes))

    def node(
        self, operator: str, *inputs: str, name: str = "", domain: str = "", **settings: Any
    ) -> str:
        """Add one operation."""
        result = name or f"{self.prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, list(inputs), [result], domain=domain, **settings)
        )
        return result

    def split(self, value: str, sizes: Sequence[int], *, axis: int) -> list[str]:
        """Cut a value into parts of these sizes."""
        results = [f"{self.prefix}split_{len(self.nodes)}_{part}" for part in range(len(sizes))]
        inputs = [value, self.constant(list(sizes), np.int64)]
        self.nodes.append(helper.make_node("Split", inputs, results, axis=axis))
        return results

    def scan(self, body: "Graph", states: Sequence[str], steps: Sequence[str]) -> list[str]:
        """Run a graph once for each entry of the steps' first axis.

        Args:
            body: Takes states and one step, gives the next states and what is collected; with a
                prefix of its own.
            states: Where it begins.
            steps: What it reads.

        Returns:
            The last states, and then everything that was collected, one entry per step.
        """
        self.used |= body.used
        self.constants |= body.constants
        inner = helper.make_graph(body.nodes, body.name, body.inputs, body.outputs)
        results = [f"{each.name}_all" for each in body.outputs]
        self.nodes.append(
            helper.make_node(
                "Scan", [*states, *steps], results, body=inner, num_scan_inputs=len(steps)
            )
        )
        return results

    def weight(self, name: str) -> str:
        """Use a weight by its name."""
        self.used[name] = self.weights[name]
        return name

    def has(self, name: str) -> bool:
        """Whether there is such a weight."""
        return name in self.weights

    def constant(self, values: Sequence[int] | Sequence[float] | float, kind: type) -> str:
        """A small constant inside the graph."""
        array: NDArray[Any] = np.array(values, dtype=kind)
        name = f"const_{array.dtype}_{'_'.join(map(str, array.ravel().tolist()))}_{array.ndim}"
        self.constants[name] = onnx.numpy_helper.from_array(array, name)
        return name

    def array(self, name: str, values: NDArray[Any]) -> str:
        """A constant inside the graph that is too long to be called by its values."""
        self.constants[name] = onnx.numpy_helper.from_array(values, name)
        return name

    def linear(
        self, value: str, name: str, *, limit: float | None = None, bias: bool = True
    ) -> str:
        """A linear layer: int8 where its weight is.

        Args:
            value: What it reads.
            name: The layer.
            limit: The largest absolute value of its input; in int8, larger ones are cut to it. None
                for the one that was measured.
            bias: Whether it has one.
        """
        weight = f"{name}.weight"
        self.read[name] = value
        if self.has(weight + SCALE):
            return self.product(self.quantised(value, limit or self.limits[name]), name, bias=bias)
        product = self.node("MatMul", value, self.weight(weight))
        return self.node("Add", product, self.weight(f"{name}.bias")) if bias else product

    def quantised(self, value: str, limit: float, *, zero: int = 128) -> Quantised:
        """A value as bytes.

        Args:
            value: In float32.
            limit: The absolute value that lies 127 steps from zero.
            zero: The byte of zero: 128 for values of both signs, 0 for those that are not negative.
        """
        scale = self.constant(limit / 127, np.float32)
        small = self.node("QuantizeLinear", value, scale, self.constant(zero, np.uint8))
        return Quantised(small, scale, zero)

    def product(self, small: Quantised, name: str, *, bias: bool = True) -> str:
        """An int8 layer over bytes, as float32."""
        weight = f"{name}.weight"
        known = [self.weight(weight + kind) for kind in ("", SCALE, ":zero")]
        zero = self.constant(small.zero, np.uint8)
        inputs = [small.values, known[0], small.scale, known[1], zero, known[2]]
        if bias:
            inputs.append(self.weight(f"{name}.bias"))
        return self.node("MatMulIntegerToFloat", *inputs, domain="com.microsoft")

    def table(self, ids: str, name: str) -> str:
        """Rows of an embedding table as float32."""
        weight = f"{name}.weight"
        rows = self.node("Gather", self.weight(weight), ids)
        if not self.has(weight + SCALE):
            return rows
        wide = self.node("Cast", rows, to=TensorProto.FLOAT)
        scale = self.node("Gather", self.weight(weight + SCALE), ids)
        scale = self.node("Unsqueeze", scale, self.constant([-1], np.int64))
        return self.node("Mul", wide, scale)

    def recurrent(
        self, steps: str, lengths: str, name: str, *, limit: float, signed: bool = True
    ) -> str:
        """Both directions over [T, B, D] within each row's length: [T, 2, B, H].

        Args:
            steps: What it reads.
            lengths: Of the rows.
            name: The layer.
            limit: The largest absolute value of its input; in int8, larger ones are cut to it.
            signed: Whether its input may be negative.
        """
        size = self.hidden_size(name)
        settings: dict[str, Any] = {"hidden_size": size, "direction": "bidirectional"}
        if self.has(f"{name}.W{SCALE}"):
            settings["hidden_size"] = size + EXTRA
            tail = [f"{name}.{letter}{kind}" for letter in "WR" for kind in (SCALE, ":zero")]
            inputs = [self._with_ends(steps, limit, signed)]
            inputs += [self.weight(f"{name}.{letter}") for letter in "WRB"]
            inputs += [lengths, "", "", "", *(self.weight(each) for each in tail)]
            states = self.node("DynamicQuantizeLSTM", *inputs, domain="com.microsoft", **settings)
            bounds = [self.constant([value], np.int64) for value in (0, size, 3)]
            return self.node("Slice", states, *bounds)
        inputs = [steps, *(self.weight(f"{name}.{letter}") for letter in "WRB"), lengths]
        if self.gates(name) == 3:
            return self.node("GRU", *inputs, linear_before_reset=1, **settings)
        return self.node("LSTM", *inputs, **settings)

    def _with_ends(self, steps: str, limit: float, signed: bool) -> str:
        """[T, B, D] cut to the limit, with the ends of its range as two more features."""
        low, high = (self.constant(end, np.float32) for end in (-limit, limit))
        value = self.node("Clip", steps, low, high)
        if not signed:  # zeros are always in the range
            return self.node("Pad", value, self.constant([0] * 5 + [EXTRA], np.int64), high)
        for end in (low, high):
            value = self.node("Pad", value, self.constant([0] * 5 + [1], np.int64), end)
        return value

    def hidden_size(self, name: str) -> int:
        """Width of one direction: its recurrent matrix has that side besides the gates'."""
        extra = EXTRA if self.has(f"{name}.R{SCALE}") else 0
        return int(min(self.weights[f"{name}.R"].shape[1:])) - extra

    def width(self, name: str) -> int:
        """Of what a linear layer gives."""
        return int(self.weights[f"{name}.weight"].shape[1])

    def gates(self, name: str) -> int:
        """4 for an LSTM, 3 for a GRU."""
        return int(self.weights[f"{name}.B"].shape[1]) // (2 * self.hidden_size(name))

    def to_bytes(self) -> bytes:
        """The graph as a file, its weights declared as lying elsewhere."""
        graph = helper.make_graph(
            self.nodes,
            self.name,
            self.inputs,
            self.outputs,
            [*self.constants.values(), *(_elsewhere(name, a) for name, a in self.used.items())],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        model.producer_name = "softquery"
        return bytes(model.SerializeToString(deterministic=True))


def graph_files(graphs: Sequence[Graph]) -> dict[str, bytes]:
    """The files of a bundle's `onnx/` folder: every graph, and which weights each of them uses."""
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    return {**files, USED: (json.dumps(used, indent=1) + "\n").encode()}


def _elsewhere(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, dims=array.shape)
    tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "model.safetensors"), ("length", str(array.nbytes))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor
