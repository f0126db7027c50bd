"""How good a classifier is on labelled texts: metrics, slices and mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    ClassReport,
    accuracy,
    by_label,
    by_length,
    by_value,
    expected_calibration_error,
    measure_slices,
)
from softquery.runtime.classify.model import Classifier
from softquery.runtime.mistakes import Mistake, column_values, gold_labels, wrong_answers


@dataclass(frozen=True, slots=True)
class ClassifyEvaluation:
    """Gold labels and answers of a data set, to be looked at in several ways."""

    classifier: Classifier
    rows: list[Row]
    gold: NDArray[Any]
    probabilities: NDArray[np.float64]
    num_cut: int
    """Texts that were longer than the model's limit."""

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The label ids that were answered."""
        return self.classifier.decide(self.probabilities)

    def report(self) -> dict[str, Any]:
        """The task's metrics with bootstrap intervals, and how far probabilities are off."""
        report = ClassReport.of(
            self.gold,
            self.probabilities,
            self.classifier.labels,
            metric=self.classifier.metric,
            predicted=self.predicted,
        ).to_dict()
        return {**report, "ece": expected_calibration_error(self.probabilities, self.gold)}

    def slices(self, by: str) -> list[dict[str, Any]]:
        """Accuracy for groups of rows: by `length`, by `label`, or by a column's value."""
        if by == "length":
            ids = self.classifier.pipeline.encode_whole([row.values["text"] for row in self.rows])
            groups = by_length([len(each) for each in ids])
        elif by == "label":
            groups = by_label(self.gold, self.classifier.labels)
        else:
            groups = by_value(column_values(self.rows, by))
        parts = measure_slices(groups, {"accuracy": accuracy}, self.gold, self.predicted)
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[Mistake]:
        """Wrong answers, the surest first."""
        found = wrong_answers(
            self.rows, self.gold, self.predicted, self.probabilities, self.classifier.labels
        )
        return sorted(found, key=lambda mistake: -mistake.confidence)


def evaluate_classifier(classifier: Classifier, rows: Sequence[Row]) -> ClassifyEvaluation:
    """Answer every row and keep what was said.

    Args:
        classifier: The model.
        rows: With `text` and `label`.
    """
    if not rows:
        raise InputError("there are no rows to evaluate on")
    gold = gold_labels(classifier, rows)
    texts = [row.values["text"] for row in rows]
    found, cut = classifier.probabilities(texts), classifier.num_cut(texts)
    return ClassifyEvaluation(classifier, list(rows), gold, found, cut)
