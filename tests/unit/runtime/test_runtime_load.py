"""Opening a bundle: backends, threads, devices, and what is missing or damaged."""

import json
import os
import re
import shutil
import struct

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file, save_file

import softquery
from small_bundles import make_bundle
from softquery.errors import BundleError, ConfigError
from softquery.runtime import load, load_matcher
from softquery.runtime.kinds import KINDS


def refused(path, match):
    with pytest.raises(BundleError, match=match) as caught:
        load(path, backend="onnx")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 800
    return str(caught.value)


def test_auto_takes_graphs_where_there_are_some(float_bundle, plain_bundle):
    assert softquery.load(str(float_bundle)).backend.name == "onnx"
    assert load(plain_bundle).backend.name == "torch on cpu"
    assert load(float_bundle, device="cpu").backend.name == "torch on cpu"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "tensorrt"}, "^backend must be 'auto', 'onnx' or 'torch', got 'tensorrt'$"),
        ({"threads": 0}, "^threads must be at least 1, got 0$"),
        ({"threads": -3}, "^threads must be at least 1, got -3$"),
        ({"backend": "onnx", "device": "cuda"}, "^device 'cuda' is for backend 'torch', not for"),
        ({"backend": "torch", "device": "tpu9"}, "^device 'tpu9' cannot be used: "),
    ],
)
def test_wrong_options(float_bundle, options, message):
    with pytest.raises(ConfigError, match=message):
        load(float_bundle, **options)


def test_torch_obeys_threads_too(plain_bundle):
    import torch

    before = torch.get_num_threads()
    try:
        load(plain_bundle, threads=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_graphs_must_be_there(plain_bundle):
    refused(plain_bundle, "model: not exported yet; run `softquery export` on it$")


@pytest.mark.parametrize("name", ["encode.onnx", "compare.onnx", "weights.json"])
def test_a_missing_file(damaged, name):
    (damaged / "onnx" / name).unlink()
    refused(damaged, rf"onnx/{re.escape(name)}: cannot be read \(No such file or directory\)$")


@pytest.mark.parametrize("name", ["encode.onnx", "compare.onnx"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff junk", "half"])
def test_a_damaged_graph(damaged, name, content):
    path = damaged / "onnx" / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    refused(damaged, rf"onnx/{re.escape(name)}: cannot be run \(")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "[]",
        "3",
        "{}",
        '{"encode": 3}',
        '{"encode": {"a": 1}}',
        '{"encode": [1]}',
        "[" * 9999,
    ],
    ids=repr,
)
def test_a_damaged_list_of_weights(damaged, content):
    (damaged / "onnx" / "weights.json").write_text(content)
    refused(damaged, r"onnx/weights\.json: expected ")


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../../secret.bin", "model.safetensors", "", "a\0b"]
)
def test_names_in_the_list_are_never_places(damaged, name, monkeypatch):
    (damaged.parent / "secret.bin").write_bytes(bytes(4096))
    path = damaged / "onnx" / "weights.json"
    used = json.loads(path.read_text())
    used["encode"].append(name)
    path.write_text(json.dumps(used))
    line = refused(damaged, r"onnx/weights\.json: encode takes .*, which the bundle lacks$")
    assert "\0" not in line


def test_a_weight_that_the_list_leaves_out(damaged, monkeypatch):
    monkeypatch.chdir(damaged)  # where a file of the declared name lies
    path = damaged / "onnx" / "weights.json"
    used = json.loads(path.read_text())
    path.write_text(json.dumps({**used, "encode": used["encode"][1:]}))
    refused(damaged, r"onnx/encode\.onnx: cannot be run \(")


@pytest.mark.parametrize("where", ["secret.bin", "../secret.bin", "absolute"])
def test_a_graph_cannot_read_other_files(damaged, where, monkeypatch):
    """An initialiser that claims to lie in some file of the user's is not read from there."""
    monkeypatch.chdir(damaged / "onnx")
    secret = damaged / ("secret.bin" if where.startswith("..") else "onnx/../secret.bin")
    for place in (damaged / "secret.bin", damaged.parent / "secret.bin"):
        place.write_bytes(np.full(1, 7.0, dtype=np.float32).tobytes())
    path = damaged / "onnx" / "compare.onnx"
    model = onnx.load_model_from_string(path.read_bytes())
    stolen = onnx.TensorProto(name="stolen", dims=[1], data_type=onnx.TensorProto.FLOAT)
    stolen.data_location = onnx.TensorProto.EXTERNAL
    location = str(secret.resolve()) if where == "absolute" else where
    for key, value in (("location", location), ("length", "4")):
        entry = stolen.external_data.add()
        entry.key, entry.value = key, value
    model.graph.initializer.append(stolen)
    last = next(node for node in model.graph.node if node.output[0] == "logits")
    model.graph.node.append(onnx.helper.make_node("Add", [last.input[0], "stolen"], ["logits"]))
    model.graph.node.remove(last)
    path.write_bytes(model.SerializeToString())
    refused(damaged, r"onnx/compare\.onnx: cannot be run \(")


def test_a_link_out_of_the_folder_is_not_followed(damaged, tmp_path):
    shutil.copy(damaged / "onnx" / "encode.onnx", tmp_path / "elsewhere.onnx")
    (damaged / "onnx" / "encode.onnx").unlink()
    os.symlink(tmp_path / "elsewhere.onnx", damaged / "onnx" / "encode.onnx")
    refused(damaged, r"onnx/encode\.onnx: is a link that leads out of the model folder$")


