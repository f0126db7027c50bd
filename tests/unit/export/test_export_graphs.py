"""What lies in `onnx/`: small graphs without weights, int8 wherever that was asked for."""

import json
from collections import Counter

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

from small_bundles import exported, make_bundle
from softquery.export.graph.esim import fold_projection
from softquery.export.quantise import SMALLEST, quantise
from softquery.runtime.graph_weights import SCALE, arrange, dequantised

INLINE = 16
"""Entries that a constant inside a graph may have."""


def graph_of(bundle, name):
    return onnx.load_model_from_string((bundle / "onnx" / f"{name}.onnx").read_bytes()).graph


def weights_of(graph):
    """The weights that a graph declares, by name."""
    return {
        each.name: each
        for each in graph.initializer
        if each.data_location == onnx.TensorProto.EXTERNAL
    }


def num_entries(tensor):
    return int(np.prod(tensor.dims))


def large_floats(graph):
    return [
        name
        for name, tensor in weights_of(graph).items()
        if tensor.data_type == onnx.TensorProto.FLOAT and num_entries(tensor) >= SMALLEST
    ]


def operators(graph):
    return Counter(node.op_type for node in graph.node)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_graphs_hold_no_weights(precisions, precision):
    _, folder = precisions
    used = json.loads((folder / precision / "onnx" / "weights.json").read_text())
    for name in ("encode", "compare"):
        path = folder / precision / "onnx" / f"{name}.onnx"
        assert path.stat().st_size < 16_000
        graph = graph_of(folder / precision, name)
        assert sorted(weights_of(graph)) == used[name]
        inside = [each for each in graph.initializer if each.name not in used[name]]
        assert max(num_entries(each) for each in inside) <= INLINE
        assert all(node.op_type != "Constant" for node in graph.node)
        for tensor in weights_of(graph).values():
            assert tensor.raw_data == b""
            assert tensor.external_data[0].value == "model.safetensors"
    assert sorted(path.name for path in (folder / precision / "onnx").iterdir()) == [
        "compare.onnx",
        "encode.onnx",
        "weights.json",
    ]


def test_every_direction_and_large_matrix_is_int8(precisions):
    cell, folder = precisions
    encode, compare = (graph_of(folder / "int8", name) for name in ("encode", "compare"))
    kinds = operators(encode) + operators(compare)
    if cell == "lstm":
        assert kinds["DynamicQuantizeLSTM"] == 3  # the encoder, and the composer for either side
        assert kinds["LSTM"] == kinds["GRU"] == 0
        assert large_floats(encode) == large_floats(compare) == []
    else:
        assert kinds["GRU"] == 3
        assert kinds["LSTM"] == kinds["DynamicQuantizeLSTM"] == 0
        assert large_floats(encode) == ["encoder.W", "encoder.R"]
        assert large_floats(compare) == ["composer.W", "composer.R"]
    # `encode` projects a and ã; `compare` projects a ⊙ ã for either side, and classifies.
    assert kinds["MatMulIntegerToFloat"] == kinds["QuantizeLinear"] == 2 + 3
    assert kinds["DynamicQuantizeMatMul"] == 0  # its scales would depend on the batch
    for graph in (encode, compare):
        declared = weights_of(graph)
        for node in graph.node:
            if node.op_type == "DynamicQuantizeLSTM":
                recurrent = [declared[name] for name in node.input[1:3]]
                assert {each.data_type for each in recurrent} == {onnx.TensorProto.INT8}
                assert {each.dims[0] for each in recurrent} == {2}  # both directions
            if node.op_type == "MatMul":  # of states with states, or with a small matrix
                sizes = [num_entries(declared[name]) for name in node.input if name in declared]
                assert max(sizes, default=0) < SMALLEST


def test_a_siamese_model_is_int8_as_well(tmp_path, labelled_rows):
    bundle = make_bundle(tmp_path / "plain", "siamese", pooling="attentive", head="features")
    exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows)
    graphs = [graph_of(tmp_path / "int8", name) for name in ("encode", "compare")]
    assert [large_floats(graph) for graph in graphs] == [[], []]
    assert operators(graphs[0])["DynamicQuantizeLSTM"] == 1
    assert operators(graphs[0])["LSTM"] == 0


def test_decomposable_attention_is_int8_in_every_linear_layer(tmp_path, labelled_rows):
    bundle = make_bundle(tmp_path / "plain", "decomposable")
    report = exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows)
    assert report.precision == "int8"
    graphs = [graph_of(tmp_path / "int8", name) for name in ("encode", "compare")]
    assert [large_floats(graph) for graph in graphs] == [[], []]
    # The projection, two networks of two layers, both parts of G's first layer; then its second
    # layer for either side, and the classifier, whose last layer is too small to gain by it.
    assert [operators(graph)["MatMulIntegerToFloat"] for graph in graphs] == [7, 3]


