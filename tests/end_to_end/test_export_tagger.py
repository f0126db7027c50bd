"""`softquery export` of a tagger, from training to int8, and what it says without torch."""

import json

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import metrics, weights
from running import softquery
from tiny_tags import named, settings, write_columns, write_tagged

import softquery as sq
from softquery.files import read_tagged

WIDE = {
    "model__hidden_sizes": "36,36",
    "model__embedding_size": 36,
    "model__spelling__output_size": 24,
    "training__max_epochs": 8,
    "optim__lr": 0.01,
    "data__tune_share": 0.1,
    "model__dropout": 0.1,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with `data/`, and `model/`, `float32/` and `int8/`."""
    folder = tmp_path_factory.mktemp("exported-tagger")
    data = write_tagged(folder / "data", named(200), num_dev=60)
    answer = softquery("train", "tagger", "--data", data, "--output", folder / "model",
                       *settings(**WIDE))  # fmt: skip
    assert answer.code == 0, answer.err
    gate = ["--int8", "--gate", "2", "--data", data / "dev.txt"]
    for name, words in (("float32", []), ("int8", gate)):
        answer = softquery("export", folder / "model", "--output", folder / name, *words, "--json")
        assert answer.code == 0, answer.err
        assert json.loads(answer.out)["precision"] == name
    return folder


@pytest.fixture(scope="module")
def sentences(place):
    return [each.tokens for each in read_tagged(place / "data" / "train.txt")]


def test_torch_float32_and_int8_agree_after_training(place, sentences):
    wanted = sq.load(place / "model").own_tags(sentences)
    assert {tag for tags in wanted for tag in tags} >= {"O", "S-PER", "S-LOC"}
    assert sq.load(place / "float32").own_tags(sentences) == wanted
    for backend in ("onnx", "torch"):
        small = sq.load(place / "int8", backend=backend).own_tags(sentences)
        same = [one == other for one, other in zip(small, wanted, strict=True)]
        assert np.mean(same) >= 0.97


def test_the_report_is_in_the_bundle(place):
    noted = metrics(place / "int8")["export"]
    assert noted["precision"] == "int8"
    assert noted["difference_from_torch"] <= 1e-4
    assert (noted["gate"]["metric"], noted["gate"]["n"]) == ("f1", 60)
    assert noted["gate"]["float32"] == metrics(place / "model")["dev"]["f1"]
    answer = softquery("evaluate", place / "int8", "--data", place / "data/dev.txt", "--json")
    assert json.loads(answer.out)["f1"] == noted["gate"]["int8"]
    assert weights(place / "int8")["layers.0.forwards.weight_ih_l0"].dtype == np.int8


def test_the_verb_tags_on_either(place, tmp_path):
    for name in ("model", "float32", "int8"):
        answer = softquery("tag", "Ada Brook reads today in Rome 7 .", "--model", place / name)
        assert answer.out == "[Ada Brook PER] reads today in [Rome LOC] 7 .\n"
    source = write_columns(tmp_path / "in.conll", named(300, seed=4))
    lines = []
    for threads in (1, 2):
        output = tmp_path / f"{threads}.jsonl"
        answer = softquery("tag", "--input", source, "--output", output, "--model", place / "int8",
                           "--threads", threads)  # fmt: skip
        assert answer.code == 0, answer.err
        lines.append(output.read_bytes())
    assert lines[0] == lines[1]


def test_the_table_for_people(place, tmp_path):
    words = ["--int8", "--gate", "2", "--data", place / "data/dev.txt"]
    answer = softquery("export", place / "model", "--output", tmp_path / "out", *words)
    assert (answer.code, answer.err) == (0, "")
    for word in ("precision", "int8", "largest difference from torch", "f1, float32", "MB"):
        assert word in answer.out


def test_training_goes_on_from_int8(place, tmp_path):
    """`--init` takes the stored int8 weights as float32."""
    short = settings(**{**WIDE, "training__max_epochs": 1, "training__max_steps": 1,
                        "optim__lr": 1e-7})  # fmt: skip
    answer = softquery("train", "tagger", "--data", place / "data", "--output", tmp_path / "on",
                       "--init", place / "int8", *short)  # fmt: skip
    assert answer.code == 0, answer.err
    small, after = weights(place / "int8"), weights(tmp_path / "on")
    assert {values.dtype.name for values in after.values()} == {"float32"}
    name = "layers.1.forwards.weight_hh_l0"
    stored = small[name] * small[f"{name}:scale"][:, None]
    np.testing.assert_allclose(after[name], stored, rtol=0, atol=1e-5)
