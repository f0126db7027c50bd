"""int8 of generators behind the gate: BLEU for translation, perplexity for what has no BLEU."""

import json
import math

import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu ([train])")

from safetensors.numpy import load_file, save_file

from small_generators import make_generator, some_rows, some_texts
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export import export_generator
from softquery.export.generate import LIMITS
from softquery.runtime import load_generator
from softquery.runtime.graph_weights import SCALE


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return read_bundle(make_generator(tmp_path_factory.mktemp("writer") / "plain", "transformer"))


@pytest.fixture(scope="module")
def agreeing(bundle, tmp_path_factory):
    """Rows whose targets are what float32 writes, so that int8 can only lose."""
    plain = export_generator(bundle, tmp_path_factory.mktemp("agreeing") / "float32").bundle
    sources = some_texts(30)
    answers = load_generator(plain, backend="onnx").predict(sources)
    return some_rows(sources, [answer.text for answer in answers])


def is_int8(report):
    return any(name.endswith(SCALE) for name in load_file(report.bundle / "model.safetensors"))


def test_int8_within_the_gate_is_taken(bundle, agreeing, tmp_path):
    report = export_generator(bundle, tmp_path / "out", int8=True, limit=100, rows=agreeing)
    gate = report.gate
    assert (report.precision, gate.metric, gate.n) == ("int8", "bleu", 30)
    assert gate.float32 == pytest.approx(100)
    assert gate.lost_points == pytest.approx(gate.float32 - gate.int8)
    assert gate.accepted
    assert is_int8(report)
    noted = json.loads((report.bundle / "metrics.json").read_text())
    assert noted["before"] == 1  # what was measured before stays
    assert noted["export"]["gate"]["int8"] == gate.int8
    assert noted["export"]["arithmetic"] == "int8"
    assert "int8 was kept: bleu 100.0000" in (report.bundle / "README.md").read_text()
    plain = export_generator(bundle, tmp_path / "plain")
    assert report.size_bytes < plain.size_bytes / 2
    assert load_generator(report.bundle).backend.name == "onnx"


def test_int8_over_the_gate_is_refused_and_float32_kept(bundle, agreeing, tmp_path):
    report = export_generator(bundle, tmp_path / "out", int8=True, limit=-100, rows=agreeing)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    assert not is_int8(report)
    noted = json.loads((report.bundle / "metrics.json").read_text())["export"]
    assert noted["precision"] == "float32"
    assert noted["gate"]["accepted"] is False
    assert "int8 was refused" in (report.bundle / "README.md").read_text()


def test_where_multiplying_costs_too_much_int8_is_a_way_of_storing(tmp_path):
    """A large value that a matrix leaves out takes all steps from those that it does not."""
    path = make_generator(tmp_path / "plain", "transformer", bleu="none", norm="pre")
    bundle = read_bundle(path)
    weights = {name: values.copy() for name, values in bundle.read_weights().items()}
    for layer in range(2):  # a feature that is read as 0, but is as large as thousands
        norm = f"decoder.{layer}.around_feed_forward.norm"
        weights[f"{norm}.weight"][0], weights[f"{norm}.bias"][0] = 0.0, 2000.0
        weights[f"decoder.{layer}.feed_forward.widen.weight"][:, 0] = 0.0
    save_file(weights, path / "model.safetensors")
    sources = some_texts(30)
    said = load_generator(bundle, backend="torch").predict(sources)
    rows = some_rows(sources, [answer.text for answer in said])
    report = export_generator(bundle, tmp_path / "out", int8=True, limit=2, rows=rows)
    noted = json.loads((report.bundle / "metrics.json").read_text())["export"]
    assert (noted["precision"], noted["arithmetic"]) == ("int8", "float32")
    assert noted["gate_of_int8_arithmetic"]["accepted"] is False
    assert noted["gate"]["accepted"] is True
    assert is_int8(report)
    ours, theirs = (load_generator(report.bundle, backend=each) for each in ("onnx", "torch"))
    one, other = (each.log_likelihoods(some_texts(9), some_texts(9, seed=4))[0]
                  for each in (ours, theirs))  # fmt: skip
    assert one == pytest.approx(other, rel=1e-4)


def test_where_no_bleu_is_measured_perplexity_is(tmp_path):
    made = read_bundle(make_generator(tmp_path / "plain", "seq2seq", bleu="none"))
    rows = some_rows(some_texts(20), some_texts(20, seed=2))
    report = export_generator(made, tmp_path / "out", int8=True, limit=50, rows=rows)
    gate = report.gate
    assert gate.metric == "perplexity"
    assert gate.lost_points == pytest.approx(100 * (gate.int8 / gate.float32 - 1))
    sides = ([row.values[side] for row in rows] for side in ("source", "target"))
    ours, counts = load_generator(report.bundle).log_likelihoods(*sides)
    assert math.exp(-ours.sum() / counts.sum()) == pytest.approx(gate.int8)


def test_the_usual_limits(bundle, agreeing, tmp_path):
    report = export_generator(bundle, tmp_path / "out", int8=True, rows=agreeing)
    assert report.gate.limit_points == LIMITS["bleu"] == 0.3


def test_what_was_exported_is_exported_again(bundle, agreeing, tmp_path):
    small = export_generator(bundle, tmp_path / "out", int8=True, limit=100, rows=agreeing).bundle
    again = export_generator(read_bundle(small), tmp_path / "again")
    assert again.precision == "float32"
    assert again.difference < 1e-3
    assert not is_int8(again)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"limit": 1.0}, "int8 needs rows with source and target"),
     ({"limit": math.nan}, "the gate must be a finite number, got nan")],
)  # fmt: skip
def test_what_cannot_be_gated_is_refused(bundle, given, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        export_generator(bundle, tmp_path / "out", int8=True, **given)
    assert not (tmp_path / "out").exists()


def test_other_bundles_are_refused(tmp_path):
    from small_bundles import make_bundle

    with pytest.raises(BundleError, match="expected a generator, found kind 'matcher'"):
        export_generator(read_bundle(make_bundle(tmp_path / "matcher")), tmp_path / "out")
