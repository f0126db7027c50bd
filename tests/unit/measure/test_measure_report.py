import json

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.measure import GradedReport, MatchReport, accuracy, auc, interval, spearman, symmetry


def _table(num_rows, num_labels, seed=0):
    rng = np.random.default_rng(seed)
    gold = rng.integers(num_labels, size=num_rows)
    table = rng.random((num_rows, num_labels))
    table[np.arange(num_rows), gold] += 0.3
    return gold, table / table.sum(axis=1, keepdims=True)


def test_two_way_report_is_plain_and_complete():
    gold, table = _table(400, 2)
    report = MatchReport.of(gold, table, ["no", "yes"]).to_dict()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["n"] == 400
    assert report["accuracy"] == accuracy(gold, table.argmax(axis=1))
    assert report["auc"] == auc(gold, table[:, 1])
    low, high = report["accuracy_interval"]
    assert low < report["accuracy"] < high
    assert sum(sum(row.values()) for row in report["confusion"].values()) == 400
    assert report["confusion"]["no"]["yes"] == int(((gold == 0) & (table[:, 1] > 0.5)).sum())


def test_many_way_report_has_no_auc():
    gold, table = _table(100, 3)
    assert "auc" not in MatchReport.of(gold, table, ["a", "b", "c"]).to_dict()


def test_what_is_undefined_is_none():
    report = MatchReport.of([0, 0], [[0.9, 0.1]] * 2, ["no", "yes"]).to_dict()
    assert report["auc"] is None
    assert report["f1"] == {"no": 1.0, "yes": None}
    graded = GradedReport.of([1.0, 1.0], [0.3, 0.4]).to_dict()
    assert graded["spearman"] is None
    assert graded["spearman_interval"] == [None, None]
    json.dumps(graded, allow_nan=False)


def test_graded_report():
    rng = np.random.default_rng(0)
    gold = rng.random(300) * 5
    report = GradedReport.of(gold, gold + rng.normal(size=300), num_samples=200).to_dict()
    assert json.loads(json.dumps(report)) == report
    for name in ("spearman", "pearson", "mse"):
        low, high = report[f"{name}_interval"]
        assert low < report[name] < high
    assert report["mse"] == pytest.approx(1.0, abs=0.3)
    assert report["n"] == 300


def test_the_fast_spearman_interval_is_the_plain_one():
    rng = np.random.default_rng(5)
    gold, score = rng.integers(4, size=80).astype(float), rng.random(80)
    report = GradedReport.of(gold, score, num_samples=100, seed=2)
    assert report.spearman_interval == pytest.approx(
        interval(spearman, gold, score, num_samples=100, seed=2)
    )


def test_symmetry_counts_labels_and_distances():
    found = symmetry([[0.9, 0.1], [0.6, 0.4]], [[0.9, 0.1], [0.4, 0.6]])
    assert found.to_dict() == {
        "same_label": 0.5,
        "mean_difference": pytest.approx(0.1),
        "n": 2,
    }
    with pytest.raises(ValueError, match=r"shapes differ: prob_ab \(1, 2\), prob_ba \(1, 3\)"):
        symmetry([[0.5, 0.5]], [[0.2, 0.3, 0.5]])


def test_labels_and_columns_must_fit():
    with pytest.raises(ValueError, match="probabilities have 2 columns for 3 labels"):
        MatchReport.of([0], [[0.5, 0.5]], ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"at least two and differ, got \['a', 'a'\]"):
        MatchReport.of([0], [[0.5, 0.5]], ["a", "a"])
    with pytest.raises(ValueError, match="rows differ: gold has 1, probabilities has 2"):
        MatchReport.of([0], [[0.5, 0.5]] * 2, ["a", "b"])
    with pytest.raises(InputError, match="no rows"):
        MatchReport.of([], [], ["a", "b"])
