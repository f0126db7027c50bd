"""How good sentence vectors are on labelled pairs: metrics, slices and mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    CosineReport,
    GradedCosineReport,
    auc,
    by_length,
    by_value,
    measure_slices,
    spearman,
)
from softquery.measure.basic_metrics import average_ranks
from softquery.runtime.encode.model import SentenceEncoder
from softquery.runtime.mistakes import Mistake, column_values

SIDES = ("sentence1", "sentence2")
METRICS = {"spearman": spearman, "auc": auc}


@dataclass(frozen=True, slots=True)
class EncodeEvaluation:
    """Gold labels and cosines of a data set, to be looked at in several ways."""

    encoder: SentenceEncoder
    rows: list[Row]
    gold: NDArray[Any]
    """Grades; where there are but two, the whole numbers 0 and 1."""
    cosines: NDArray[np.float64]
    num_cut: int
    """Sentences that were longer than the model's limit."""

    @property
    def is_graded(self) -> bool:
        """Whether labels are grades, and not just two."""
        return self.gold.dtype.kind == "f"

    @property
    def metric(self) -> str:
        """The main metric: `"spearman"` for grades, `"auc"` for two labels."""
        return "spearman" if self.is_graded else "auc"

    @property
    def score(self) -> float:
        """The main metric's value."""
        return METRICS[self.metric](self.gold, self.cosines)

    def report(self) -> dict[str, Any]:
        """Spearman's correlation for grades; for two labels AUC and accuracy; with intervals."""
        of = GradedCosineReport.of if self.is_graded else CosineReport.of
        return of(self.gold, self.cosines).to_dict()

    def slices(self, by: str) -> list[dict[str, Any]]:
        """The main metric for groups of rows: by `length`, or by a column's value."""
        if by == "length":
            texts = [" ".join(row.values[side] for side in SIDES) for row in self.rows]
            groups = by_length([len(ids) for ids in self.encoder.pipeline.encode_whole(texts)])
        else:
            groups = by_value(column_values(self.rows, by))
        metric = {self.metric: METRICS[self.metric]}
        parts = measure_slices(groups, metric, self.gold, self.cosines)
        return [part.to_dict() for part in parts]

    def mistakes(self) -> list[Mistake]:
        """Rows by how far their cosine's rank lies from their label's, the farthest first."""
        far = np.abs(_shares(self.gold) - _shares(self.cosines))
        return [
            Mistake(self.rows[place], f"{self.cosines[place]:.3f}", float(far[place]))
            for place in np.argsort(-far, kind="stable").tolist()
        ]


def _shares(values: NDArray[Any]) -> NDArray[np.float64]:
    """Where each value stands among all, from 0 to 1; equal ones stand together.

    >>> _shares(np.array([0.2, 0.9, 0.9])).tolist()
    [0.0, 0.75, 0.75]
    """
    ranks = average_ranks(values)
    lowest: NDArray[np.float64] = (ranks - 1) / max(1, len(values) - 1)
    return lowest


def evaluate_sentence_encoder(encoder: SentenceEncoder, rows: Sequence[Row]) -> EncodeEvaluation:
    """Compare both sides of every row, and keep what was found.

    Args:
        encoder: The model.
        rows: With `sentence1`, `sentence2` and `label`, a number: two different ones are classes,
            of which the higher says that both sides mean the same; more are grades.
    """
    if not rows:
        raise InputError("there are no rows to evaluate on")
    gold = _gold(rows)
    sides = [[row.values[side] for row in rows] for side in SIDES]
    first, second = (encoder.encode(side).astype(np.float64) for side in sides)
    cosines = np.einsum("ij,ij->i", first, second)
    cut = sum(encoder.num_cut(side) for side in sides)
    return EncodeEvaluation(encoder, list(rows), gold, cosines, cut)


def _gold(rows: Sequence[Row]) -> NDArray[Any]:
    gold = np.array([_number(row) for row in rows])
    found = np.unique(gold)
    if len(found) == 1:
        raise InputError(
            f"every label is {rows[0].values['label']!r:.40}; expected at least two",
            source=rows[0].source,
        )
    return (gold == found[1]).astype(np.int64) if len(found) == 2 else gold


def _number(row: Row) -> float:
    label = row.values["label"]
    try:
        value = float(label)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise InputError(
            f"expected a number as label, 0 and 1 or a grade, found {label!r:.40}",
            source=row.source,
            row=row.number,
        )
    return value
