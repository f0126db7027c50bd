"""Fitting a correction to labelled queries, as far as they can bear it.

The correction is a logistic regression over the rows that lead, drawn towards no change at all; how
strongly, and whether remembered queries take part, is chosen by the loss on queries that are left
out.

N rows, K features, M labelled queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softquery.search.aims import AimCurve
from softquery.search.tuning.judged import Example, Floats, JudgedQueries, Mask, TuningLesson
from softquery.search.tuning.tuned_score import FEATURES, SIGNALS, Correction, no_correction

STEPS = 25
"""Of Newton's method, which needs about five."""
SLOPE_PENALTY, SHIFT_PENALTY = 16.0, 4.0
"""Of the calibration, beside the loss of one query."""
MOST_THRESHOLDS = 64
ROUNDED = 5e-5
"""How far a threshold may lie above the score that it was made of."""


@dataclass(frozen=True, slots=True)
class Strength:
    """How far a correction may go.

    Attributes:
        features: How many of `FEATURES` may have weights.
        penalty: Of each squared weight.
        is_calibrated: Whether probabilities are fitted to the labels.
    """

    features: int
    penalty: float
    is_calibrated: bool = True


STRENGTHS = (
    Strength(0, 1.0, is_calibrated=False),
    Strength(0, 1.0),
    *(Strength(len(SIGNALS), penalty) for penalty in (30.0, 5.0)),
    *(Strength(len(FEATURES), penalty) for penalty in (100.0, 30.0, 10.0, 3.0)),
)
"""From no change to the largest."""


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The row that a score puts first.

    Attributes:
        order: The places of all rows, best first: [N].
        score: The probability of the first; 0 if nothing was found.
        is_right: Whether it answers.
    """

    order: NDArray[np.int64]
    score: float
    is_right: bool

    @property
    def loss(self) -> float:
        """How surprising it is whether it answers, in nats.

        >>> [round(FirstRow(np.empty(0), 0.9, is_right).loss, 3) for is_right in (True, False)]
        [0.105, 2.303]
        """
        chance = min(max(self.score, 1e-3), 1 - 1e-3)
        return -float(np.log(chance if self.is_right else 1 - chance))


def fit(lesson: TuningLesson, strength: Strength) -> Correction:
    """The correction that a lesson asks for."""
    found = _weighed(lesson, strength) if strength.features else no_correction()
    if not strength.is_calibrated:
        return found
    totals, right, weights = [], [], []
    for each, columns in zip(lesson.examples, lesson.columns, strict=True):
        if len(each.found):
            sums = found.totals(each.base, columns)
            first = int(sums.argmax())
            totals.append(sums[first])
            right.append(each.right[first])
            weights.append(each.weight)
    if not totals:
        return found
    slope, shift = _platt(np.array(totals), np.array(right, dtype=np.float64), np.array(weights))
    return replace(found, slope=slope, shift=shift)


def first_rows(lesson: TuningLesson, correction: Correction) -> list[FirstRow]:
    """What a correction puts first for each query."""
    return [
        _first_row(each, columns, correction)
        for each, columns in zip(lesson.examples, lesson.columns, strict=True)
    ]


def _first_row(example: Example, columns: Floats, correction: Correction) -> FirstRow:
    if not len(example.found):
        return FirstRow(np.empty(0, dtype=np.int64), 0.0, False)
    totals = correction.totals(example.base, columns)
    order = np.argsort(-totals, kind="stable")
    score = float(correction.probabilities(totals[order[:1]])[0])
    return FirstRow(order, score, bool(example.right[order[0]]))


@dataclass(frozen=True, slots=True)
class ChosenStrength:
    """The strength that was chosen, and what it gave for queries that were left out.

    Attributes:
        strength: How far the correction may go.
        asked: The examples.
        firsts: The first row of each, from what the other folds have taught.
    """

    strength: Strength
    asked: Sequence[Example]
    firsts: Sequence[FirstRow]

    def curve(self, answerable: Mask) -> AimCurve:
        """What is to be expected of each threshold.

        Precision is the mean of the probabilities above it. They are calibrated, so that this is
        what whether those rows were right says, too, and it varies less.

        Args:
            answerable: Which queries have an answer: [M].
        """
        weights = np.array([each.weight for each in self.asked])
        wanted = np.array([each.is_real and bool(answerable[each.number]) for each in self.asked])
        scores = np.array([each.score for each in self.firsts])
        return expected_curve(scores, weights, wanted)


def expected_curve(scores: Floats, weights: Floats, wanted: Mask) -> AimCurve:
    """What is to be expected of each threshold, if scores are calibrated.

    Args:
        scores: That of the first row of each query.
        weights: What each query counts.
        wanted: Which queries coverage is a share of.

    >>> curve = expected_curve(np.array([0.5, 1.0]), np.ones(2), np.array([True, True]))
    >>> curve.precision, curve.coverage
    ([0.75, 1.0], [1.0, 0.5])
    """
    shares = np.linspace(0, 1, MOST_THRESHOLDS)
    grid = np.unique(np.round(np.quantile(scores, shares, method="lower"), 4))
    precision, coverage = [], []
    for threshold in grid.tolist():
        given = scores >= threshold - ROUNDED
        precision.append(float(weights[given] @ scores[given] / max(weights[given].sum(), 1e-9)))
        share = weights[given & wanted].sum() / max(weights[wanted].sum(), 1e-9)
        coverage.append(float(share))
    return AimCurve(grid.tolist(), precision, coverage)


def choose(queries: JudgedQueries, known: Mask, folds: NDArray[np.int64]) -> ChosenStrength:
    """The strength with the least loss on queries that are left out; of equal ones the weaker.

    Args:
        queries: All queries.
        known: Those that may be learned from: [M].
        folds: The fold of each query: [M].
    """
    asked: list[Example] = []
    firsts: dict[Strength, list[FirstRow]] = {strength: [] for strength in STRENGTHS}
    for fold in np.unique(folds[known]).tolist():
        learned = known & (folds != fold)
        lesson = queries.lesson(learned, learned)
        held = queries.lesson(known & (folds == fold), learned)
        asked += held.examples
        for strength, found in firsts.items():
            found += first_rows(held, fit(lesson, strength))
    weights = np.array([each.weight for each in asked])

    def total(strength: Strength) -> float:
        return float(weights @ [each.loss for each in firsts[strength]])

    best = min(STRENGTHS, key=total)
    return ChosenStrength(best, asked, firsts[best])


def _weighed(lesson: TuningLesson, strength: Strength) -> Correction:
    """A correction with weights, before its calibration."""
    learned = lesson.examples
    rows = [c[e.leading] for e, c in zip(learned, lesson.columns, strict=True)]
    inputs = np.concatenate(rows)
    base = np.concatenate([each.base[each.leading] for each in learned])
    right = np.concatenate([each.right[each.leading] for each in learned]).astype(np.float64)
    counted = np.repeat([each.weight for each in learned], [len(each) for each in rows])
    if not len(inputs):
        return no_correction()
    centres, scales = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-3)
    scaled = ((inputs - centres) / scales)[:, : strength.features]
    scaled = np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1)
    penalty = np.array([strength.penalty] * strength.features + [SHIFT_PENALTY])
    found = _logistic(base, scaled, right, counted, penalty)
    weights = np.zeros(len(FEATURES))
    weights[: strength.features] = found[:-1]
    return Correction(centres, scales, weights, offset=float(found[-1]))


def _platt(totals: Floats, right: Floats, weights: Floats) -> tuple[float, float]:
    """Slope and shift of log-odds, drawn towards 1 and 0."""
    inputs = np.stack([totals, np.ones_like(totals)], axis=1)
    penalty = np.array([SLOPE_PENALTY, SHIFT_PENALTY])
    found = _logistic(totals, inputs, right, weights, penalty)
    return max(0.05, 1 + float(found[0])), float(found[1])


def _logistic(
    base: Floats, inputs: Floats, right: Floats, weights: Floats, penalty: Floats
) -> Floats:
    """The weights of a logistic regression beside a given sum, by Newton's method."""
    found = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(base + inputs @ found, -30, 30)))
        rise = inputs.T @ (weights * (right - chance)) - penalty * found
        bend = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs
        step = np.linalg.solve(bend + np.diag(penalty), rise)
        found = found + step
        if float(np.abs(step).max()) < 1e-6:
            break
    return found
