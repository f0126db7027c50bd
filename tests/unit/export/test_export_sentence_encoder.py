"""int8 of a sentence encoder is judged by what its cosines say of labelled pairs."""

import json

import pytest

from small_sentence_encoders import labelled_pairs, make_sentence_encoder
from softquery.bundle import read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export import encode, export_sentence_encoder
from softquery.runtime import evaluate, load

LABELS = {"auc": ["0", "1"] * 20, "spearman": ["0", "1.5", "3", "5"] * 10}


@pytest.mark.parametrize("metric", LABELS)
def test_the_gate_measures_by_the_labels(metric, tmp_path):
    bundle = read_bundle(make_sentence_encoder(tmp_path / "plain", size=64))
    rows = labelled_pairs(LABELS[metric])
    report = export_sentence_encoder(bundle, tmp_path / "int8", int8=True, limit=100, rows=rows)
    assert (report.precision, report.gate.metric, report.gate.n) == ("int8", metric, 40)
    plain = export_sentence_encoder(bundle, tmp_path / "float32").bundle
    for path, figure in ((plain, report.gate.float32), (report.bundle, report.gate.int8)):
        assert evaluate(load(path), rows).report()[metric] == pytest.approx(figure)
    noted = json.loads((report.bundle / "metrics.json").read_bytes())["export"]
    assert noted["gate"]["metric"] == metric


def test_what_costs_too_much_stays_float32(tmp_path):
    bundle = read_bundle(make_sentence_encoder(tmp_path / "plain", size=64))
    rows = labelled_pairs(LABELS["auc"])
    report = export_sentence_encoder(bundle, tmp_path / "out", int8=True, limit=-100, rows=rows)
    assert (report.precision, report.gate.accepted) == ("float32", False)


def test_int8_needs_rows(tmp_path):
    bundle = read_bundle(make_sentence_encoder(tmp_path / "plain"))
    with pytest.raises(ConfigError, match="int8 needs labelled rows for its gate"):
        export_sentence_encoder(bundle, tmp_path / "out", int8=True)


def test_graphs_that_would_differ_are_not_written(tmp_path, monkeypatch):
    bundle = read_bundle(make_sentence_encoder(tmp_path / "plain"))
    plain = encode.SYSTEMS["pooled-encoder"]

    def careless(weights, settings, limits):
        return plain(weights, {**settings, "pools": ("max", "query")}, limits)

    monkeypatch.setitem(encode.SYSTEMS, "pooled-encoder", careless)
    with pytest.raises(BundleError, match="the exported graphs differ from torch by"):
        export_sentence_encoder(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_graph_of_another_width_is_refused(tmp_path):
    bundle = read_bundle(make_sentence_encoder(tmp_path / "plain"))
    folder = export_sentence_encoder(bundle, tmp_path / "out").bundle
    config = json.loads((folder / "config.json").read_bytes())
    config["model"]["config"]["output_size"] = 12
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    said = "output_size is 12, but model.safetensors is made for 24"
    with pytest.raises(BundleError, match=said):
        load(folder)
