"""What a graph may consist of: what the export writes, and nothing that loops or reads files."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import softquery
import softquery.export.graph
from softquery.errors import BundleError
from softquery.runtime.graph_checks import OPERATORS, check_graph

onnx = pytest.importorskip("onnx")
helper, kind = onnx.helper, onnx.TensorProto

VALUE = helper.make_tensor_value_info("x", kind.FLOAT, [1])
RESULT = helper.make_tensor_value_info("y", kind.FLOAT, [1])


def model_of(*nodes, initializers=(), **facts):
    graph = helper.make_graph(list(nodes), "g", [VALUE], [RESULT], list(initializers))
    return helper.make_model(graph, **facts)


def body(*nodes):
    return helper.make_graph(list(nodes), "inside", [VALUE], [RESULT])


def external(name):
    tensor = onnx.TensorProto(name=name, dims=[1], data_type=kind.FLOAT)
    tensor.data_location = kind.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    return tensor


RELU = helper.make_node("Relu", ["x"], ["y"])
SOUND = [
    model_of(RELU),
    model_of(RELU, initializers=[external("w")]),
    model_of(helper.make_node("Scan", ["x"], ["y"], body=body(RELU), num_scan_inputs=1)),
]


@pytest.mark.parametrize("model", SOUND)
def test_what_the_export_writes_is_allowed(model):
    check_graph(model.SerializeToString(), ["w"])


def every_operator_of_the_export():
    folder = Path(softquery.export.graph.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    cells = re.search(r"operator = {(.*)}", text)
    chosen = re.findall(r': "(\w+)"', cells[1] if cells else "")
    return {*re.findall(r'(?:node|make_node)\(\s*"(\w+)"', text), *chosen}


def test_every_operator_that_the_export_writes_is_allowed():
    found = every_operator_of_the_export()
    assert {"MatMul", "DynamicQuantizeLSTM", "Scan", "RNN"} <= found
    assert found <= set().union(*OPERATORS.values())


REFUSED = {
    "a loop": (
        model_of(helper.make_node("Loop", ["x"], ["y"], body=body(RELU))),
        "the operator 'Loop' is not allowed",
    ),
    "a branch": (
        model_of(helper.make_node("If", ["x"], ["y"], then_branch=body(RELU))),
        "the operator 'If' is not allowed",
    ),
    "another domain": (
        model_of(helper.make_node("Relu", ["x"], ["y"], domain="evil")),
        r"the operator 'evil\.Relu' is not allowed",
    ),
    "an operator of ours in another domain": (
        model_of(helper.make_node("DynamicQuantizeLSTM", ["x"], ["y"])),
        "is not allowed",
    ),
    "a loop inside a scan": (
        model_of(
            helper.make_node(
                "Scan", ["x"], ["y"], body=body(helper.make_node("Loop", ["x"], ["y"]))
            )
        ),
        "the operator 'Loop' is not allowed",
    ),
    "a scan inside a scan": (
        model_of(
            helper.make_node(
                "Scan", ["x"], ["y"], body=body(helper.make_node("Scan", ["x"], ["y"]))
            )
        ),
        "a Scan stands inside another",
    ),
    "a graph where none belongs": (
        model_of(helper.make_node("Relu", ["x"], ["y"], body=body(RELU))),
        "a graph stands inside an operation that takes none",
    ),
    "weights in another file": (
        model_of(RELU, initializers=[external("w"), external("other")]),
        "'other' lies in another file",
    ),
    "weights in another file, inside an operation": (
        model_of(helper.make_node("Relu", ["x"], ["y"], value=external("w"))),
        "'w' lies in another file",
    ),
    "functions": (
        model_of(
            RELU,
            functions=[
                helper.make_function("f", "F", ["x"], ["y"], [RELU], [helper.make_opsetid("", 17)])
            ],
        ),
        "it defines functions",
    ),
    "no graph": (onnx.ModelProto(), "it is not one graph"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_never_writes_is_refused(name):
    model, reason = REFUSED[name]
    with pytest.raises(ValueError, match=reason):
        check_graph(model.SerializeToString(), ["w"])


def test_of_what_stands_twice_both_are_looked_at():
    """A parser takes the last; which one a reader took must not matter."""
    twice = RELU.SerializeToString() + onnx.NodeProto(op_type="Loop").SerializeToString()
    length = bytes([len(twice)])
    graph = b"\x0a" + length + twice
    with pytest.raises(ValueError, match="the operator 'Loop' is not allowed"):
        check_graph(b"\x3a" + bytes([len(graph)]) + graph, [])


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"\x3a\xff\x01", b"\x3b", bytes(10)])
def test_what_is_no_graph_is_refused(content):
    with pytest.raises(ValueError, match="it is not|it breaks off"):
        check_graph(content, [])


def test_a_cut_inside_the_graph_is_refused():
    whole = SOUND[2].SerializeToString()
    end = whole.index(b"inside") + 20
    for size in range(end):
        with pytest.raises(ValueError, match="it is not|it breaks off"):
            check_graph(whole[:size], [])


def test_a_loop_without_end_is_refused_before_it_runs(float_bundle, tmp_path):
    folder = shutil.copytree(float_bundle, tmp_path / "model")
    path = folder / "onnx" / "encode.onnx"
    model = onnx.load_from_string(path.read_bytes())
    rounds = onnx.numpy_helper.from_array(np.array(2**62), "rounds")
    go = onnx.numpy_helper.from_array(np.array(True), "go")
    model.graph.initializer.extend([rounds, go])
    model.graph.node.append(helper.make_node("Loop", ["rounds", "go"], ["z"], body=body(RELU)))
    path.write_bytes(model.SerializeToString())
    message = r"encode\.onnx: cannot be run \(the operator 'Loop' is not allowed\)$"
    with pytest.raises(BundleError, match=message):
        softquery.load(folder)
