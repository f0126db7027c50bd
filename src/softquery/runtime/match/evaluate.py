"""How good a matcher is on labelled pairs: metrics, slices, mistakes, and whether order matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    GradedReport,
    MatchReport,
    accuracy,
    by_label,
    by_length,
    by_value,
    expected_calibration_error,
    measure_slices,
    spearman,
    symmetry,
)
from softquery.runtime.match.model import Matcher
from softquery.runtime.mistakes import Mistake, column_values, gold_labels, wrong_answers

CHUNK = 2048
"""Pairs that are answered at a time."""


@dataclass(frozen=True, slots=True)
class MatchEvaluation:
    """Gold labels and answers of a data set, to be looked at in several ways."""

    matcher: Matcher
    rows: list[Row]
    gold: NDArray[Any]
    probabilities: NDArray[np.float64]
    num_cut: int
    """Sentences that were longer than the model's limit."""

    def report(self) -> dict[str, Any]:
        """The task's metrics with bootstrap intervals, and how far probabilities are off."""
        if self.matcher.is_graded:
            return GradedReport.of(self.gold, self.probabilities[:, 0]).to_dict()
        predicted = self.matcher.decide(self.probabilities)
        report = MatchReport.of(
            self.gold, self.probabilities, self.matcher.labels, predicted=predicted
        ).to_dict()
        return {**report, "ece": expected_calibration_error(self.probabilities, self.gold)}

    def slices(self, by: str) -> list[dict[str, Any]]:
        """The main metric for groups of rows: by `length`, by `label`, or by a column's value."""
        if by == "length":
            texts = [f"{row.values['sentence1']} {row.values['sentence2']}" for row in self.rows]
            ids = self.matcher.pipeline.encode_ids(texts)
            groups = by_length([len(each) for each in ids])
        elif by == "label" and not self.matcher.is_graded:
            groups = by_label(self.gold, self.matcher.labels)
        else:
            groups = by_value(column_values(self.rows, by))
        if self.matcher.is_graded:
            parts = measure_slices(
                groups, {"spearman": spearman}, self.gold, self.probabilities[:, 0]
            )
        else:
            predicted = self.matcher.decide(self.probabilities)
            parts = measure_slices(groups, {"accuracy": accuracy}, self.gold, predicted)
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[Mistake]:
        """Wrong answers, the surest first; for grades every row, the farthest first."""
        if self.matcher.is_graded:
            low, high = self.matcher.task["low"], self.matcher.task["high"]
            shares = self.probabilities[:, 0]
            found = [
                Mistake(row, f"{low + share * (high - low):.3f}", abs(share - gold))
                for row, share, gold in zip(
                    self.rows, shares.tolist(), self.gold.tolist(), strict=True
                )
            ]
        else:
            chosen = self.matcher.decide(self.probabilities)
            found = wrong_answers(
                self.rows, self.gold, chosen, self.probabilities, self.matcher.labels
            )
        return sorted(found, key=lambda mistake: -mistake.confidence)

    def order(self) -> dict[str, Any]:
        """match(a, b) against match(b, a)."""
        swapped = _probabilities(self.matcher, self.rows, swapped=True)
        found = symmetry(self.probabilities, swapped).to_dict()
        if not self.matcher.is_graded:  # by the answers that are given, threshold and all
            same = self.matcher.decide(self.probabilities) == self.matcher.decide(swapped)
            found["same_label"] = float(same.mean())
        return found


def evaluate_matcher(matcher: Matcher, rows: Sequence[Row]) -> MatchEvaluation:
    """Answer every row and keep what was said.

    Args:
        matcher: The model.
        rows: With `sentence1`, `sentence2` and `label`.
    """
    if not rows:
        raise InputError("there are no rows to evaluate on")
    gold = gold_labels(matcher, rows)
    cut = 0
    for column in ("sentence1", "sentence2"):
        _, cuts = matcher.pipeline.encode_ids_with_cuts([row.values[column] for row in rows])
        cut += sum(lost > 0 for lost in cuts)
    return MatchEvaluation(matcher, list(rows), gold, _probabilities(matcher, rows), cut)


def _probabilities(
    matcher: Matcher, rows: Sequence[Row], *, swapped: bool = False
) -> NDArray[np.float64]:
    names = ("sentence2", "sentence1") if swapped else ("sentence1", "sentence2")
    parts = [
        matcher.probabilities(
            [(row.values[names[0]], row.values[names[1]]) for row in rows[start : start + CHUNK]]
        )
        for start in range(0, len(rows), CHUNK)
    ]
    return np.concatenate(parts)
