"""Temperature with biases: against a general optimiser, and taken only where it pays."""

import numpy as np
import pytest
from scipy.optimize import minimize

from softquery.measure import Scaling, choose_scaling, fit_temperature
from softquery.measure.calibration_error import MIN_ROWS, fit_scaling


def drawn(bias, temperature, num_rows, seed=1):
    """Logits, and gold labels that follow their softmax after scaling."""
    random = np.random.default_rng(seed)
    logits = random.normal(scale=2.0, size=(num_rows, len(bias)))
    noise = random.gumbel(size=logits.shape)
    return logits, (logits / temperature + np.array(bias) + noise).argmax(axis=1)


@pytest.mark.parametrize("bias", [(0.0, 1.5), (0.0, -0.7, 0.4)])
def test_as_likely_as_what_a_general_optimiser_finds(bias):
    logits, gold = drawn(bias, 2.0, 3000)
    ours = fit_scaling(logits, gold, "bias")

    def loss(point):
        scaling = Scaling(temperature=np.exp(point[0]), bias=(0.0, *point[1:]))
        return -scaling.log_likelihood(logits, gold)

    theirs = minimize(loss, np.zeros(len(bias)), method="BFGS")
    assert -ours.log_likelihood(logits, gold) == pytest.approx(theirs.fun, abs=1e-5)
    assert ours.temperature == pytest.approx(np.exp(theirs.x[0]), rel=0.01)
    assert ours.bias == pytest.approx((0.0, *theirs.x[1:]), abs=0.01)
    assert ours.temperature == pytest.approx(2.0, rel=0.1)
    assert ours.bias == pytest.approx(bias, abs=0.2)


def test_a_bias_is_taken_where_labels_are_favoured():
    logits, gold = drawn((0.0, 2.0), 1.0, 1000)
    found = choose_scaling(logits, gold)
    assert found.bias == pytest.approx((0.0, 2.0), abs=0.3)
    plain = Scaling(temperature=fit_temperature(logits, gold))
    assert found.log_likelihood(logits, gold) > plain.log_likelihood(logits, gold) + 0.1


def test_growth_is_found_where_large_logits_deserve_more_trust():
    random = np.random.default_rng(1)
    logits = random.normal(scale=2.0, size=(6000, 3))
    grown = Scaling(temperature=2.0, growth=0.3, bias=(0.0, 0.5, -0.5))
    gold = (grown.apply(logits) + random.gumbel(size=logits.shape)).argmax(axis=1)
    found = choose_scaling(logits, gold)
    assert found.growth == pytest.approx(0.3, abs=0.05)
    assert found.temperature == pytest.approx(2.0, rel=0.15)
    assert found.bias == pytest.approx((0.0, 0.5, -0.5), abs=0.15)


def test_growth_is_never_negative():
    random = np.random.default_rng(1)
    logits = random.normal(scale=2.0, size=(3000, 2))
    shrunk = 2 * np.sign(logits - logits.mean(axis=1, keepdims=True))
    gold = (shrunk + random.gumbel(size=logits.shape)).argmax(axis=1)
    assert fit_scaling(logits, gold, "growth").growth == 0.0


def test_no_bias_without_enough_rows_or_with_a_label_that_never_occurs():
    logits, gold = drawn((0.0, 2.0), 1.0, MIN_ROWS - 1)
    assert choose_scaling(logits, gold) == Scaling(temperature=fit_temperature(logits, gold))
    logits, gold = drawn((0.0, 0.0, -50.0), 1.0, 500)
    assert set(gold.tolist()) == {0, 1}
    assert choose_scaling(logits, gold).bias is None


def test_labels_beyond_reach_leave_everything_finite():
    logits = np.tile([[30.0, 0.0]], (400, 1))
    found = choose_scaling(logits, np.array([0, 0, 0, 1] * 100))
    assert np.isfinite(found.temperature)
    assert found.bias is None or np.isfinite(found.bias).all()


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="gold"):
        choose_scaling([[0.0, 1.0]] * 3, [0, 1])
    with pytest.raises(ValueError, match="gold"):
        choose_scaling([[0.0, 1.0]] * 2, [0, 2])
