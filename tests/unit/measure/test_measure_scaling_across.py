"""One scaling for several sources: each counts alike, and a form must help elsewhere."""

import numpy as np
import pytest

from softquery.measure import (
    Scaling,
    choose_scaling,
    choose_scaling_across,
    fit_temperature,
    form_of,
    scalings_without_each,
    weigh_alike,
)


def drawn(bias, temperature, num_rows, seed):
    """Logits of two labels, and gold labels that follow their softmax after scaling."""
    random = np.random.default_rng(seed)
    logits = random.normal(scale=2.0, size=(num_rows, 2))
    noise = random.gumbel(size=logits.shape)
    return logits, (logits / temperature + np.array([0.0, bias]) + noise).argmax(axis=1)


def joined(*parts):
    logits, gold = (np.concatenate(each) for each in zip(*parts, strict=True))
    return logits, gold, np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])


def test_one_source_is_as_before():
    logits, gold = drawn(1.0, 2.0, 500, seed=1)
    assert choose_scaling_across(logits, gold, [7] * 500) == choose_scaling(logits, gold)


def test_a_bias_that_all_sources_share_is_taken():
    parts = [drawn(2.0, 1.5, 600, seed) for seed in range(4)]
    found = choose_scaling_across(*joined(*parts))
    assert found.bias == pytest.approx((0.0, 2.0), abs=0.3)


def test_a_bias_of_one_source_is_not_taken_elsewhere():
    parts = [drawn(bias, 1.5, 600, seed) for seed, bias in enumerate((3.0, -3.0, 0.5, -0.5))]
    logits, gold, sources = joined(*parts, drawn(3.0, 1.5, 600, 9))
    assert choose_scaling_across(logits, gold, sources).bias is None


def test_a_large_source_counts_no_more_than_a_small_one():
    sure, unsure = drawn(0.0, 1.0, 4000, seed=1), drawn(0.0, 4.0, 400, seed=2)
    logits, gold, sources = joined(sure, unsure)
    found = choose_scaling_across(logits, gold, sources).temperature
    again = [np.tile(part, (10, 1)) if part.ndim == 2 else np.tile(part, 10) for part in unsure]
    alike = fit_temperature(*joined(sure, again)[:2])
    assert found == pytest.approx(alike, rel=0.02)
    assert found > 1.2 * fit_temperature(logits, gold)


def test_weights_of_sources_have_one_sum():
    weights = weigh_alike([0, 0, 0, 1, 2, 2])
    sums = [weights[:3].sum(), weights[3], weights[4:].sum()]
    assert sums == pytest.approx([1 / 3] * 3)


def test_what_is_left_out_is_not_fitted_on():
    parts = [drawn(0.0, temperature, 500, seed=3) for temperature in (1.0, 5.0)]
    logits, gold, sources = joined(*parts)
    without = scalings_without_each(logits, gold, sources, "temperature")
    assert without[0].temperature == pytest.approx(fit_temperature(*parts[1]))
    assert without[1].temperature == pytest.approx(fit_temperature(*parts[0]))


@pytest.mark.parametrize("num_rows", [20, 300])
def test_a_source_with_one_label_has_no_bias_fitted(num_rows):
    logits, gold, sources = joined(*(drawn(0.0, 1.0, num_rows, seed) for seed in range(2)))
    gold[sources == 0] = 1
    gold[sources == 1] = 0
    assert choose_scaling_across(logits, gold, sources).bias is None


def test_forms_by_name():
    assert form_of(Scaling(bias=(0.0, 1.0))) == "bias"
    assert form_of(Scaling(bias=(0.0, 1.0), growth=0.1)) == "growth"


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="sources"):
        choose_scaling_across([[0.0, 1.0]] * 3, [0, 1, 1], [0, 1])
