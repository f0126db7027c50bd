import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import precision_recall_curve

from softquery.errors import InputError
from softquery.measure import (
    chance_calibration_error,
    choose_threshold,
    expected_calibration_error,
    fit_temperature,
    reliability,
)


def _logits(seed, num_rows=500, num_labels=3, sharpness=3.0):
    rng = np.random.default_rng(seed)
    honest = rng.normal(size=(num_rows, num_labels)) * 1.5
    gold = np.array([rng.choice(num_labels, p=row) for row in softmax(honest, axis=1)])
    return honest * sharpness, gold


def _ece_by_loops(probabilities, gold, num_bins):
    total = 0.0
    for place in range(num_bins):
        low, high = place / num_bins, (place + 1) / num_bins
        rows = [i for i, row in enumerate(probabilities) if low < max(row) <= high]
        if rows:
            confidence = np.mean([max(probabilities[i]) for i in rows])
            right = np.mean([np.argmax(probabilities[i]) == gold[i] for i in rows])
            total += len(rows) / len(gold) * abs(confidence - right)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_equal_width_error_equals_the_paper_in_plain_loops(seed):
    logits, gold = _logits(seed)
    probabilities = softmax(logits, axis=1)
    assert expected_calibration_error(
        probabilities, gold, num_bins=10, binning="width"
    ) == pytest.approx(_ece_by_loops(probabilities, gold, 10))


def test_equal_mass_bins_hold_equally_many_rows():
    logits, gold = _logits(0, num_rows=300)
    bins = reliability(softmax(logits, axis=1), gold, num_bins=10)
    assert [part.n for part in bins] == [30] * 10
    assert all(a.high <= b.low for a, b in zip(bins, bins[1:], strict=False))


def test_equal_confidences_are_never_parted():
    table = [[0.9, 0.1]] * 60 + [[0.6, 0.4]] * 40
    gold = [0] * 54 + [1] * 6 + [0] * 24 + [1] * 16
    bins = reliability(table, gold, num_bins=15)
    assert [(part.n, part.confidence, part.accuracy) for part in bins] == [
        (40, pytest.approx(0.6), pytest.approx(0.6)),
        (60, pytest.approx(0.9), pytest.approx(0.9)),
    ]
    assert expected_calibration_error(table, gold) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sharpness", [0.2, 1.0, 8.0])
def test_temperature_is_the_minimum_that_scipy_finds(seed, sharpness):
    logits, gold = _logits(seed, sharpness=sharpness)

    def loss(log_temperature):
        scaled = log_softmax(logits / np.exp(log_temperature), axis=1)
        return -scaled[np.arange(len(gold)), gold].mean()

    theirs = np.exp(minimize_scalar(loss, bounds=(-4.6, 4.6), method="bounded").x)
    assert fit_temperature(logits, gold) == pytest.approx(theirs, rel=1e-3)


def test_temperature_undoes_overconfidence():
    logits, gold = _logits(1, num_rows=4000, sharpness=4.0)
    temperature = fit_temperature(logits, gold)
    assert temperature == pytest.approx(4.0, rel=0.1)
    before = expected_calibration_error(softmax(logits, axis=1), gold)
    after = expected_calibration_error(softmax(logits / temperature, axis=1), gold)
    assert after < before / 4


def test_temperature_stays_finite_where_no_best_one_exists():
    right = [[2.0, 0.0], [0.0, 2.0]]
    assert fit_temperature(right, [0, 1]) == pytest.approx(0.01)
    assert fit_temperature(right, [1, 0]) == pytest.approx(100.0)
    assert fit_temperature([[3.0, 3.0]] * 2, [0, 1]) == 1.0
    assert np.isfinite(fit_temperature([[1e6, 0.0], [0.0, 1e6], [1e6, 0.0]], [0, 1, 1]))


