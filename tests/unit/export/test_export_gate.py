"""int8 is taken only where accuracy holds; what it cost is written down either way."""

import json
import math

import numpy as np
import pytest
from safetensors.numpy import load_file

from small_bundles import exported, labelled, make_bundle, random_pairs
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_matcher
from softquery.runtime import load
from softquery.runtime.graph_weights import SCALE

PAIRS = random_pairs(200, seed=5)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("gate") / "plain")


@pytest.fixture(scope="module")
def agreeing(bundle, tmp_path_factory):
    """Rows on which float32 is always right, so that int8 can only lose."""
    plain = exported(bundle, tmp_path_factory.mktemp("agreeing") / "float32").bundle
    return labelled(PAIRS, [answer.label for answer in load(plain).predict(PAIRS)])


def noted(report):
    return json.loads((report.bundle / "metrics.json").read_text())


def is_int8(report):
    return any(name.endswith(SCALE) for name in load_file(report.bundle / "model.safetensors"))


def test_int8_within_the_gate_is_taken(bundle, agreeing, tmp_path):
    report = exported(bundle, tmp_path / "out", int8=True, limit=5.0, rows=agreeing)
    gate = report.gate
    assert (report.precision, gate.metric, gate.float32, gate.n) == ("int8", "accuracy", 1.0, 200)
    assert gate.accepted
    assert gate.lost_points == pytest.approx(100 * (1.0 - gate.int8))
    assert 0 <= gate.lost_points <= gate.limit_points == 5.0
    assert is_int8(report)
    found = noted(report)
    assert found["accuracy"] == 0.5  # what was measured before stays
    assert found["export"]["precision"] == "int8"
    assert found["export"]["gate"]["accepted"] is True
    assert found["export"]["gate"]["int8"] == gate.int8
    measured = [
        answer.label == row.values["label"]
        for row, answer in zip(agreeing, load(report.bundle).predict(PAIRS), strict=True)
    ]
    assert np.mean(measured) == pytest.approx(gate.int8)


def test_int8_over_the_gate_is_refused_and_float32_kept(bundle, agreeing, tmp_path):
    report = exported(bundle, tmp_path / "out", int8=True, limit=-0.01, rows=agreeing)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert report.gate.lost_points > report.gate.limit_points
    assert not is_int8(report)
    assert noted(report)["export"]["precision"] == "float32"
    assert noted(report)["export"]["gate"]["accepted"] is False
    plain = exported(bundle, tmp_path / "plain").bundle
    weights = [(path / "model.safetensors").read_bytes() for path in (plain, report.bundle)]
    assert weights[0] == weights[1]


def test_a_model_that_int8_breaks_is_caught(tmp_path):
    """One weight a thousand times the others leaves no step of the int8 scale for them."""
    path = make_bundle(tmp_path / "plain")
    bundle = read_bundle(path)
    weights = {name: np.array(values) for name, values in bundle.read_weights().items()}
    # The dead feature (a ReLU that never opens) weighs nothing in float32.
    weights["project.0.bias"][0] = -1e4
    for side in ("forwards", "backwards"):
        weights[f"composer.{side}.weight_ih_l0"][:, 0] = 3000.0
    from softquery.bundle import write_bundle

    write_bundle(
        path,
        config=bundle.config,
        tokenizer_json=bundle.tokenizer_path.read_text(),
        weights=weights,
        metrics={},
        card="# broken\n",
        replace=True,
    )
    plain = exported(path, tmp_path / "float32").bundle
    rows = labelled(PAIRS, [answer.label for answer in load(plain).predict(PAIRS)])
    assert len({row.values["label"] for row in rows}) > 1
    report = exported(path, tmp_path / "out", int8=True, limit=0.5, rows=rows)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert report.gate.lost_points > 0.5


def test_grades_are_gated_by_correlation(tmp_path):
    bundle = make_bundle(tmp_path / "plain", outputs=1)
    scores = load(bundle, backend="torch").predict(PAIRS)
    rows = labelled(PAIRS, [f"{answer.score:.6f}" for answer in scores])
    report = exported(bundle, tmp_path / "out", int8=True, limit=5, rows=rows)
    assert (report.gate.metric, report.precision) == ("spearman", "int8")
    assert 0.95 < report.gate.int8 <= report.gate.float32 == pytest.approx(1.0, abs=1e-4)


def test_int8_needs_rows(bundle, tmp_path):
    with pytest.raises(ConfigError, match="^int8 needs labelled rows for its gate; name a file"):
        exported(bundle, tmp_path / "out", int8=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("limit", [math.inf, math.nan])
def test_the_gate_must_be_a_number(bundle, agreeing, tmp_path, limit):
    with pytest.raises(ConfigError, match="^the gate must be a finite number of points, got "):
        exported(bundle, tmp_path / "out", int8=True, limit=limit, rows=agreeing)
    assert not (tmp_path / "out").exists()


def test_a_label_that_the_model_has_not_is_named(bundle, tmp_path):
    rows = labelled(PAIRS[:3], ["neutral", "other", "neutral"])
    with pytest.raises(InputError, match=r"^rows\.tsv, row 3: label 'other' is not one of contrad"):
        exported(bundle, tmp_path / "out", int8=True, rows=rows)
    assert not (tmp_path / "out").exists()


def test_in_place_and_with_what_else_the_bundle_holds(tmp_path):
    path = make_bundle(tmp_path / "model")
    (path / "training").mkdir()
    (path / "training" / "log.jsonl").write_text("{}\n")
    (path / "calibration.json").write_text('{"temperature": 2.0}\n')
    before = (path / "README.md").read_text(), (path / "tokenizer.json").read_text()
    report = export_matcher(read_bundle(path), path)
    assert report.bundle == path
    assert report.size_bytes == sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    assert ((path / "README.md").read_text(), (path / "tokenizer.json").read_text()) == before
    assert json.loads((path / "calibration.json").read_text()) == {"temperature": 2.0}
    assert (path / "training" / "log.jsonl").read_text() == "{}\n"
    assert load(path).backend.name == "onnx"


def test_settings_that_a_config_leaves_out_have_their_defaults(tmp_path):
    path = make_bundle(tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    for name in ("parts", "cell", "dropout"):
        del config["model"]["config"][name]
    (path / "config.json").write_text(json.dumps(config))
    assert exported(path, tmp_path / "out").difference < 1e-5


def test_half_precision_weights_become_float32(tmp_path):
    path = make_bundle(tmp_path / "model")
    from safetensors.numpy import save_file

    half = {k: v.astype(np.float16) for k, v in load_file(path / "model.safetensors").items()}
    save_file(half, path / "model.safetensors")
    report = exported(path, tmp_path / "out")
    assert {v.dtype.name for v in load_file(report.bundle / "model.safetensors").values()} == {
        "float32"
    }


def test_another_kind_of_bundle_is_refused(tmp_path):
    path = make_bundle(tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "kind": "embedder"}))
    with pytest.raises(BundleError, match=": expected a matcher, found kind 'embedder'$"):
        exported(path, tmp_path / "out")
