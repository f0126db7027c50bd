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
from softquery.search.score.features import (
    CIRCUMSTANCES,
    EVIDENCE,
    SUMS,
    circumstances_of,
    evidence_of,
    levels_of,
    shares_of,
)
from softquery.search.score.log_offset import LogOffset, offset_from
from softquery.search.score.signals import Signals

Floats = NDArray[np.float64]
FORMAT = 4
SCORE_FILE = Path(__file__).with_name("row_score.json")
COLUMNS = (*EVIDENCE, *SUMS, *CIRCUMSTANCES)
"""What a score may weigh."""
WEIGHTS = ("evidence", "none", "trust")
KINDS = ("phrased", "single")
"""Of indexes, each with weights of its own."""
CURVE = ("scores", "precision", "coverage")
PHRASED = 0.2
"""How often the nearest row must have the same answer for an index to count as one of phrasings;
below, it is in part one of rows that have each their own answer, and wholly so at 0."""


@dataclass(frozen=True, slots=True)
class RowWeights:
    """What makes the log-odds that a row answers.

    Attributes:
        evidence: What each of `EVIDENCE` weighs, as far as the stages have it.
        none: What the circumstances say for no row at all.
        none_offset: What is added to that.
        trust: How `SUMS` and circumstances become the log-odds that a row answers.
        offset: What is added to these.
    """

    evidence: Mapping[str, float]
    none: Mapping[str, float]
    none_offset: float
    trust: Mapping[str, float]
    offset: float

    def columns(self, signals: Signals) -> dict[str, Floats | float]:
        """What `trust` weighs: `SUMS` for each row [N], and the circumstances."""
        circumstances = circumstances_of(signals)
        none = self.none_offset + weighed(self.none, circumstances)
        levels = levels_of(evidence_of(signals, self.evidence), signals.answer)
        shares = shares_of(levels, signals.answer, float(none))
        return {"level": levels, "share": shares, **circumstances}

    def log_odds(self, signals: Signals) -> Floats:
        """The log-odds that each row answers the query: [N]."""
        found: Floats = self.offset + weighed(self.trust, self.columns(signals))
        return found


@dataclass(frozen=True, slots=True)
class StageScore:
    """The score by one subset of the stages.

    Attributes:
        phrased: For an index that has several phrasings of an answer.
        single: For one whose rows have each their own answer.
        curve: What was seen at each threshold.
    """

    phrased: RowWeights
    single: RowWeights
    curve: AimCurve

    def probabilities(self, signals: Signals) -> Floats:
        """How likely each row is to answer the query: [N]."""
        share = phrased_share(signals.facts.same_answer)
        total = np.zeros(len(signals))
        for part, weights in ((share, self.phrased), (1 - share, self.single)):
            if part:
                total += part * weights.log_odds(signals)
        found: Floats = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
        return found


def phrased_share(same_answer: float) -> float:
    """How much an index is one of phrasings, by how often its nearest rows have the same answer.

    >>> phrased_share(0.0), phrased_share(0.05), phrased_share(0.9)
    (0.0, 0.25, 1.0)
    """
    return min(1.0, same_answer / PHRASED)


def weighed(weights: Mapping[str, float], values: Mapping[str, Any]) -> Any:
    """The sum of what is weighed."""
    return sum((weight * values[name] for name, weight in weights.items()), 0.0)


@dataclass(frozen=True, slots=True)
class RowScore:
    """The score of a row, by any stages.

    Attributes:
        by_stages: By the stages that are used, as they are typed.
        log: What unlabelled queries tell of scores by all stages.
    """

    by_stages: Mapping[str, StageScore]
    log: LogOffset

    def of(self, signals: Signals, stages: Stages) -> Floats:
        """How likely each row is to answer the query: [N]."""
        if not len(signals):
            return np.empty(0)
        return self.by_stages[shown_stages(stages)].probabilities(signals)

    def threshold(self, aim: Aim, stages: Stages) -> float:
        """The least score of an answer, for an aim."""
        return self.by_stages[shown_stages(stages)].curve.threshold(aim)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            name: {
                **{kind: _weights_to_dict(getattr(each, kind)) for kind in KINDS},
                **{
                    column: [round(value, 4) for value in getattr(each.curve, column)]
                    for column in CURVE
                },
            }
            for name, each in self.by_stages.items()
        }


def _weights_to_dict(weights: RowWeights) -> dict[str, Any]:
    return {
        **{
            kind: {key: round(value, 5) for key, value in getattr(weights, kind).items()}
            for kind in WEIGHTS
        },
        "none_offset": round(weights.none_offset, 5),
        "offset": round(weights.offset, 5),
    }


def _weights_from(data: Mapping[str, Any]) -> RowWeights:
    return RowWeights(
        **{kind: dict(data[kind]) for kind in WEIGHTS},
        none_offset=float(data["none_offset"]),
        offset=float(data["offset"]),
    )


def score_from(data: Mapping[str, Any], log: Mapping[str, Any]) -> RowScore:
    """A score from what JSON holds."""
    return RowScore(
        {
            name: StageScore(
                **{kind: _weights_from(each[kind]) for kind in KINDS},
                curve=AimCurve(*(tuple(each[column]) for column in CURVE)),
            )
            for name, each in data.items()
        },
        offset_from(log),
    )


def write_score(path: Path, score: RowScore) -> None:
    """Write a score as JSON."""
    content = {
        "format": FORMAT,
        "columns": list(COLUMNS),
        "stages": score.to_dict(),
        "log": score.log.to_dict(),
    }
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_score(path: Path) -> RowScore:
    """Read a score.

    Raises:
        ValueError: It was made for other features.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if (content["format"], tuple(content["columns"])) != (FORMAT, COLUMNS):
        raise ValueError(f"{path} was made for other features; run shipped/search_score.py again")
    return score_from(content["stages"], content["log"])


@cache
def shipped_score() -> RowScore:
    """The score that comes with softquery."""
    return read_score(SCORE_FILE)


def best_rows(scores: Sequence[float], signals: Signals) -> list[int]:
    """Rows by their scores, best first; equal ones by cosine, words and matcher."""
    others = [np.nan_to_num(each) for each in (signals.matcher, signals.words, signals.cosine)]
    order: list[int] = np.lexsort((*(-each for each in others), -np.asarray(scores))).tolist()
    return order
