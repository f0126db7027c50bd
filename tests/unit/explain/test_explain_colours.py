import numpy as np
import pytest

from softquery.explain.colours import (
    NUM_LEVELS,
    contrast,
    ink_on,
    level_of,
    luminance,
    ramp,
    ramp_css,
)

HUES = ("first", "second", "for", "against")
RAMPS = [(hue, scheme) for hue in HUES for scheme in ("light", "dark")]


@pytest.mark.parametrize(("side", "scheme"), RAMPS)
def test_more_weight_is_seen_without_colours(side, scheme):
    steps = np.diff([luminance(colour) for colour in ramp(side, scheme)])
    assert (steps < 0).all() if scheme == "light" else (steps > 0).all()


@pytest.mark.parametrize(("side", "scheme"), RAMPS)
def test_numbers_can_be_read_on_every_level(side, scheme):
    assert min(contrast(ink_on(colour), colour) for colour in ramp(side, scheme)) > 4


@pytest.mark.parametrize(("side", "scheme"), RAMPS)
def test_a_tenth_can_be_told_from_nothing(side, scheme):
    colours = ramp(side, scheme)
    assert contrast(colours[level_of(0.1)], colours[0]) > 1.2


def test_levels_rise_with_weights_and_stay_within_the_ramp():
    levels = [level_of(weight) for weight in np.linspace(0, 1, 200)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (0, NUM_LEVELS)
    assert (level_of(-1.0), level_of(1.001)) == (0, NUM_LEVELS)


def test_contrast_agrees_with_known_ratios():
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)
    assert contrast("#ffffff", "#ff0000") == pytest.approx(4.00, abs=0.01)


def test_css_has_every_class_once_for_each_scheme():
    light, dark = ramp_css().split("@media (prefers-color-scheme: dark)")
    for rules in (light, dark):
        for prefix in "abpc":
            for level in range(NUM_LEVELS + 1):
                assert rules.count(f".{prefix}{level}{{") == 1
                assert rules.count(f".ink-{prefix}{level}{{") == 1
