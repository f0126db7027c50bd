import numpy as np
import pytest
from scipy import stats

from softquery.errors import InputError
from softquery.measure import accuracy, auc, interval, mean_interval


def _rows(num_rows, right, seed=0):
    rng = np.random.default_rng(seed)
    gold = rng.integers(3, size=num_rows)
    return gold, np.where(rng.random(num_rows) < right, gold, (gold + 1) % 3)


def test_interval_is_close_to_the_exact_binomial_one():
    gold, predicted = _rows(2000, 0.8)
    correct = int((gold == predicted).sum())
    exact = stats.binomtest(correct, 2000).proportion_ci(0.95)
    found = interval(accuracy, gold, predicted)
    assert found.low == pytest.approx(exact.low, abs=0.004)
    assert found.high == pytest.approx(exact.high, abs=0.004)


def test_interval_equals_scipy_bootstrap_on_a_mean_of_reals():
    values = np.random.default_rng(3).gamma(2.0, size=400)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = mean_interval(values, num_samples=4000)
    assert ours.low == pytest.approx(theirs.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.high, abs=0.02)


def test_fast_path_agrees_with_the_general_one():
    gold, predicted = _rows(10_000, 0.7)
    fast = mean_interval(gold == predicted)
    general = interval(accuracy, gold, predicted)
    assert fast.low == pytest.approx(general.low, abs=0.002)
    assert fast.high == pytest.approx(general.high, abs=0.002)


def test_the_seed_decides_and_a_higher_level_is_wider():
    gold, predicted = _rows(100, 0.6)
    assert interval(accuracy, gold, predicted, seed=4) == interval(
        accuracy, gold, predicted, seed=4
    )
    narrow, wide = (interval(accuracy, gold, predicted, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_rows_are_drawn_together():
    scores = np.arange(50.0)
    assert interval(lambda left, right: float((left == right).mean()), scores, scores) == (1, 1)


def test_undefined_samples_are_left_out_and_undefined_metrics_stay_so():
    low, high = interval(auc, np.array([0, 0, 1]), np.array([0.1, 0.2, 0.9]))
    assert (low, high) == (1.0, 1.0)
    assert np.isnan(interval(auc, np.array([1, 1]), np.array([0.1, 0.2]))).all()


def test_bad_settings_are_quoted():
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 95"):
        interval(accuracy, [0], [0], level=95)
    with pytest.raises(ValueError, match="num_samples must be at least 1, got 0"):
        mean_interval([0, 1], num_samples=0)
    with pytest.raises(ValueError, match="at least one array"):
        interval(accuracy)
    with pytest.raises(ValueError, match="rows differ: array 1 has 2, array 2 has 1"):
        interval(accuracy, [0, 1], [0])
    with pytest.raises(InputError, match="array 1 is empty"):
        interval(accuracy, [], [])
