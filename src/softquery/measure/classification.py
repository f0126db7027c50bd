"""How often, and on which labels, predictions agree with gold."""

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.arrays import (
    Labels,
    Numbers,
    as_labels,
    as_numbers,
    require_ids_below,
    require_same_length,
)
from softquery.measure.correlation import average_ranks


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
    """The mean F1 over the labels that occur in gold or predictions, each counted once.

    Use when rare labels matter as much as common ones.

    >>> round(macro_f1([0, 0, 0, 1], [0, 0, 0, 0]), 3)
    0.429
    """
    return float(np.nanmean(f1_by_label(gold, predicted)))


def auc(gold: ArrayLike, score: ArrayLike) -> float:
    """The chance that a positive row scores above a negative one, ties counting one half.

    The area under the ROC curve by the rank-sum identity (Hanley & McNeil 1982). Where gold holds
    only one of the two labels there is nothing to compare and the answer is NaN.

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