@pytest.mark.parametrize("seed", range(4))
def test_best_f1_is_the_best_on_the_curve(seed):
    rng = np.random.default_rng(seed)
    gold = rng.integers(2, size=200)
    scores = np.round(gold * 0.3 + rng.random(200), 2)
    precision, recall, _ = precision_recall_curve(gold, scores)
    best = np.nanmax(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    found = choose_threshold(scores, gold)
    assert found.f1 == pytest.approx(best)
    yes = scores >= found.value
    assert (yes & (gold == 1)).sum() / yes.sum() == pytest.approx(found.precision)
    assert (yes & (gold == 1)).sum() / gold.sum() == pytest.approx(found.recall)


@pytest.mark.parametrize("asked", [0.6, 0.8, 0.9])
def test_asked_precision_is_kept_at_the_highest_recall(asked):
    rng = np.random.default_rng(7)
    gold = rng.integers(2, size=300)
    scores = gold + rng.random(300) * 1.5
    precision, recall, _ = precision_recall_curve(gold, scores)
    found = choose_threshold(scores, gold, aim=asked)
    assert found.precision >= asked
    assert found.recall == pytest.approx(recall[precision >= asked].max())


def test_threshold_between_neighbouring_floats_still_parts_them():
    low = 0.5
    high = np.nextafter(low, 1.0)
    found = choose_threshold([high, low], [1, 0])
    assert low < found.value <= high


def test_thresholds_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match=r"no threshold reaches precision 0.9; the best is 0.5000"):
        choose_threshold([0.9, 0.8], [0, 1], aim=0.9)
    with pytest.raises(InputError, match="no row is positive"):
        choose_threshold([0.9, 0.8], [0, 0])
    with pytest.raises(ValueError, match=r"aim must be 'f1' or a precision in \(0, 1\], got 95"):
        choose_threshold([0.9], [1], aim=95)
    with pytest.raises(ValueError, match="got 'recall'"):
        choose_threshold([0.9], [1], aim="recall")


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match=r"probabilities must be in \[0, 1\], got -1.0 to 2.0"):
        expected_calibration_error([[2.0, -1.0]], [0])
    with pytest.raises(ValueError, match="binning must be 'mass' or 'width', got 'depth'"):
        expected_calibration_error([[0.5, 0.5]], [0], binning="depth")
    with pytest.raises(ValueError, match="num_bins must be at least 1, got 0"):
        reliability([[0.5, 0.5]], [0], num_bins=0)
    with pytest.raises(ValueError, match=r"logits must have 2 axes, got shape \(2,\)"):
        fit_temperature([0.1, 0.2], [0, 1])


def test_true_probabilities_show_an_chance_calibration_error_that_falls_with_rows():
    draw = np.random.default_rng(1)
    share = draw.uniform(0.5, 1.0, 4000)
    table = np.stack([share, 1 - share], axis=1)
    few, many = chance_calibration_error(table[:200]), chance_calibration_error(table)
    assert 0.04 < few < 0.16
    assert many < few / 2
    assert chance_calibration_error(np.array([[1.0, 0.0]] * 30)) == 0.0


def test_weights_count_as_repeated_rows_do():
    draw = np.random.default_rng(2)
    logits, gold = draw.normal(size=(60, 3)), draw.integers(0, 3, 60)
    counts = draw.integers(1, 4, 60)
    again = np.repeat(np.arange(60), counts)
    table = softmax(logits, axis=1)
    assert fit_temperature(logits, gold, weights=counts) == pytest.approx(
        fit_temperature(logits[again], gold[again])
    )
    assert expected_calibration_error(table, gold, weights=counts) == pytest.approx(
        expected_calibration_error(table[again], gold[again])
    )
    assert expected_calibration_error(table, gold, weights=np.ones(60)) == pytest.approx(
        expected_calibration_error(table, gold)
    )


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, 1.0, 1.0]])
def test_weights_that_no_row_can_have(weights):
    with pytest.raises(ValueError, match="weights must be 2 numbers above 0"):
        expected_calibration_error([[0.8, 0.2]] * 2, [0, 1], weights=weights)