def test_graphs_of_another_model(damaged, siamese_bundle):
    shutil.rmtree(damaged / "onnx")
    shutil.copytree(siamese_bundle / "onnx", damaged / "onnx")
    refused(damaged, r"onnx")


def test_graphs_of_another_size(damaged, graded_bundle):
    shutil.rmtree(damaged / "onnx")
    shutil.copytree(graded_bundle / "onnx", damaged / "onnx")
    refused(damaged, r"onnx/encode\.onnx: cannot be run \(")


def test_float_graphs_over_int8_weights(damaged, int8_bundle):
    shutil.copy(int8_bundle / "model.safetensors", damaged / "model.safetensors")
    refused(damaged, r"onnx/encode\.onnx: cannot be run \(")


def test_int8_graphs_over_float_weights(damaged, int8_bundle):
    shutil.rmtree(damaged / "onnx")
    shutil.copytree(int8_bundle / "onnx", damaged / "onnx")
    refused(damaged, r"weights\.json: encode takes '.*(scale|zero)', which the bundle lacks$")


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("encoder.forwards.weight_hh_l0", None, "does not fit the graphs"),
        ("project.0.bias", None, "does not fit the graphs"),
        ("embedder.table.weight", None, "does not fit the graphs"),
        ("classifier.4.bias", lambda v: v[:2], "cannot be run|the graphs give"),
        ("project.0.weight", lambda v: v[:, :-1], "does not fit the graphs|cannot be"),
        ("encoder.backwards.weight_ih_l0", lambda v: v[:-1], "does not fit the graphs"),
        (
            "composer.forwards.weight_ih_l0",
            lambda v: v[:, :-1],
            "does not fit the graphs|cannot be",
        ),
        ("embedder.table.weight", lambda v: v[:-1], r"holds vectors of \d+ words"),
        (
            "embedder.table.weight",
            lambda v: v * np.nan,
            "table.weight holds a number that is not fin",
        ),
        ("classifier.1.weight", lambda v: v / 0, "1.weight holds a number that is not finite$"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_that_do_not_fit(damaged, name, change, match):
    weights = load_file(damaged / "model.safetensors")
    changed = weights.pop(name) if change is None else change(weights[name])
    if change is not None:
        weights[name] = np.ascontiguousarray(changed)
    save_file(weights, damaged / "model.safetensors")
    refused(damaged, match)


def test_scales_that_do_not_fit(int8_bundle, tmp_path):
    path = shutil.copytree(int8_bundle, tmp_path / "model")
    weights = load_file(path / "model.safetensors")
    weights["classifier.1.weight:scale"] = weights["classifier.1.weight:scale"][:-1]
    save_file(weights, path / "model.safetensors")
    with pytest.raises(BundleError, match=r"safetensors: classifier\.1\.weight:scale does not fit"):
        load(path, backend="torch")
    refused(path, r"onnx/compare\.onnx: cannot be run \(")


def test_a_vocabulary_of_another_size(damaged, tmp_path):
    from softquery.text import TextConfig, build_pipeline

    build_pipeline(["more words than the model has seen"], TextConfig(max_tokens=400)).save(damaged)
    refused(damaged, r"tokenizer\.json: holds \d+ entries, but config\.json says 124$")


def test_labels_that_the_graphs_cannot_answer(damaged):
    config = json.loads((damaged / "config.json").read_text())
    config["task"]["labels"] = ["no", "yes"]
    (damaged / "config.json").write_text(json.dumps(config))
    refused(damaged, r"config\.json: the model has 3 outputs, but its task needs 2$")
    config["model"]["config"]["output_size"] = 2
    (damaged / "config.json").write_text(json.dumps(config))
    refused(damaged, "onnx: the graphs give 3 outputs, but config.json says 2$")


def test_another_kind_of_bundle(damaged):
    config = json.loads((damaged / "config.json").read_text())
    (damaged / "config.json").write_text(json.dumps({**config, "kind": "embedder"}))
    refused(damaged, r"model: expected word vectors in context \(elmo\), found 'esim'$")
    with pytest.raises(BundleError, match="model: expected a matcher, found kind 'embedder'$"):
        load_matcher(damaged)
    (damaged / "config.json").write_text(json.dumps({**config, "kind": "oracle"}))
    known = ", ".join(KINDS)
    refused(damaged, rf"kind 'oracle' cannot be opened \(known: {known}\)$")


def test_weights_cut_short(damaged):
    path = damaged / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(damaged, r"model\.safetensors: damaged or not a safetensors file")


def test_a_header_that_lies_about_its_length(damaged):
    path = damaged / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 60) + path.read_bytes()[8:])
    refused(damaged, r"model\.safetensors: damaged or not a safetensors file")


def test_a_bundle_under_a_relative_name(float_bundle, monkeypatch, tmp_path):
    shutil.copytree(float_bundle, tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert load("mine").predict([("w1", "w2")]) == load(float_bundle).predict([("w1", "w2")])


def test_bundles_made_twice_are_equal(plain_bundle, tmp_path):
    again = make_bundle(tmp_path / "model")
    assert (again / "model.safetensors").read_bytes() == (
        plain_bundle / "model.safetensors"
    ).read_bytes()
