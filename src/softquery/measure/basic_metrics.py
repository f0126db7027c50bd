"""Basic metrics of labels and numbers, and the checks of the arrays that metrics take.

A wrong shape is a programming error (`ValueError`); no rows at all is a user's error, such as an
empty selection (`InputError`).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.errors import InputError

Labels = NDArray[np.int64]
Numbers = NDArray[np.float64]


def as_labels(values: ArrayLike, *, name: str) -> Labels:
    """Label ids, one per row: integers from 0, at least one of them.

    >>> as_labels([0, 2, 1], name="gold").tolist()
    [0, 2, 1]
    """
    array = np.asarray(values)
    require_rows(array, name=name)
    if array.ndim != 1 or not (array.dtype == bool or np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"{name} must be one integer per row, got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0:
        raise ValueError(f"{name} must hold label ids from 0, got {array.min()}")
    return array.astype(np.int64)


def as_numbers(values: ArrayLike, *, name: str, num_axes: int = 1) -> Numbers:
    """Finite floats with the given number of axes and at least one row.

    >>> as_numbers([1, 2], name="score")
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    require_rows(array, name=name)
    if array.ndim != num_axes:
        raise ValueError(f"{name} must have {num_axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity")
    return array


def require_rows(array: NDArray[np.generic], *, name: str) -> None:
    """Refuse to measure without rows."""
    if array.ndim > 0 and len(array) == 0:
        raise InputError(f"there are no rows to measure ({name} is empty)")


def require_same_length(**arrays: NDArray[np.generic]) -> None:
    """Refuse arrays of different lengths.

    >>> require_same_length(gold=np.zeros(3), predicted=np.zeros(2))
    Traceback (most recent call last):
    ValueError: rows differ: gold has 3, predicted has 2
    """
    if len({len(array) for array in arrays.values()}) > 1:
        counts = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise ValueError(f"rows differ: {counts}")


def require_ids_below(labels: Labels, limit: int, *, name: str) -> None:
    """Refuse label ids that are not below the number of labels."""
    if labels.max() >= limit:
        raise ValueError(f"{name} holds label id {labels.max()}, but there are {limit} labels")


def pearson(gold: ArrayLike, score: ArrayLike) -> float:
    """The linear correlation; NaN where either side is constant or has fewer than two rows.

    >>> round(pearson([1, 2, 3], [2, 4, 7]), 4)
    0.9934
    >>> pearson([1, 1, 1], [2, 4, 7])
    nan
    """
    left, right = as_numbers(gold, name="gold"), as_numbers(score, name="score")
    require_same_length(gold=left, score=right)
    # Tested on the values, because rounding may give a constant a spread other than 0.
    if (left == left[0]).all() or (right == right[0]).all():
        return float("nan")
    return float(np.clip(_unit(left) @ _unit(right), -1.0, 1.0))


def spearman(gold: ArrayLike, score: ArrayLike) -> float:
    """The correlation of ranks, with average ranks for ties; NaN where a side is constant.

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    left, right = as_numbers(gold, name="gold"), as_numbers(score, name="score")
    return pearson(average_ranks(left), average_ranks(right))


def average_ranks(values: Numbers) -> Numbers:
    """Ranks from 1; equal values share the mean of their ranks.

    >>> average_ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    return _ranks_of_codes(order_codes(values))


def order_codes(values: Numbers) -> Labels:
    """The index of each value among the sorted distinct values.

    >>> order_codes(np.array([30.0, 10.0, 30.0])).tolist()
    [1, 0, 1]
    """
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def spearman_of_codes(gold: Labels, score: Labels) -> float:
    """`spearman` of the results of `order_codes`, which resamples need not sort again.

    >>> spearman_of_codes(np.array([0, 1, 2, 3]), np.array([0, 1, 3, 2]))
    0.8
    """
    return pearson(_ranks_of_codes(gold), _ranks_of_codes(score))


def _ranks_of_codes(codes: Labels) -> Numbers:
    counts = np.bincount(codes)
    ranks: Numbers = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks


def _unit(values: Numbers) -> Numbers:
    # Division by the largest deviation keeps the squares of extreme values finite.
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    scaled: Numbers = centred / np.linalg.norm(centred)
    return scaled


def accuracy(gold: ArrayLike, predicted: ArrayLike) -> float:
    """The share of rows whose predicted label is the gold one.

    >>> accuracy([0, 1, 2, 1], [0, 1, 1, 1])
    0.75
    """
    gold_ids, predicted_ids = _label_pair(gold, predicted)
    return float(np.mean(gold_ids == predicted_ids))


