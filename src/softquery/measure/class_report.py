"""What `evaluate` says about a classifier of texts: one value, ready for JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.bootstrap import Interval, interval
from softquery.measure.classification import macro_f1
from softquery.measure.relations import RelationReport, relation_f1
from softquery.measure.report import MatchReport

ClassMetric = Literal["accuracy", "macro_f1", "relation_f1"]
"""What a classifier is judged by; the last reads labels as relations with a direction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassReport:
    """How a classifier did: build it with `ClassReport.of`."""

    classes: MatchReport
    macro_f1_interval: Interval | None = None
    """Where it is what the classifier is judged by."""
    relations: RelationReport | None = None

    @classmethod
    def of(
        cls,
        gold: ArrayLike,
        probabilities: ArrayLike,
        labels: Sequence[str],
        *,
        metric: ClassMetric = "accuracy",
        predicted: ArrayLike | None = None,
        num_samples: int = 1000,
    ) -> "ClassReport":
        """Measure label probabilities [n, L] against gold label ids.

        The likeliest label counts as the answer, unless `predicted` holds other label ids, such as
        those by a threshold.

        >>> report = ClassReport.of([0, 1], [[0.9, 0.1], [0.3, 0.7]], ["bad", "good"])
        >>> report.to_dict()["accuracy"]
        1.0
        """
        answers = answered(probabilities, predicted)
        classes = MatchReport.of(
            gold, probabilities, labels, predicted=answers, num_samples=num_samples
        )
        bounds = relations = None
        if metric == "macro_f1":
            bounds = interval(macro_f1, gold, answers, num_samples=num_samples)
        elif metric == "relation_f1":
            relations = RelationReport.of(gold, answers, labels, num_samples=num_samples)
        return cls(classes=classes, macro_f1_interval=bounds, relations=relations)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what the classifier is judged by comes first."""
        plain = self.classes.to_dict()
        if self.macro_f1_interval is not None:
            bounds = list(self.macro_f1_interval)
            return {"macro_f1": plain["macro_f1"], "macro_f1_interval": bounds, **plain}
        return plain if self.relations is None else {**self.relations.to_dict(), **plain}


def class_score(
    gold: ArrayLike, predicted: ArrayLike, labels: Sequence[str], metric: ClassMetric
) -> float:
    """One metric of predicted label ids.

    >>> class_score([0, 1], [0, 0], ["bad", "good"], "accuracy")
    0.5
    """
    if metric == "accuracy":
        return float(np.mean(np.asarray(gold) == np.asarray(predicted)))
    if metric == "macro_f1":
        return macro_f1(gold, predicted)
    return relation_f1(gold, predicted, labels)


def answered(probabilities: ArrayLike, predicted: ArrayLike | None) -> NDArray[Any]:
    """The label ids of the answers: those that are given, else the likeliest."""
    if predicted is not None:
        return np.asarray(predicted)
    likeliest: NDArray[Any] = np.asarray(probabilities).argmax(axis=-1)
    return likeliest