APART = {"projection_size": 72, "composer_size": 80}


@pytest.mark.parametrize(("composer", "window"), [("feedforward", 1), ("convolution", 3)])
def test_a_composer_without_recurrence_is_one_product_per_layer(
    composer, window, tmp_path, labelled_rows
):
    bundle = make_bundle(tmp_path / "plain", composer=composer, **APART)
    plain = exported(bundle, tmp_path / "float32").bundle
    small = exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows).bundle
    found, kinds = (operators(graph_of(path, "compare")) for path in (plain, small))
    for each in (found, kinds):
        assert not {"Conv", "LSTM", "GRU", "DynamicQuantizeLSTM"} & set(each)
        assert each["Pad"] == (4 if window == 3 else 0)  # two layers of either side
    # Scores and two mixtures of either side are products of states, which are never int8.
    assert found["MatMul"] == 5 + 2 + 2 * 2 + 2
    # W4 and two layers of either side, and the classifier; its last layer is too small.
    assert kinds["MatMulIntegerToFloat"] == 2 + 2 * 2 + 1
    assert large_floats(graph_of(small, "compare")) == []
    shapes = [tuple(each.dims) for name, each in weights_of(graph_of(small, "compare")).items()
              if name.startswith("composer.") and name.endswith(".weight")]  # fmt: skip
    assert shapes == [(window * 72, 80), (window * 80, 80)]


