"""Whether one system is better than another on the same words: the paired bootstrap.

Words of one sentence share their context, so whole sentences are drawn (Efron and Tibshirani 1993,
ch. 8: the unit that is drawn must be the one that varies), the same ones for both systems.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.arrays import Numbers, as_labels, as_numbers, require_same_length
from softquery.measure.bootstrap import Interval


class Comparison(NamedTuple):
    """How much higher the first mean is than the second."""

    difference: float
    interval: Interval
    chance: float
    """Share of samples in which the difference vanishes or has the other sign."""


def compare_means(
    first: ArrayLike,
    second: ArrayLike,
    groups: ArrayLike,
    *,
    num_samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """The difference of two means over the same rows, with its interval.

    Args:
        first: A number for each row, such as 1 where the first system was right.
        second: Likewise for the second one.
        groups: What is drawn together: the number of each row's sentence, from 0.
        num_samples: How many times to draw.
        level: The share of samples inside the interval.
        seed: Equal seeds give equal samples.

    >>> compare_means([1, 1, 1, 0] * 20, [1, 0, 1, 0] * 20, range(80)).difference
    0.25
    """
    left, right = as_numbers(first, name="first"), as_numbers(second, name="second")
    require_same_length(first=left, second=right)
    difference = float((left - right).mean())
    samples = _samples(left - right, groups, num_samples, seed)
    other_sign = samples <= 0 if difference >= 0 else samples >= 0
    return Comparison(difference, _interval(samples, level), float(other_sign.mean()))


def grouped_interval(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    num_samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The interval of a mean when whole groups of rows are drawn.

    >>> grouped_interval([1, 1, 1], [0, 0, 1])
    Interval(low=1.0, high=1.0)
    """
    samples = _samples(as_numbers(values, name="values"), groups, num_samples, seed)
    return _interval(samples, level)


def _samples(values: Numbers, groups: ArrayLike, num_samples: int, seed: int) -> Numbers:
    """The mean of all rows in each sample of groups."""
    if num_samples < 1:
        raise ValueError(f"num_samples must be at least 1, got {num_samples}")
    members = as_labels(groups, name="groups")
    require_same_length(values=values, groups=members)
    _, members = np.unique(members, return_inverse=True)
    sums, sizes = np.bincount(members, weights=values), np.bincount(members)
    rng = np.random.default_rng(seed)
    samples = np.empty(num_samples)
    for place in range(num_samples):
        drawn = rng.integers(len(sizes), size=len(sizes))
        samples[place] = sums[drawn].sum() / sizes[drawn].sum()
    return samples


def _interval(samples: Numbers, level: float) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
