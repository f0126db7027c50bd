"""How well scores follow graded labels: linearly (Pearson) or in order (Spearman)."""

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.arrays import Numbers, as_numbers, require_same_length


def pearson(gold: ArrayLike, score: ArrayLike) -> float:
    """The linear correlation; NaN where either side is constant or has fewer than two rows.

    >>> round(pearson([1, 2, 3], [2, 4, 7]), 4)
    0.9934
    >>> pearson([1, 1, 1], [2, 4, 7])
    nan
    """
    left, right = as_numbers(gold, name="gold"), as_numbers(score, name="score")
    require_same_length(gold=left, score=right)
    # Tested on the values: the mean of a constant may be off by a rounding, its spread then not 0.
    if (left == left[0]).all() or (right == right[0]).all():
        return float("nan")
    return float(np.clip(_unit(left) @ _unit(right), -1.0, 1.0))


def spearman(gold: ArrayLike, score: ArrayLike) -> float:
    """The correlation of ranks, ties sharing their average rank; NaN where a side is constant.

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    left, right = as_numbers(gold, name="gold"), as_numbers(score, name="score")
    return pearson(average_ranks(left), average_ranks(right))


def average_ranks(values: Numbers) -> Numbers:
    """Ranks from 1, where equal values share the mean of the ranks they take up.

    >>> average_ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Numbers = (last - (counts - 1) / 2)[group]
    return ranks


def _unit(values: Numbers) -> Numbers:
    # Dividing by the largest deviation first keeps squares of extreme values finite.
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    scaled: Numbers = centred / np.linalg.norm(centred)
    return scaled
