"""Answers that differ from the gold labels, and what else every evaluation with labels needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import Row


@dataclass(frozen=True, slots=True)
class Mistake:
    """A row that was answered wrongly, or graded far off."""

    row: Row
    predicted: str
    confidence: float
    """Probability of the wrong answer, or distance from the gold grade as a share of the scale."""

    def record(self) -> dict[str, Any]:
        """The row with what was answered, as a file of mistakes holds it."""
        return {
            **self.row.values,
            "predicted": self.predicted,
            "confidence": round(self.confidence, 4),
            "row": self.row.number,
        }


def wrong_answers(
    rows: Sequence[Row],
    gold: NDArray[Any],
    chosen: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    labels: Sequence[str],
) -> list[Mistake]:
    """The rows whose answered label is not the gold one, in their order."""
    return [
        Mistake(rows[place], labels[chosen[place]], float(probabilities[place, chosen[place]]))
        for place in np.flatnonzero(chosen != gold).tolist()
    ]


def column_values(rows: Sequence[Row], column: str) -> list[str]:
    """One column to slice by; refused where the file has none of that name."""
    if column not in rows[0].values:
        known = ", ".join(["length", *rows[0].values])
        raise InputError(
            f"cannot slice by {column!r}; expected one of {known}", source=rows[0].source
        )
    return [row.values.get(column, "") for row in rows]


class ParsesLabels(Protocol):
    """A model that knows its labels."""

    def parse_label(self, text: str) -> int | float:
        """A gold label as the task reads it; `ValueError` where it is none."""


def gold_labels(model: ParsesLabels, rows: Sequence[Row]) -> NDArray[Any]:
    """The rows' labels as the model's task reads them; a bad one is reported with its row."""
    return np.array([_gold(model, row) for row in rows])


def _gold(model: ParsesLabels, row: Row) -> int | float:
    try:
        return model.parse_label(row.values["label"])
    except ValueError as error:
        raise InputError(str(error), source=row.source, row=row.number) from None