@pytest.mark.parametrize("alignment_size", [0, 68])
@pytest.mark.parametrize("composer", ["lstm", "gru", "feedforward", "convolution"])
def test_int8_of_any_composer_does_not_depend_on_the_batch(
    composer, alignment_size, tmp_path, labelled_rows
):
    from small_bundles import random_pairs
    from softquery.runtime import load

    bundle = make_bundle(
        tmp_path / "plain", composer=composer, alignment_size=alignment_size, **APART
    )
    report = exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows)
    assert report.precision == "int8"
    assert report.difference <= 1e-4
    matcher, pairs = load(report.bundle, threads=2), random_pairs(60, seed=9, longest=40)
    together = matcher.logits(pairs)
    alone = np.concatenate([matcher.logits([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    exact = load(bundle, backend="torch", device="cpu").logits(pairs)
    assert np.corrcoef(together.ravel(), exact.ravel())[0, 1] > 0.9  # of random weights, scaled up


def test_a_projection_for_the_alignment_belongs_to_one_text(tmp_path, labelled_rows):
    bundle = make_bundle(tmp_path / "plain", alignment_size=68, composer="convolution", **APART)
    small = exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows).bundle
    encode, compare = (graph_of(small, name) for name in ("encode", "compare"))
    # The states themselves are neither stored nor compared.
    assert encode.output[0].type.tensor_type.shape.dim[2].dim_value == 68 + 2 * 72
    assert operators(encode)["MatMulIntegerToFloat"] == 3
    assert tuple(weights_of(encode)["alignment.weight"].dims) == (2 * 64, 68)
    assert not any(name.startswith("alignment") for name in weights_of(compare))
    assert tuple(weights_of(compare)["project.product.weight"].dims) == (68, 72)
    assert large_floats(encode) == large_floats(compare) == []


def test_a_gru_beside_an_lstm_stays_float32(tmp_path, labelled_rows):
    bundle = make_bundle(tmp_path / "plain", composer="gru")
    path = exported(bundle, tmp_path / "int8", int8=True, limit=100, rows=labelled_rows).bundle
    assert operators(graph_of(path, "encode"))["DynamicQuantizeLSTM"] == 1
    assert operators(graph_of(path, "compare"))["GRU"] == 2
    assert large_floats(graph_of(path, "compare")) == ["composer.W", "composer.R"]


def test_int8_weights_are_stored_once(precisions):
    cell, folder = precisions
    plain, small = (load_file(folder / kind / "model.safetensors") for kind in ("float32", "int8"))
    assert set(small) - {name + SCALE for name in plain} == set(plain)
    for name, values in small.items():
        recurrent = "_l0" in name and values.ndim == 2
        is_kept = values.size < SMALLEST or (cell == "gru" and recurrent)
        if name.endswith(SCALE):
            assert (values.dtype, values.ndim) == (np.float32, 1)
        elif is_kept:
            np.testing.assert_array_equal(values, plain[name])
        else:
            assert values.dtype == np.int8
            scale = small[name + SCALE][:, None]
            np.testing.assert_allclose(values * scale, plain[name], rtol=0, atol=scale.max() * 0.51)
    sizes = [(folder / kind / "model.safetensors").stat().st_size for kind in ("int8", "float32")]
    assert sizes[0] < sizes[1] * (0.3 if cell == "lstm" else 0.8)


def test_quantising_rounds_to_the_nearest_and_spares_what_is_small():
    wide = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    stored = quantise({"w": wide, "b": wide[0], "zeros": np.zeros((64, 64), np.float32)})
    assert set(stored) == {"w", "w:scale", "b", "zeros", "zeros:scale"}
    assert np.abs(stored["w"].astype(int)).max(axis=1).tolist() == [127] * 64
    whole = dequantised(stored)
    assert np.abs(whole["w"] - wide).max() <= np.abs(wide).max() / 127 / 2 + 1e-6
    assert not whole["zeros"].any()
    assert stored["b"] is not None
    assert stored["b"].dtype == np.float32


def test_quantised_weights_are_laid_out_as_their_float_twins():
    draw = np.random.default_rng(0)
    plain = {
        f"encoder.{side}.{name}": draw.normal(size=shape).astype(np.float32)
        for side in ("forwards", "backwards")
        for name, shape in (
            ("weight_ih_l0", (256, 64)),
            ("weight_hh_l0", (256, 64)),
            ("bias_ih_l0", (256,)),
            ("bias_hh_l0", (256,)),
        )
    }
    wide, small = (arrange(some, "siamese") for some in (plain, quantise(plain)))
    units = np.arange(4 * 66).reshape(4, 66)[:, :64].ravel()  # two more in each gate bound it
    for letter in "WR":
        values, scales = small[f"encoder.{letter}"], small[f"encoder.{letter}:scale"]
        assert values.shape == (2, 66, 4 * 66)
        back = (values * scales[:, None, :]).transpose(0, 2, 1)
        np.testing.assert_allclose(
            back[:, units, :64], wide[f"encoder.{letter}"], rtol=0, atol=0.03
        )
        assert not back[:, units, 64:].any()
        assert not np.delete(back, units, axis=1).any()
        assert not small[f"encoder.{letter}:zero"].any()
    biases = small["encoder.B"].reshape(2, 2, 4 * 66)
    np.testing.assert_array_equal(biases[:, :, units], wide["encoder.B"].reshape(2, 2, 4 * 64))
    ends = biases.reshape(2, 2, 4, 66)[:, :, :, 64:]
    assert not ends[:, 1].any()
    assert ends[0, 0].tolist() == [[20, 20], [20, 20], [20, 20], [20, -20]]


def test_folding_a_subset_counts_missing_parts_as_zero():
    weight = np.arange(1.0, 5.0)[None]
    assert fold_projection(weight[:, :2], ("difference", "product")).tolist() == [[1, -1, 2]]
    assert fold_projection(weight[:, :2], ("product", "own")).tolist() == [[2, 0, 1]]


def test_folding_knows_a_narrower_product():
    weight, sizes = np.arange(1.0, 6.0)[None], {"width": 2, "product_size": 1}
    assert fold_projection(weight, ("own", "product", "difference"), **sizes).tolist() == [
        [5, 7, -4, -5, 3]
    ]
    assert fold_projection(weight[:, :1], ("product",), **sizes).tolist() == [[0, 0, 0, 0, 1]]
    assert fold_projection(weight[:, :2], ("own",), **sizes).tolist() == [[1, 2, 0, 0, 0]]


@pytest.mark.parametrize("int8", [False, True])
def test_the_same_input_gives_the_same_bytes(tmp_path, labelled_rows, int8):
    bundle = make_bundle(tmp_path / "plain")
    options = {"int8": int8, "limit": 100, "rows": labelled_rows}
    contents = []
    for name in ("one", "two"):
        path = exported(bundle, tmp_path / name, **options).bundle
        contents.append(
            {p.relative_to(path): p.read_bytes() for p in path.rglob("*") if p.is_file()}
        )
    assert contents[0] == contents[1]
    assert len(contents[0]) >= 8


def test_exporting_what_was_exported_changes_nothing(precisions, tmp_path):
    _, folder = precisions
    again = exported(folder / "float32", tmp_path / "again").bundle
    for name in ("model.safetensors", "config.json", "onnx/encode.onnx", "onnx/compare.onnx"):
        assert (again / name).read_bytes() == (folder / "float32" / name).read_bytes()
