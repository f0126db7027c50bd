"""The score of a row: how likely it is to answer the query, by all that is known of it.

It was learned from small indexes of many domains, and each set was judged by a score that had not
seen it: see the README beside `row_score.json`.

N rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.aims import Aim, AimCurve
from softquery.search.query.stages import Stages, shown_stages
from softquery.search.score.features import FEATURES, make_features
from softquery.search.score.signals import Signals
from softquery.search.score.trees import Trees

Floats = NDArray[np.float64]
FORMAT = 1
SCORE_FILE = Path(__file__).with_name("row_score.json")


@dataclass(frozen=True, slots=True)
class StageCalibration:
    """How the sum of the trees becomes a probability, for one subset of the stages."""

    slope: float
    offset: float
    curve: AimCurve

    def probabilities(self, sums: Floats) -> Floats:
        """Probabilities: [N]."""
        found: Floats = 1 / (1 + np.exp(-(self.slope * sums + self.offset)))
        return found


@dataclass(frozen=True, slots=True)
class RowScore:
    """The score of a row, by any stages.

    Attributes:
        trees: What they say of the features of each row.
        calibrations: By the stages that are used, as they are typed.
    """

    trees: Trees
    calibrations: Mapping[str, StageCalibration]

    def of(self, signals: Signals, stages: Stages) -> Floats:
        """How likely each row is to answer the query: [N]."""
        if not len(signals):
            return np.empty(0)
        sums = self.trees.sums(make_features(signals))
        return self.calibrations[shown_stages(stages)].probabilities(sums)

    def threshold(self, aim: Aim, stages: Stages) -> float:
        """The least score of an answer, for an aim."""
        return self.calibrations[shown_stages(stages)].curve.threshold(aim)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        trees = self.trees
        return {
            "base": round(trees.base, 6),
            "features": trees.features.tolist(),
            "thresholds": [[round(each, 6) for each in row] for row in trees.thresholds.tolist()],
            "leaves": [[round(each, 4) for each in row] for row in trees.leaves.tolist()],
            "stages": {
                name: {
                    "slope": round(each.slope, 4),
                    "offset": round(each.offset, 4),
                    **{
                        column: [round(value, 4) for value in getattr(each.curve, column)]
                        for column in ("scores", "precision", "coverage")
                    },
                }
                for name, each in self.calibrations.items()
            },
        }


def score_from(data: Mapping[str, Any]) -> RowScore:
    """A score from what JSON holds."""
    trees = Trees(
        float(data["base"]),
        np.array(data["features"], dtype=np.int64),
        np.array(data["thresholds"], dtype=np.float64),
        np.array(data["leaves"], dtype=np.float64),
    )
    calibrations = {
        name: StageCalibration(
            each["slope"],
            each["offset"],
            AimCurve(tuple(each["scores"]), tuple(each["precision"]), tuple(each["coverage"])),
        )
        for name, each in data["stages"].items()
    }
    return RowScore(trees, calibrations)


def write_score(path: Path, score: RowScore) -> None:
    """Write a score as JSON."""
    content = {"format": FORMAT, "columns": list(FEATURES), **score.to_dict()}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_score(path: Path) -> RowScore:
    """Read a score.

    Raises:
        ValueError: It was made for other features.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if (content["format"], tuple(content["columns"])) != (FORMAT, FEATURES):
        raise ValueError(f"{path} was made for other features; run shipped/search_score.py again")
    return score_from(content)


@cache
def shipped_score() -> RowScore:
    """The score that comes with softquery."""
    return read_score(SCORE_FILE)


def best_rows(scores: Sequence[float], signals: Signals) -> list[int]:
    """Rows by their scores, best first; equal ones by cosine, words and matcher."""
    others = [np.nan_to_num(each) for each in (signals.matcher, signals.words, signals.cosine)]
    order: list[int] = np.lexsort((*(-each for each in others), -np.asarray(scores))).tolist()
    return order
