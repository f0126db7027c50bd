import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from softquery.errors import InputError
from softquery.measure import (
    accuracy,
    auc,
    confusion_matrix,
    f1_by_label,
    macro_f1,
    pearson,
    spearman,
)


@pytest.fixture(params=range(4))
def rng(request):
    return np.random.default_rng(request.param)


def test_label_metrics_equal_scikit_learn(rng):
    gold, predicted = rng.integers(5, size=200), rng.integers(4, size=200)
    assert accuracy(gold, predicted) == sklearn_metrics.accuracy_score(gold, predicted)
    assert macro_f1(gold, predicted) == pytest.approx(
        sklearn_metrics.f1_score(gold, predicted, average="macro", zero_division=0)
    )
    np.testing.assert_allclose(
        f1_by_label(gold, predicted),
        sklearn_metrics.f1_score(gold, predicted, average=None, zero_division=0),
    )
    np.testing.assert_array_equal(
        confusion_matrix(gold, predicted, 6),
        sklearn_metrics.confusion_matrix(gold, predicted, labels=range(6)),
    )


def test_a_label_never_seen_has_no_f1_and_does_not_pull_the_mean_down():
    assert np.isnan(f1_by_label([0, 2], [0, 2], num_labels=4)).tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert macro_f1([0, 2], [0, 2]) == 1.0


@pytest.mark.parametrize("num_levels", [3, 10**6])
def test_auc_with_and_without_ties_equals_scikit_learn(rng, num_levels):
    gold = rng.integers(2, size=300)
    score = rng.integers(num_levels, size=300) + gold * num_levels / 4
    assert auc(gold, score) == pytest.approx(sklearn_metrics.roc_auc_score(gold, score))


def test_auc_of_one_label_is_undefined():
    assert np.isnan(auc([1, 1, 1], [0.1, 0.2, 0.3]))


@pytest.mark.parametrize("num_levels", [4, 10**6])
def test_correlations_with_and_without_ties_equal_scipy(rng, num_levels):
    gold = rng.integers(6, size=150).astype(float)
    score = gold + rng.integers(num_levels, size=150) / num_levels * 7
    assert spearman(gold, score) == pytest.approx(stats.spearmanr(gold, score).statistic)
    assert pearson(gold, score) == pytest.approx(stats.pearsonr(gold, score).statistic)


@pytest.mark.parametrize("metric", [pearson, spearman])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e300])
def test_correlation_with_a_constant_is_undefined(metric, constant):
    assert np.isnan(metric([constant] * 7, np.arange(7.0)))
    assert np.isnan(metric(np.arange(7.0), [constant] * 7))
    assert np.isnan(metric([1.0], [2.0]))


def test_pearson_survives_extreme_scales():
    assert pearson([1e-200, 2e-200, 3e-200], [1e200, 2e200, 3e200]) == pytest.approx(1.0)


@pytest.mark.parametrize("metric", [accuracy, macro_f1, auc, pearson, spearman])
def test_no_rows_are_refused(metric):
    with pytest.raises(InputError, match="no rows to measure"):
        metric([], [])


@pytest.mark.parametrize("metric", [accuracy, macro_f1, auc, pearson, spearman])
def test_rows_must_pair_up(metric):
    with pytest.raises(ValueError, match="rows differ: gold has 3, .* has 2"):
        metric([0, 1, 1], [0, 1])


def test_what_is_not_a_label_is_refused():
    with pytest.raises(ValueError, match="gold must be one integer per row, got float64"):
        accuracy([0.5], [1])
    with pytest.raises(ValueError, match="predicted must hold label ids from 0, got -1"):
        accuracy([0], [-1])
    with pytest.raises(ValueError, match="predicted holds label id 3, but there are 2 labels"):
        confusion_matrix([0], [3], 2)
    with pytest.raises(ValueError, match="score must be finite"):
        auc([0, 1], [0.1, float("nan")])
