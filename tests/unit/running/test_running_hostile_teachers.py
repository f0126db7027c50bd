"""Teachers that a stranger made: pipes, holes, forged headers, graphs that do not fit."""

import json
import os
import struct

import numpy as np
import pytest
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers

from softquery.errors import InputError
from softquery.interop import import_sentence_transformers
from softquery.running.distilling.open_teacher import open_teacher

GIANT = 20 << 30


def header(shape: str, *, descr: str = "'<f4'") -> bytes:
    """The start of a .npy that claims a shape."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    padded = text.ljust(118 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        header("(30, 1" + "0" * 30 + ")"),
        header("(30, True)"),
        header("(0, 1" + "0" * 19 + ")"),
        header("(-3, 5)"),
        header("(2, 2)", descr="'|O'"),
        b"PK\x05\x06" + bytes(18),  # an archive without entries
    ],
    ids=["nothing", "10^30", "true", "10^19", "negative", "objects", "archive"],
)
def test_forged_vectors_are_refused(tmp_path, content):
    path = tmp_path / "vectors.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^\S+vectors.npy: (cannot be read as|is an archive; )"):
        open_teacher(str(path))


def test_vectors_that_are_too_wide_are_refused(tmp_path):
    np.save(tmp_path / "vectors.npy", np.ones((1, 70_000), "f4"))
    with pytest.raises(InputError, match="at most 65,536 numbers, found 70,000"):
        open_teacher(str(tmp_path / "vectors.npy"))


def write_tokenizer(folder, *, pieces=("[UNK]", "a", "b")):
    tokenizer = Tokenizer(
        models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("name", ["vectors.npy", "model.onnx", "tokenizer.json"])
def test_pipes_are_not_waited_for(tmp_path, name):
    if name != "tokenizer.json":
        write_tokenizer(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=f"{name}: cannot be read .*is not a file"):
        open_teacher(str(tmp_path / ("model.onnx" if name == "tokenizer.json" else name)))


@pytest.mark.parametrize("name", ["vectors.npy", "model.onnx"])
def test_files_of_holes_are_not_read(tmp_path, name):
    write_tokenizer(tmp_path)
    with (tmp_path / name).open("wb") as file:
        file.write(header("(30, 178956970)"))
        try:
            file.truncate(GIANT)
        except OSError:
            pytest.skip("this disk holds no such file")
    with pytest.raises(InputError, match=f"{name}: cannot be read .*is mostly holes"):
        open_teacher(str(tmp_path / name))


def write_graph(path, *inputs):
    """A table of two rows that is looked up, and whatever else is asked for."""
    given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "T"]) for name in inputs]
    found = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["B", "T", 3])
    table = helper.make_tensor("table", TensorProto.FLOAT, [2, 3], np.ones(6))
    node = helper.make_node("Gather", ["table", "input_ids"], ["vectors"])
    graph = helper.make_graph([node], "lookup", given, [found], [table])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(made.SerializeToString())


def test_a_graph_that_does_not_fit_its_tokenizer_is_refused(tmp_path):
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "model.onnx", "input_ids")
    teacher = open_teacher(str(tmp_path / "model.onnx"))
    np.testing.assert_array_equal(teacher.encode(["a"]), np.ones((1, 3)))
    with pytest.raises(InputError, match="model.onnx: cannot read what tokenizer.json makes of"):
        teacher.encode(["b"])  # id 2, of a table of two rows
    write_graph(tmp_path / "model.onnx", "input_ids", "image")
    with pytest.raises(InputError, match="model.onnx: cannot read what tokenizer.json makes of"):
        open_teacher(str(tmp_path / "model.onnx")).encode(["a"])


def test_a_tokenizer_without_a_piece_for_the_unknown_is_refused(tmp_path):
    write_tokenizer(tmp_path, pieces=("a",))
    write_graph(tmp_path / "model.onnx", "input_ids")
    with pytest.raises(InputError, match="tokenizer.json: cannot cut texts"):
        open_teacher(str(tmp_path / "model.onnx")).encode(["z"])


def test_a_module_that_names_no_path_is_refused(tmp_path):
    modules = [{"path": "\ud800", "type": "sentence_transformers.models.Transformer"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(InputError, match="expected a list of modules, each with a path"):
        import_sentence_transformers(tmp_path, tmp_path / "out")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_that_a_folder_does_not_name_is_not_one_of_its_files(tmp_path):
    pytest.importorskip("transformers", reason="folders are made by it")
    from sentence_folders import write_sentence_folder

    folder = write_sentence_folder(tmp_path / "theirs")
    os.mkfifo(folder / "notes.json")
    names = [path.name for path in open_teacher(str(folder)).files]
    assert "model.safetensors" in names
    assert "notes.json" not in names  # a fingerprint of it would never end


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_imports_do_not_wait_for_pipes(tmp_path):
    os.mkfifo(tmp_path / "modules.json")
    with pytest.raises(InputError, match="modules.json: cannot be read .is not a file"):
        import_sentence_transformers(tmp_path, tmp_path / "out")
