"""What tuning is worth on queries that it has not seen, before and after, query by query.

M labelled queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.measure import Interval, interval, reciprocal_rank
from softquery.search.aims import Aim
from softquery.search.tuning.fitting import FirstRow, choose, first_rows, fit
from softquery.search.tuning.judged import Example, JudgedQueries, Mask, TuningLesson
from softquery.search.tuning.tuned_score import Correction, no_columns, no_correction

FOLDS, MOST_FOLDS, INNER_FOLDS = 5, 10, 4
"""Of the queries: those that judge, of few queries, and those that choose."""
FEW = 80
"""Queries up to which more folds are made, so that more of them are learned from."""
SEED = 1
FIGURES = (
    "first_answer", "mrr", "answered_rightly", "precision", "coverage", "unanswerable_answered",
    "net", "loss",
)  # fmt: skip
"""What is measured before and after; of the last two, less is better."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What queries get, by one score and one threshold: [M].

    Attributes:
        answerable: Whether the index has an answer.
        right: Whether the first row answers.
        ranks: The reciprocal rank of the first row that answers.
        given: Whether the first row is above the threshold.
        losses: How surprising it is whether the first row answers.
    """

    answerable: Mask
    right: Mask
    ranks: NDArray[np.float64]
    given: Mask
    losses: NDArray[np.float64]

    def figure(self, name: str, rows: NDArray[np.int64] | slice = slice(None)) -> float:
        """One of `FIGURES` over some queries; NaN where there is nothing to measure."""
        can, right, given = self.answerable[rows], self.right[rows], self.given[rows]
        if name == "net":
            return float((given * np.where(right, 1.0, -1.0)).mean())
        if name == "loss":
            return float(self.losses[rows].mean())
        values, among = {
            "first_answer": (right, can),
            "mrr": (self.ranks[rows], can),
            "answered_rightly": (right & given, can),
            "precision": (right, given),
            "coverage": (given, can),
            "unanswerable_answered": (given, ~can),
        }[name]
        return float(values[among].mean()) if among.any() else float("nan")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The same queries before tuning and after, none of them known to what answered it."""

    before: Outcomes
    after: Outcomes

    def gain(self, name: str) -> tuple[float, Interval]:
        """After less before, with its 95 % interval, paired by query."""
        found = self.after.figure(name) - self.before.figure(name)
        every = np.arange(len(self.before.right))

        def difference(rows: NDArray[np.int64]) -> float:
            return self.after.figure(name, rows) - self.before.figure(name, rows)

        return found, interval(difference, every, seed=SEED)


def make_folds(queries: JudgedQueries, count: int, seed: int = SEED) -> NDArray[np.int64]:
    """A fold for each query, such that those without an answer are spread evenly: [M]."""
    order = np.random.default_rng(seed).permutation(len(queries))
    order = order[np.argsort(queries.answerable[order], kind="stable")]
    folds = np.empty(len(queries), dtype=np.int64)
    folds[order] = np.arange(len(queries)) % count
    return folds


def judge(
    queries: JudgedQueries,
    aim: Aim,
    least: float,
    advance: Callable[[int], object] = lambda done: None,
) -> Judgement:
    """Tune without a fold of the queries and ask these, once for each fold.

    Args:
        queries: All queries.
        aim: What the threshold is for.
        least: The threshold before.
        advance: Called with the number of queries that were judged.
    """
    num_folds = FOLDS if len(queries) > FEW else MOST_FOLDS
    folds = make_folds(queries, num_folds)
    asked: list[Example] = []
    firsts: list[FirstRow] = []
    given: list[bool] = []
    for fold in range(num_folds):
        learned = folds != fold
        choice = choose(queries, learned, make_folds(queries, INNER_FOLDS, seed=SEED + 1 + fold))
        threshold = choice.curve(queries.answerable).threshold(aim)
        correction = fit(queries.lesson(learned, learned), choice.strength)
        held = queries.lesson(~learned, learned, is_real=True)
        found = first_rows(held, correction)
        asked, firsts = [*asked, *held.examples], [*firsts, *found]
        given += [each.score >= threshold for each in found]
        advance(len(asked))
    before = first_rows(
        TuningLesson(asked, [no_columns(each.found) for each in asked]), no_correction()
    )
    return Judgement(
        _outcomes(queries, asked, before, [each.score >= least for each in before]),
        _outcomes(queries, asked, firsts, given),
    )


def outcomes(
    queries: JudgedQueries, lesson: TuningLesson, correction: Correction, least: float
) -> Outcomes:
    """What queries get by a correction and a threshold."""
    firsts = first_rows(lesson, correction)
    given = [each.score >= least for each in firsts]
    return _outcomes(queries, lesson.examples, firsts, given)


def _outcomes(
    queries: JudgedQueries,
    asked: Sequence[Example],
    firsts: Sequence[FirstRow],
    given: Sequence[bool],
) -> Outcomes:
    ranks = [
        reciprocal_rank(
            [each.found.ids[place] for place in first.order.tolist()],
            dict.fromkeys(queries.queries[each.number].relevant, 1.0),
        )
        if queries.answerable[each.number]
        else 0.0
        for each, first in zip(asked, firsts, strict=True)
    ]
    return Outcomes(
        answerable=np.array([bool(queries.answerable[each.number]) for each in asked]),
        right=np.array([first.is_right for first in firsts]),
        ranks=np.array(ranks),
        given=np.array(given, dtype=np.bool_),
        losses=np.array([first.loss for first in firsts]),
    )