def confusion_matrix(gold: ArrayLike, predicted: ArrayLike, num_labels: int) -> Labels:
    """Counts of rows by gold label (row) and predicted label (column).

    >>> confusion_matrix([0, 1, 1], [0, 0, 1], num_labels=2).tolist()
    [[1, 0], [1, 1]]
    """
    gold_ids, predicted_ids = _label_pair(gold, predicted)
    require_ids_below(gold_ids, num_labels, name="gold")
    require_ids_below(predicted_ids, num_labels, name="predicted")
    cells = np.bincount(gold_ids * num_labels + predicted_ids, minlength=num_labels**2)
    return cells.reshape(num_labels, num_labels).astype(np.int64)


def f1_by_label(gold: ArrayLike, predicted: ArrayLike, num_labels: int | None = None) -> Numbers:
    """F1 of each label against all others; NaN for a label in neither gold nor predictions.

    Args:
        gold: Label ids.
        predicted: Label ids.
        num_labels: How many labels there are; by default one more than the highest id seen.

    >>> f1_by_label([0, 0, 1], [0, 1, 1]).round(3).tolist()
    [0.667, 0.667]
    """
    gold_ids, predicted_ids = _label_pair(gold, predicted)
    if num_labels is None:
        num_labels = int(max(gold_ids.max(), predicted_ids.max())) + 1
    counts = confusion_matrix(gold_ids, predicted_ids, num_labels)
    # F1 = 2 TP / (2 TP + FP + FN), and the denominator is the two margins added.
    margins = counts.sum(axis=0) + counts.sum(axis=1)
    f1 = np.full(num_labels, np.nan)
    np.divide(2.0 * np.diag(counts), margins, out=f1, where=margins > 0)
    return f1


def macro_f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """The unweighted mean F1 over the labels that occur in gold or predictions.

    Use when rare labels matter as much as common ones.

    >>> round(macro_f1([0, 0, 0, 1], [0, 0, 0, 0]), 3)
    0.429
    """
    return float(np.nanmean(f1_by_label(gold, predicted)))


def auc(gold: ArrayLike, score: ArrayLike) -> float:
    """The probability that a positive row scores above a negative one, ties counting one half.

    The area under the ROC curve by the rank-sum identity (Hanley & McNeil 1982). It is
    NaN where gold holds only one of the two labels.

    Args:
        gold: 0 or 1 for each row.
        score: Any number that should be higher for 1.

    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    gold_ids, scores = as_labels(gold, name="gold"), as_numbers(score, name="score")
    require_same_length(gold=gold_ids, score=scores)
    require_ids_below(gold_ids, 2, name="gold")
    num_positive = int(gold_ids.sum())
    num_negative = len(gold_ids) - num_positive
    if not num_positive or not num_negative:
        return float("nan")
    rank_sum = average_ranks(scores)[gold_ids == 1].sum()
    wins = rank_sum - num_positive * (num_positive + 1) / 2
    return float(wins / (num_positive * num_negative))


def _label_pair(gold: ArrayLike, predicted: ArrayLike) -> tuple[Labels, Labels]:
    gold_ids = as_labels(gold, name="gold")
    predicted_ids = as_labels(predicted, name="predicted")
    require_same_length(gold=gold_ids, predicted=predicted_ids)
    return gold_ids, predicted_ids


def recall_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """The share of the relevant documents that is among the first k.

    >>> recall_at(["b", "a", "c"], {"a": 1, "d": 1}, 2)
    0.5
    """
    _check(relevant, k)
    wanted = {name for name, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranked[:k])) / len(wanted)


def found_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """1 where a relevant document is among the first k, otherwise 0.

    >>> found_at(["b", "a", "c"], {"a": 1, "d": 1}, 2)
    1.0
    """
    _check(relevant, k)
    return float(any(relevant.get(name, 0) > 0 for name in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, float]) -> float:
    """One over the rank of the first relevant document; 0 where there is none.

    >>> reciprocal_rank(["b", "a", "c"], {"a": 1, "c": 1})
    0.5
    """
    _check(relevant, 1)
    for rank, name in enumerate(ranked, start=1):
        if relevant.get(name, 0) > 0:
            return 1 / rank
    return 0.0


def ndcg_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain of the first k (Järvelin & Kekäläinen 2002).

    Gains are the grades themselves, discounts the binary logarithms of ranks plus 1.

    >>> round(ndcg_at(["b", "a"], {"a": 1}, 10), 3)
    0.631
    """
    _check(relevant, k)
    gains = [relevant.get(name, 0.0) for name in ranked[:k]]
    best = sorted(relevant.values(), reverse=True)[:k]
    return _discounted(gains) / _discounted(best)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _check(relevant: Mapping[str, float], k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not any(grade > 0 for grade in relevant.values()):
        raise ValueError("nothing is relevant, so no ranking is better than another")
    if any(grade < 0 for grade in relevant.values()):
        raise ValueError("grades must be 0 or more")
