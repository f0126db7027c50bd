"""How well scores follow graded labels: linearly (Pearson) or in order (Spearman)."""

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.arrays import Labels, Numbers, as_numbers, require_same_length


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
    return _ranks_of_codes(order_codes(values))


def order_codes(values: Numbers) -> Labels:
    """Each value's place among the distinct values: all that an order metric needs to know.

    >>> order_codes(np.array([30.0, 10.0, 30.0])).tolist()
    [1, 0, 1]
    """
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def spearman_of_codes(gold: Labels, score: Labels) -> float:
    """`spearman` of values that were coded once, so that no resample has to sort them again.

    >>> spearman_of_codes(np.array([0, 1, 2, 3]), np.array([0, 1, 3, 2]))
    0.8
    """
    return pearson(_ranks_of_codes(gold), _ranks_of_codes(score))


def _ranks_of_codes(codes: Labels) -> Numbers:
    counts = np.bincount(codes)
    ranks: Numbers = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks


def _unit(values: Numbers) -> Numbers:
    # Dividing by the largest deviation first keeps squares of extreme values finite.
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    scaled: Numbers = centred / np.linalg.norm(centred)
    return scaled
