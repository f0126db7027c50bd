"""Rows that no fit had seen, and what was answered to them: figures, mistakes, suspects."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.files import Row
from softquery.measure import (
    ClassReport,
    accuracy,
    by_length,
    expected_calibration_error,
    measure_slices,
    reliability,
)

Ids = NDArray[np.int64]
Chances = NDArray[np.float64]
MOST_MISTAKES = 200
MOST_SUSPECTS = 50
NUM_BINS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOut:
    """Rows, their labels, and the calibrated chances that were given to them.

    Attributes:
        how: How they were held out, for people.
    """

    rows: Sequence[Row]
    gold: Ids
    probabilities: Chances
    how: str

    def figures(self, labels: Sequence[str]) -> dict[str, Any]:
        """As `metrics.json` holds those of dev."""
        report = ClassReport.of(self.gold, self.probabilities, labels).to_dict()
        return {**report, "ece": expected_calibration_error(self.probabilities, self.gold)}

    def by_class(self, labels: Sequence[str]) -> list[dict[str, Any]]:
        """Precision, recall and F1 of each label, the most frequent first."""
        answered = self.probabilities.argmax(axis=1)
        found = []
        for place, label in enumerate(labels):
            is_gold, is_said = self.gold == place, answered == place
            hits, num, said = (int(each.sum()) for each in (is_gold & is_said, is_gold, is_said))
            precision = hits / said if said else None
            recall = hits / num if num else None
            f1 = 2 * hits / (num + said) if num + said else None
            row = {"label": label, "n": num, "answered": said}
            found.append({**row, "precision": precision, "recall": recall, "f1": f1})
        return sorted(found, key=lambda each: (-each["n"], each["label"]))

    def mistakes(self, labels: Sequence[str]) -> list[dict[str, Any]]:
        """Wrong answers, the most confident first."""
        answered = self.probabilities.argmax(axis=1)
        wrong = np.flatnonzero(answered != self.gold)
        sure = self.probabilities[wrong, answered[wrong]]
        order = wrong[np.argsort(-sure, kind="stable")][:MOST_MISTAKES]
        return [
            {
                **self.rows[place].values,
                "predicted": labels[answered[place]],
                "confidence": round(float(self.probabilities[place, answered[place]]), 4),
                "row": self.rows[place].number,
            }
            for place in order.tolist()
        ]

    def suspects(self, labels: Sequence[str]) -> list[dict[str, Any]]:
        """Rows whose label may be wrong, the likeliest first.

        A label is doubted where another one is at least as likely as it is, in the mean, for the
        rows that do have it (confident learning; Northcutt, Jiang and Chuang 2021, Section 3.1).
        """
        num_labels = self.probabilities.shape[1]
        usual = np.full(num_labels, np.inf)
        for place in range(num_labels):
            if (self.gold == place).any():
                usual[place] = self.probabilities[self.gold == place, place].mean()
        sure = np.where(self.probabilities >= usual, self.probabilities, -1.0)
        likely = sure.argmax(axis=1)
        is_odd = (sure.max(axis=1) > 0) & (likely != self.gold)
        own = self.probabilities[np.arange(len(self.gold)), self.gold]
        is_odd &= self.probabilities[np.arange(len(self.gold)), likely] > own
        order = np.flatnonzero(is_odd)
        order = order[np.argsort(own[order], kind="stable")][:MOST_SUSPECTS]
        return [
            {
                **self.rows[place].values,
                "likelier": labels[likely[place]],
                "its_probability": round(float(self.probabilities[place, likely[place]]), 4),
                "own_probability": round(float(own[place]), 4),
                "row": self.rows[place].number,
            }
            for place in order.tolist()
        ]

    def slices(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Accuracy by the number of characters that are read."""
        lengths = [sum(len(row.values[name]) for name in columns) for row in self.rows]
        answered = self.probabilities.argmax(axis=1)
        parts = measure_slices(by_length(lengths), {"accuracy": accuracy}, self.gold, answered)
        return [part.to_dict() for part in parts]

    def bins(self) -> list[dict[str, Any]]:
        """Confidence beside accuracy."""
        return [
            asdict(each) for each in reliability(self.probabilities, self.gold, num_bins=NUM_BINS)
        ]
