"""Figures of sentence vectors, against plain loops."""

import numpy as np
import pytest

from softquery.measure import CosineReport, GradedCosineReport, auc, spearman
from softquery.measure.encode_scores import most_accurate_threshold


def right(scores, same, threshold):
    return sum(
        (score >= threshold) == (label == 1) for score, label in zip(scores, same, strict=True)
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_is_better(seed):
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=30).round(1)  # some of them equal
    same = (scores + draw.normal(size=30) > 0).astype(int)
    found = most_accurate_threshold(scores, same)
    best = max(right(scores, same, each) for each in [*scores, scores.max() + 1])
    assert right(scores, same, found) == best


@pytest.mark.parametrize(("same", "said"), [([1, 1], [True, True]), ([0, 0], [False, False])])
def test_one_label_alone(same, said):
    scores = np.array([0.2, 0.8])
    threshold = most_accurate_threshold(scores, np.array(same))
    assert (scores >= threshold).tolist() == said


def test_the_threshold_is_judged_on_the_other_half():
    gold = [0, 1, 0, 1, 1, 1, 0, 0]
    cosines = [0.1, 0.9, 0.2, 0.8, 0.7, 0.4, 0.6, 0.3]
    report = CosineReport.of(gold, cosines)
    assert report.threshold == pytest.approx(0.5)
    assert report.accuracy == 0.5
    assert report.auc == auc(gold, cosines)
    low, high = report.accuracy_interval
    assert 0 <= low <= 0.5 <= high <= 1


def test_grades_may_lie_on_any_scale():
    draw = np.random.default_rng(1)
    gold, cosines = draw.uniform(0, 5, 50), draw.uniform(-1, 1, 50)
    report = GradedCosineReport.of(gold, cosines)
    assert report.spearman == spearman(gold, cosines)
    assert report.to_dict()["n"] == 50


def test_what_is_undefined_is_none():
    plain = GradedCosineReport.of([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]).to_dict()
    assert plain == {"spearman": None, "spearman_interval": [None, None], "n": 3}
    plain = CosineReport.of([1, 0], [0.5, 0.5]).to_dict()
    assert plain["auc"] == 0.5


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="gold"):
        CosineReport.of([1, 0, 1], [0.5, 0.5])
