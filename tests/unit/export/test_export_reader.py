"""A reader's graphs: small, without weights, int8 behind a gate that is measured in F1."""

import json
from collections import Counter

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

from small_readers import answered, exported_reader, make_reader, random_questions
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export import export_reader
from softquery.export.quantise import SMALLEST
from softquery.export.read import measure_read_ranges, quantise_reader
from softquery.runtime.graph_weights import SCALE
from softquery.runtime.read.model import load_reader


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_reader(tmp_path_factory.mktemp("plain") / "model", size=64)


@pytest.fixture(scope="module")
def rows():
    return answered(random_questions(12))


@pytest.fixture(scope="module")
def int8(plain, rows, tmp_path_factory):
    target = tmp_path_factory.mktemp("int8") / "model"
    report = exported_reader(plain, target, int8=True, limit=100, rows=rows)
    assert report.precision == "int8"
    return report


def graph_of(bundle, name):
    return onnx.load_model_from_string((bundle / "onnx" / f"{name}.onnx").read_bytes()).graph


def operators(graph):
    return Counter(node.op_type for node in graph.node)


def test_graphs_hold_no_weights(int8):
    used = json.loads((int8.bundle / "onnx" / "weights.json").read_text())
    for name in ("encode", "read"):
        path = int8.bundle / "onnx" / f"{name}.onnx"
        assert path.stat().st_size < 16_000
        declared = [
            each
            for each in graph_of(int8.bundle, name).initializer
            if each.data_location == onnx.TensorProto.EXTERNAL
        ]
        assert sorted(each.name for each in declared) == used[name]
        assert all(each.raw_data == b"" for each in declared)
    assert sorted(path.name for path in (int8.bundle / "onnx").iterdir()) == [
        "encode.onnx", "read.onnx", "weights.json"
    ]  # fmt: skip


def test_every_large_matrix_is_int8(int8):
    kinds = operators(graph_of(int8.bundle, "encode")) + operators(graph_of(int8.bundle, "read"))
    assert kinds["DynamicQuantizeLSTM"] == 4  # the encoder, two of modelling, the ending
    assert kinds["LSTM"] == kinds["DynamicQuantizeMatMul"] == 0
    assert kinds["MatMulIntegerToFloat"] == 4  # two matrices of two highways
    stored = load_file(int8.bundle / "model.safetensors")
    for name, values in stored.items():
        if values.ndim == 2 and values.size >= SMALLEST and not name.startswith("spelling."):
            assert values.dtype == np.int8, name
            assert name + SCALE in stored


def test_an_lstm_is_int8_whole_or_not_at_all(tmp_path):
    weights = load_file(make_reader(tmp_path / "narrow", size=16) / "model.safetensors")
    stored = quantise_reader(weights)
    assert not [name for name in stored if ".forwards." in name and name.endswith(SCALE)]


def test_the_gate_is_measured_in_f1(plain, rows, tmp_path):
    report = exported_reader(plain, tmp_path / "kept", int8=True, limit=100, rows=rows)
    assert (report.gate.metric, report.gate.n, report.gate.accepted) == ("f1", 12, True)
    assert read_bundle(report.bundle).metrics["export"]["gate"]["metric"] == "f1"
    refused = exported_reader(plain, tmp_path / "refused", int8=True, limit=-101, rows=rows)
    assert (refused.precision, refused.gate.accepted) == ("float32", False)
    assert load_file(tmp_path / "refused/model.safetensors")["encoder.forwards.weight_ih_l0"
                                                             ].dtype == np.float32  # fmt: skip


def test_without_rows_made_up_words_are_compared(plain, tmp_path):
    report = exported_reader(plain, tmp_path / "model")
    assert (report.precision, report.gate) == ("float32", None)
    assert 0 <= report.difference < 1e-4


def test_what_cannot_be_exported_is_told(plain, tmp_path, rows):
    bundle = read_bundle(plain)
    with pytest.raises(ConfigError, match="int8 needs labelled rows for its gate"):
        export_reader(bundle, tmp_path / "out", int8=True)
    with pytest.raises(ConfigError, match="the gate must be a finite number of points, got nan"):
        export_reader(bundle, tmp_path / "out", limit=float("nan"))
    assert list(tmp_path.iterdir()) == []


def test_a_difference_from_torch_is_refused(plain, tmp_path, monkeypatch):
    monkeypatch.setattr("softquery.export.trial.TOLERANCE", -1.0)
    with pytest.raises(BundleError, match=r"the exported graphs differ from torch by"):
        exported_reader(plain, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_exporting_what_was_exported_changes_nothing(plain, tmp_path, rows):
    one = exported_reader(plain, tmp_path / "one", rows=rows).bundle
    two = exported_reader(one, tmp_path / "two", rows=rows).bundle
    for name in ("model.safetensors", "config.json", "onnx/encode.onnx", "onnx/read.onnx"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_ranges_are_what_was_met(plain):
    reader = load_reader(plain, backend="torch", device="cpu")
    from softquery.answers import make_windows

    windows = make_windows(random_questions(6), reader.pipeline, reader.window).windows
    ranges = measure_read_ranges(reader, windows)
    assert min(ranges.embedded, ranges.inputs, ranges.aware) > 0
    assert 0 < ranges.states < 1  # of an LSTM
    with pytest.raises(TypeError, match="expected a reader on torch"):
        measure_read_ranges(type("Other", (), {"backend": type("B", (), {"name": "onnx"})()})(), [])
