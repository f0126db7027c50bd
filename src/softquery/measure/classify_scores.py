"""How good a classifier of texts is: accuracy, macro F1, and F1 of relations.

Relations between two marked words are scored as in SemEval-2010 Task 8: a label is a relation with
its direction, `Cause-Effect(e2,e1)`, or `Other` for none. An answer is right if relation and
direction are. Precision is over all answers of a relation and recall over all its gold rows, in
any direction, so that a wrong direction costs both. The score is the mean F1 of the relations
without `Other` (Hendrickx et al. 2010: (9+1)-way evaluation with directionality taken into
account).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import (
    Labels,
    Numbers,
    as_labels,
    macro_f1,
    require_ids_below,
    require_same_length,
)
from softquery.measure.bootstrap import Interval, interval
from softquery.measure.match_scores import MatchReport

OTHER = "Other"
"""The label of rows without any of the relations."""


def relation_of(label: str) -> str:
    """A label without its direction.

    >>> relation_of("Cause-Effect(e2,e1)"), relation_of("Other")
    ('Cause-Effect', 'Other')
    """
    return label.partition("(")[0].strip()


def relations_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The distinct relations of some labels, in order.

    >>> relations_of(["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "Other"])
    ('A', 'B')
    """
    found = dict.fromkeys(relation_of(label) for label in labels)
    return tuple(name for name in found if name != OTHER)


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationReport:
    """The scores of relations; `RelationReport.of` makes one."""

    n: int
    relation_f1: float
    relation_f1_interval: Interval
    by_relation: dict[str, dict[str, float]]
    """Precision, recall, F1 and number of gold rows of each relation."""

    @classmethod
    def of(
        cls,
        gold: ArrayLike,
        predicted: ArrayLike,
        labels: Sequence[str],
        *,
        num_samples: int = 1000,
        seed: int = 0,
    ) -> "RelationReport":
        """Measure predicted label ids against gold ones.

        >>> labels = ["A(e1,e2)", "A(e2,e1)", "Other"]
        >>> report = RelationReport.of([0, 0, 1, 2], [0, 1, 1, 0], labels)
        >>> report.by_relation["A"]  # two right of four answers, and of three gold rows
        {'precision': 0.5, 'recall': 0.6666666666666666, 'f1': 0.5714285714285714, 'n': 3}
        """
        table = _Table.of(gold, predicted, labels)
        found = table.scores(table.gold, table.predicted)
        counts = np.bincount(table.relation[table.gold], minlength=len(table.names) + 1)
        return cls(
            n=len(table.gold),
            relation_f1=float(found[:, 2].mean()),
            relation_f1_interval=interval(
                table.mean_f1, table.gold, table.predicted, num_samples=num_samples, seed=seed
            ),
            by_relation={
                name: {"precision": p, "recall": r, "f1": f, "n": int(count)}
                for name, (p, r, f), count in zip(
                    table.names, found.tolist(), counts.tolist(), strict=False
                )
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "relation_f1": self.relation_f1,
            "relation_f1_interval": list(self.relation_f1_interval),
            "by_label": self.by_relation,
            "n": self.n,
        }


def relation_f1(gold: ArrayLike, predicted: ArrayLike, labels: Sequence[str]) -> float:
    """The mean F1 of the relations, with directions and without `Other`.

    Args:
        gold: Label ids.
        predicted: Label ids.
        labels: Their names; every relation among them counts, whether it occurs or not.

    >>> relation_f1([0, 1, 2], [0, 1, 2], ["A(e1,e2)", "A(e2,e1)", "Other"])
    1.0
    """
    table = _Table.of(gold, predicted, labels)
    return table.mean_f1(table.gold, table.predicted)


@dataclass(frozen=True, slots=True)
class _Table:
    gold: Labels
    predicted: Labels
    names: tuple[str, ...]
    relation: Labels
    """The relation of each label; the last id stands for `Other`."""

    @classmethod
    def of(cls, gold: ArrayLike, predicted: ArrayLike, labels: Sequence[str]) -> "_Table":
        gold_ids = as_labels(gold, name="gold")
        predicted_ids = as_labels(predicted, name="predicted")
        require_same_length(gold=gold_ids, predicted=predicted_ids)
        require_ids_below(gold_ids, len(labels), name="gold")
        require_ids_below(predicted_ids, len(labels), name="predicted")
        names = relations_of(labels)
        if not names:
            raise ValueError(f"labels must name a relation, got {list(labels)}")
        places = {**{name: place for place, name in enumerate(names)}, OTHER: len(names)}
        relation = np.array([places[relation_of(label)] for label in labels])
        return cls(gold_ids, predicted_ids, names, relation)

    def scores(self, gold: Labels, predicted: Labels) -> Numbers:
        """Precision, recall and F1 of each relation: [R, 3]; 0 where there are no rows."""
        size = len(self.names) + 1
        right = self._counts(gold[gold == predicted], size)
        answered, actual = self._counts(predicted, size), self._counts(gold, size)
        precision, recall = right / np.maximum(answered, 1), right / np.maximum(actual, 1)
        f1 = 2 * right / np.maximum(answered + actual, 1)
        return np.stack([precision, recall, f1], axis=1)[:-1]

    def _counts(self, labels: Labels, size: int) -> Labels:
        counts: Labels = np.bincount(self.relation[labels], minlength=size)
        return counts

    def mean_f1(self, gold: Labels, predicted: Labels) -> float:
        return float(self.scores(gold, predicted)[:, 2].mean())


ClassMetric = Literal["accuracy", "macro_f1", "relation_f1"]
"""The main metric of a classifier; `relation_f1` reads labels as relations with a direction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassReport:
    """The scores of a classifier; `ClassReport.of` makes one."""

    classes: MatchReport
    macro_f1_interval: Interval | None = None
    """Given where macro F1 is the main metric."""
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
        """Plain values for JSON, the main metric first."""
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
    """The label ids of the answers: `predicted` where given, otherwise the likeliest."""
    if predicted is not None:
        return np.asarray(predicted)
    likeliest: NDArray[Any] = np.asarray(probabilities).argmax(axis=-1)
    return likeliest
