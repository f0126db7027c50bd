"""`softquery export` from training to int8, and training on from what was exported."""

import json

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from exported_model import exported_model
from reading import config, metrics, weights
from running import settings, softquery, train

from softquery.files import read_rows
from softquery.runtime import load


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return exported_model(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def pairs(place):
    rows = read_rows(place / "data" / "train.tsv", columns=("sentence1", "sentence2", "label"))
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def test_torch_float32_and_int8_agree_after_training(place, pairs):
    wanted = load(place / "model").probabilities(pairs)
    assert (wanted.argmax(axis=1) == 0).any()
    assert (wanted.argmax(axis=1) == 1).any()
    plain = load(place / "float32").probabilities(pairs)
    np.testing.assert_allclose(plain, wanted, rtol=0, atol=1e-4)
    for backend in ("onnx", "torch"):
        small = load(place / "int8", backend=backend).probabilities(pairs)
        assert np.abs(small - wanted).max() <= 0.02
        assert (small.argmax(axis=1) != wanted.argmax(axis=1)).mean() <= 0.003


def test_int8_answers_do_not_depend_on_their_company(place, pairs):
    matcher = load(place / "int8")
    alone = np.concatenate([matcher.probabilities([pair]) for pair in pairs])
    together = matcher.probabilities(pairs)
    assert np.abs(together - alone).max() <= 0.02
    assert (together.argmax(axis=1) != alone.argmax(axis=1)).mean() <= 0.003


def test_the_report_is_in_the_bundle(place):
    noted = metrics(place / "int8")["export"]
    assert noted["precision"] == "int8"
    assert noted["difference_from_torch"] <= 1e-4
    assert noted["gate"] == {
        "metric": "accuracy",
        "float32": noted["gate"]["float32"],
        "int8": noted["gate"]["int8"],
        "lost_points": pytest.approx(
            100 * (noted["gate"]["float32"] - noted["gate"]["int8"]), abs=1e-9
        ),
        "limit_points": 2.0,
        "n": 100,
        "accepted": True,
    }
    assert metrics(place / "float32")["export"]["precision"] == "float32"
    assert "gate" not in metrics(place / "float32")["export"]
    answer = softquery("evaluate", place / "int8", "--data", place / "data/dev.tsv", "--json")
    assert json.loads(answer.out)["accuracy"] == noted["gate"]["int8"]


def test_what_training_left_behind_comes_along(place):
    for name in ("README.md", "tokenizer.json"):
        assert (place / "int8" / name).read_bytes() == (place / "model" / name).read_bytes()
    assert (place / "int8" / "training" / "log.csv").is_file()
    assert config(place / "int8")["model"]["config"]["parts"] == ["own", "aligned", "product"]


def test_a_refusal_is_said_and_float32_kept(place, tmp_path):
    from small_bundles import labelled
    from softquery.bundle import read_bundle
    from softquery.export import export_matcher

    rows = labelled([("a man eats", "some man eats")] * 4, ["same", "different"] * 2)
    report = export_matcher(
        read_bundle(place / "model"), tmp_path / "out", int8=True, limit=-100, rows=rows
    )
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert metrics(tmp_path / "out")["export"]["gate"]["accepted"] is False
    assert {values.dtype.name for values in weights(tmp_path / "out").values()} == {"float32"}
    assert load(tmp_path / "out").backend.name == "onnx"


def test_the_table_for_people(place, tmp_path):
    words = ["--int8", "--gate", "2", "--data", place / "data/dev.tsv"]
    answer = softquery("export", place / "model", "--output", tmp_path / "out", *words)
    assert (answer.code, answer.err) == (0, "")
    for word in ("precision", "int8", "largest difference from torch", "accuracy, float32", "MB"):
        assert word in answer.out


def test_in_place(place, tmp_path):
    import shutil

    path = shutil.copytree(place / "model", tmp_path / "model")
    answer = softquery("export", path, "--json")
    assert json.loads(answer.out)["precision"] == "float32"
    assert load(path).backend.name == "onnx"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model"]


def test_training_goes_on_from_int8(place, tmp_path):
    """`--init` takes the stored int8 weights as float32."""
    words = settings(training={"max_epochs": 1, "max_steps": 1}, optim={"lr": 1e-7})
    answer = train("esim", place / "data", tmp_path / "on", "--init", place / "int8", *words)
    assert "parts = ('own', 'aligned', 'product')" in answer.err + answer.out
    small, after = weights(place / "int8"), weights(tmp_path / "on")
    assert {values.dtype.name for values in after.values()} == {"float32"}
    assert not any(name.endswith(":scale") for name in after)
    name = "encoder.forwards.weight_hh_l0"
    stored = small[name] * small[f"{name}:scale"][:, None]
    np.testing.assert_allclose(after[name], stored, rtol=0, atol=1e-5)
    again = softquery("evaluate", tmp_path / "on", "--data", place / "data/dev.tsv", "--json")
    gate = metrics(place / "int8")["export"]["gate"]
    assert json.loads(again.out)["accuracy"] == pytest.approx(gate["int8"], abs=0.03)
