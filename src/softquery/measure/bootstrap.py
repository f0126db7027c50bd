"""Bootstrap intervals of metrics (Efron & Tibshirani 1993, ch. 13) and paired comparisons."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import (
    Numbers,
    as_labels,
    as_numbers,
    require_rows,
    require_same_length,
)


class Interval(NamedTuple):
    """A confidence interval; NaN twice where the metric is undefined."""

    low: float
    high: float


def interval(
    metric: Callable[..., float],
    *arrays: ArrayLike,
    num_samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The percentile interval of a metric over resampled rows.

    Rows are drawn with replacement, the same rows from every array. Samples in which the metric is
    NaN (a single label, a constant side) are omitted.

    Args:
        metric: Takes the arrays in order and returns a number.
        arrays: Aligned on their first axis.
        num_samples: How many times to resample.
        level: The share of samples inside the interval.
        seed: Equal seeds give equal intervals.

    >>> from softquery.measure.basic_metrics import accuracy
    >>> gold, predicted = np.array([0, 1] * 50), np.array([0, 1] * 40 + [1, 0] * 10)
    >>> low, high = interval(accuracy, gold, predicted)
    >>> low < 0.8 < high
    True
    """
    columns = {f"array {place}": np.asarray(array) for place, array in enumerate(arrays, start=1)}
    _check(columns, num_samples, level)
    rng = np.random.default_rng(seed)
    num_rows = len(next(iter(columns.values())))
    samples = np.empty(num_samples)
    for place in range(num_samples):
        rows = rng.integers(num_rows, size=num_rows)
        samples[place] = metric(*(column[rows] for column in columns.values()))
    return _percentiles(samples, level)


def mean_interval(
    values: ArrayLike, *, num_samples: int = 1000, level: float = 0.95, seed: int = 0
) -> Interval:
    """The interval of a mean over rows, such as accuracy from each row's correctness.

    A fast path of `interval(np.mean, values)`: for values of only 0 and 1 the number of ones in a
    resample is binomial and is drawn as such, so the cost does not grow with the rows.

    >>> mean_interval([1, 1, 1, 1])
    Interval(low=1.0, high=1.0)
    """
    numbers = as_numbers(values, name="values")
    if not np.isin(numbers, (0.0, 1.0)).all():
        return interval(np.mean, numbers, num_samples=num_samples, level=level, seed=seed)
    _check({"values": numbers}, num_samples, level)
    rng = np.random.default_rng(seed)
    ones = rng.binomial(len(numbers), numbers.mean(), size=num_samples)
    return _percentiles(ones / len(numbers), level)


def plain_number(value: float) -> float | None:
    """A figure for JSON: None where it is undefined."""
    return None if math.isnan(value) else value


def plain_interval(bounds: Interval) -> list[float | None]:
    """An interval for JSON."""
    return [plain_number(bounds.low), plain_number(bounds.high)]


def _check(columns: dict[str, NDArray[np.generic]], num_samples: int, level: float) -> None:
    if not columns:
        raise ValueError("interval needs at least one array")
    if num_samples < 1:
        raise ValueError(f"num_samples must be at least 1, got {num_samples}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    for name, column in columns.items():
        require_rows(column, name=name)
    require_same_length(**columns)


def _percentiles(samples: Numbers, level: float) -> Interval:
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


class Comparison(NamedTuple):
    """The difference of two means: first minus second."""

    difference: float
    interval: Interval
    chance: float
    """The share of samples in which the difference is 0 or has the other sign."""


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
        second: A number for each row of the second system.
        groups: The group of each row, such as the index of its sentence; groups are drawn whole.
        num_samples: How many times to resample.
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
    """The interval of a mean over resampled groups of rows.

    >>> grouped_interval([1, 1, 1], [0, 0, 1])
    Interval(low=1.0, high=1.0)
    """
    samples = _samples(as_numbers(values, name="values"), groups, num_samples, seed)
    return _interval(samples, level)


def _samples(values: Numbers, groups: ArrayLike, num_samples: int, seed: int) -> Numbers:
    """The mean over all rows of each resample of groups."""
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
    return _percentiles(samples, level)
