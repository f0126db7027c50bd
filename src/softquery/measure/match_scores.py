"""How good a matcher is: reports of labels and grades, symmetry, and the choice of a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from softquery.errors import InputError
from softquery.measure.basic_metrics import (
    Numbers,
    as_labels,
    as_numbers,
    auc,
    confusion_matrix,
    f1_by_label,
    order_codes,
    pearson,
    require_ids_below,
    require_same_length,
    spearman,
    spearman_of_codes,
)
from softquery.measure.bootstrap import (
    Interval,
    interval,
    mean_interval,
    plain_interval,
    plain_number,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """A threshold, score >= value meaning yes, with its figures on the rows it was chosen on."""

    value: float
    precision: float
    recall: float
    f1: float


def choose_threshold(
    scores: ArrayLike,
    gold: ArrayLike,
    aim: Literal["f1"] | float = "f1",
    *,
    weights: ArrayLike | None = None,
) -> Threshold:
    """The threshold with the best F1, or the lowest one with a given precision.

    The value lies halfway to the next lower score, so that a rounding difference on another machine
    does not change an answer.

    Args:
        scores: One number per row, higher for yes.
        gold: 0 or 1 for each row.
        aim: `"f1"`, or the precision to keep, above 0 and at most 1.
        weights: How much each row counts; equally by default.

    Raises:
        InputError: No row is positive, or no threshold reaches the precision.

    >>> round(choose_threshold([0.9, 0.8, 0.4, 0.1], [1, 1, 0, 0]).value, 3)
    0.6
    >>> choose_threshold([0.9, 0.8, 0.4, 0.1], [1, 0, 1, 0], aim=1.0).recall
    0.5
    """
    numbers, positive = as_numbers(scores, name="scores"), as_labels(gold, name="gold")
    require_same_length(scores=numbers, gold=positive)
    require_ids_below(positive, 2, name="gold")
    if not positive.any():
        raise InputError("cannot choose a threshold: no row is positive")
    order = np.argsort(-numbers, kind="stable")
    falling = numbers[order]
    ends = np.flatnonzero(np.append(falling[:-1] > falling[1:], True))  # last row of each score
    counts = np.ones(len(numbers)) if weights is None else as_numbers(weights, name="weights")
    require_same_length(scores=numbers, weights=counts)
    hits, said = (np.cumsum(each[order])[ends] for each in (counts * positive, counts))
    num_true = (counts * positive).sum()
    precision, recall = hits / said, hits / num_true
    f1 = 2 * hits / (said + num_true)
    best = int(f1.argmax()) if aim == "f1" else _lowest_with(precision, aim)
    return Threshold(
        value=_between(falling[ends], best),
        precision=float(precision[best]),
        recall=float(recall[best]),
        f1=float(f1[best]),
    )


def _lowest_with(precision: Numbers, asked: object) -> int:
    if not isinstance(asked, (int, float)) or not 0 < asked <= 1:
        raise ValueError(f"aim must be 'f1' or a precision in (0, 1], got {asked!r}")
    reached = np.flatnonzero(precision >= asked)
    if not len(reached):
        raise InputError(
            f"no threshold reaches precision {asked:g}; the best is {precision.max():.4f}"
        )
    return int(reached[-1])


def _between(falling: Numbers, place: int) -> float:
    """Halfway from one distinct score to the next lower one, where a float lies between."""
    score = float(falling[place])
    if place + 1 == len(falling):
        return score
    below = float(falling[place + 1])
    middle = below + (score - below) / 2
    return middle if below < middle <= score else score


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchReport:
    """The scores of label probabilities; `MatchReport.of` makes one."""

    n: int
    accuracy: float
    accuracy_interval: Interval
    macro_f1: float
    f1: dict[str, float]
    confusion: dict[str, dict[str, int]]
    """Rows by gold label, then by predicted label."""
    auc: float | None = None
    """With two labels only: the AUC of the second label's probability."""

    @classmethod
    def of(
        cls,
        gold: ArrayLike,
        probabilities: ArrayLike,
        labels: Sequence[str],
        *,
        predicted: ArrayLike | None = None,
        num_samples: int = 1000,
        seed: int = 0,
    ) -> "MatchReport":
        """Measure label probabilities [n, L] against gold label ids.

        The likeliest label counts as the answer, unless `predicted` holds other label ids, such as
        those by a threshold.

        >>> report = MatchReport.of([0, 1], [[0.9, 0.1], [0.3, 0.7]], ["no", "yes"])
        >>> (report.accuracy, report.auc, report.confusion["yes"])
        (1.0, 1.0, {'no': 0, 'yes': 1})
        """
        table = as_numbers(probabilities, name="probabilities", num_axes=2)
        gold_ids = as_labels(gold, name="gold")
        _check(table.shape, labels)
        require_same_length(gold=gold_ids, probabilities=table)
        require_ids_below(gold_ids, len(labels), name="gold")
        answers = (
            table.argmax(axis=1) if predicted is None else as_labels(predicted, name="predicted")
        )
        require_same_length(gold=gold_ids, predicted=answers)
        correct = answers == gold_ids
        f1 = f1_by_label(gold_ids, answers, len(labels))
        counts = confusion_matrix(gold_ids, answers, len(labels)).tolist()
        return cls(
            n=len(gold_ids),
            accuracy=float(correct.mean()),
            accuracy_interval=mean_interval(correct, num_samples=num_samples, seed=seed),
            macro_f1=float(np.nanmean(f1)),
            f1=dict(zip(labels, f1.tolist(), strict=True)),
            confusion={
                label: dict(zip(labels, row, strict=True))
                for label, row in zip(labels, counts, strict=True)
            },
            auc=auc(gold_ids, table[:, 1]) if len(labels) == 2 else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `auc` only with two labels, None for what is undefined."""
        plain: dict[str, Any] = {
            "accuracy": self.accuracy,
            "accuracy_interval": plain_interval(self.accuracy_interval),
            "macro_f1": self.macro_f1,
            "f1": {label: plain_number(value) for label, value in self.f1.items()},
            "confusion": {label: dict(row) for label, row in self.confusion.items()},
            "n": self.n,
        }
        return plain if self.auc is None else {**plain, "auc": plain_number(self.auc)}


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedReport:
    """How well scores follow graded labels; `GradedReport.of` makes one."""

    n: int
    spearman: float
    spearman_interval: Interval
    pearson: float
    pearson_interval: Interval
    mse: float
    mse_interval: Interval

    @classmethod
    def of(
        cls, gold: ArrayLike, score: ArrayLike, *, num_samples: int = 1000, seed: int = 0
    ) -> "GradedReport":
        """Measure scores against gold grades, both on the same scale.

        >>> report = GradedReport.of([0.0, 1.0, 2.0], [0.5, 1.0, 1.5])
        >>> (round(report.spearman, 3), round(report.mse, 3))
        (1.0, 0.167)
        """
        grades, scores = as_numbers(gold, name="gold"), as_numbers(score, name="score")
        require_same_length(gold=grades, score=scores)
        squares = (grades - scores) ** 2
        codes = order_codes(grades), order_codes(scores)
        return cls(
            n=len(grades),
            spearman=spearman(grades, scores),
            spearman_interval=interval(
                spearman_of_codes, *codes, num_samples=num_samples, seed=seed
            ),
            pearson=pearson(grades, scores),
            pearson_interval=interval(pearson, grades, scores, num_samples=num_samples, seed=seed),
            mse=float(squares.mean()),
            mse_interval=mean_interval(squares, num_samples=num_samples, seed=seed),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an undefined correlation is None."""
        return {
            "spearman": plain_number(self.spearman),
            "spearman_interval": plain_interval(self.spearman_interval),
            "pearson": plain_number(self.pearson),
            "pearson_interval": plain_interval(self.pearson_interval),
            "mse": self.mse,
            "mse_interval": plain_interval(self.mse_interval),
            "n": self.n,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Symmetry:
    """How far match(a, b) and match(b, a) agree.

    They should agree for duplicates; entailment has a direction, and they need not.
    """

    n: int
    same_label: float
    """The share of pairs with the same label both ways."""
    mean_difference: float
    """The mean absolute difference of a label's probability."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "same_label": self.same_label,
            "mean_difference": self.mean_difference,
            "n": self.n,
        }


def symmetry(prob_ab: ArrayLike, prob_ba: ArrayLike) -> Symmetry:
    """Compare probabilities [n, L] of pairs with those of the swapped pairs.

    >>> round(symmetry([[0.9, 0.1]], [[0.7, 0.3]]).mean_difference, 3)
    0.2
    """
    there = as_numbers(prob_ab, name="prob_ab", num_axes=2)
    back = as_numbers(prob_ba, name="prob_ba", num_axes=2)
    if there.shape != back.shape:
        raise ValueError(f"shapes differ: prob_ab {there.shape}, prob_ba {back.shape}")
    return Symmetry(
        n=len(there),
        same_label=float((there.argmax(axis=1) == back.argmax(axis=1)).mean()),
        mean_difference=float(np.abs(there - back).mean()),
    )


def _check(shape: tuple[int, ...], labels: Sequence[str]) -> None:
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"labels must be at least two and differ, got {list(labels)}")
    if shape[1] != len(labels):
        raise ValueError(f"probabilities have {shape[1]} columns for {len(labels)} labels")
