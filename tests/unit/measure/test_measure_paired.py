"""Differences on the same words, by drawing sentences."""

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.measure.bootstrap import compare_means, grouped_interval


def test_a_clear_difference_has_no_chance():
    better, worse = np.array([1] * 90 + [0] * 10), np.array([1] * 50 + [0] * 50)
    found = compare_means(better, worse, np.arange(100))
    assert found.difference == pytest.approx(0.4)
    assert found.interval.low > 0.25
    assert found.interval.high < 0.55
    assert found.chance == 0.0
    turned = compare_means(worse, better, np.arange(100))
    assert turned.difference == -found.difference
    assert turned.chance == 0.0


def test_no_difference_is_certain_to_vanish():
    same = np.array([1, 0] * 30)
    found = compare_means(same, same, np.arange(60))
    assert (found.difference, found.chance) == (0.0, 1.0)
    assert found.interval == (0.0, 0.0)


def test_pairing_narrows_the_interval():
    rng = np.random.default_rng(1)
    hard = rng.random(400) < 0.5
    first, second = ~hard, ~hard & (rng.random(400) < 0.95)
    low, high = compare_means(first, second, np.arange(400)).interval
    alone = grouped_interval(first, np.arange(400))
    assert high - low < 0.6 * (alone.high - alone.low)


def test_words_of_a_sentence_are_drawn_together():
    """As many rows, but only ten things that vary: the interval must be wider."""
    values = np.repeat(np.array([1, 0] * 5), 20)
    by_sentence = grouped_interval(values, np.repeat(np.arange(10), 20))
    by_word = grouped_interval(values, np.arange(200))
    assert by_sentence.high - by_sentence.low > 3 * (by_word.high - by_word.low)


def test_agrees_with_the_normal_approximation():
    rng = np.random.default_rng(2)
    values = rng.random(2000) < 0.7
    low, high = grouped_interval(values, np.arange(2000))
    error = 1.96 * np.sqrt(values.mean() * (1 - values.mean()) / 2000)
    assert low == pytest.approx(values.mean() - error, abs=0.003)
    assert high == pytest.approx(values.mean() + error, abs=0.003)


def test_equal_seeds_give_equal_samples():
    values, other = np.arange(30) % 3 == 0, np.arange(30) % 2 == 0
    first = compare_means(values, other, np.arange(30), seed=4)
    assert first == compare_means(values, other, np.arange(30), seed=4)
    assert first != compare_means(values, other, np.arange(30), seed=5)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="rows differ: first has 2, second has 3"):
        compare_means([1, 0], [1, 0, 1], [0, 1])
    with pytest.raises(ValueError, match="rows differ: values has 2, groups has 1"):
        grouped_interval([1, 0], [0])
    with pytest.raises(InputError, match="no rows"):
        grouped_interval([], [])
    with pytest.raises(ValueError, match="num_samples must be at least 1"):
        grouped_interval([1], [0], num_samples=0)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        grouped_interval([1], [0], level=1.0)
