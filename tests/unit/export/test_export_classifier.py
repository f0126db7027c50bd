"""int8 of a classifier is judged by what the classifier itself is judged by."""

import json

import pytest

from small_classifiers import labelled_texts, make_classifier, random_texts
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.export import export_classifier
from softquery.runtime import load_classifier
from softquery.runtime.classify.evaluate import evaluate_classifier

RELATIONS = ("Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", "Other")


def judged_by(folder, metric):
    """The bundle, steered by another metric."""
    config = json.loads((folder / "config.json").read_bytes())
    config["task"]["metric"] = metric
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return read_bundle(folder)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "relation_f1"])
def test_the_gate_measures_what_the_classifier_is_judged_by(metric, tmp_path):
    bundle = judged_by(make_classifier(tmp_path / "plain", labels=RELATIONS), metric)
    texts = random_texts(60)
    labels = [each.label for each in load_classifier(bundle).predict(texts)]
    labels[:6] = ["Other"] * 6
    rows = labelled_texts(texts, labels)
    report = export_classifier(bundle, tmp_path / "int8", int8=True, limit=100, rows=rows)
    assert (report.precision, report.gate.metric, report.gate.n) == ("int8", metric, 60)
    plain = export_classifier(bundle, tmp_path / "float32").bundle
    for path, figure in ((plain, report.gate.float32), (report.bundle, report.gate.int8)):
        found = evaluate_classifier(load_classifier(path), rows).report()
        assert found[metric] == pytest.approx(figure)
    noted = json.loads((report.bundle / "metrics.json").read_bytes())["export"]
    assert noted["gate"]["metric"] == metric


def test_graphs_that_would_differ_are_not_written(tmp_path, monkeypatch):
    from softquery.export import classify

    plain = classify.classify_graph

    def careless(weights, merge, limit, places):
        return plain(weights, "concat" if merge == "sum" else "sum", limit, places)

    bundle = read_bundle(make_classifier(tmp_path / "plain", size=8))
    monkeypatch.setattr(classify, "classify_graph", careless)
    with pytest.raises(BundleError):
        export_classifier(bundle, tmp_path / "out")
    monkeypatch.setattr(classify, "classify_graph", plain)
    monkeypatch.setattr(classify, "_difference", lambda *given: 0.5)
    with pytest.raises(BundleError, match=r"the exported graphs differ from torch by 5.0e-01"):
        export_classifier(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()
