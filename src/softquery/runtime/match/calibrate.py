"""Fit a bundle's calibration on labelled rows, and say how good it is on others.

The first half of the rows fits how logits are scaled, and a threshold; every figure is measured on
the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.bundle import Bundle, update_bundle
from softquery.errors import ConfigError, InputError, counted
from softquery.files import Row
from softquery.measure import (
    ReliabilityBin,
    choose_scaling,
    choose_threshold,
    expected_calibration_error,
    reliability,
)
from softquery.runtime.classify.model import Classifier
from softquery.runtime.match.evaluate import gold_labels
from softquery.runtime.match.model import Matcher

Aim = Literal["f1"] | float


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationFit:
    """A calibration, what it was fitted for, and its figures on rows it has not seen."""

    calibration: Calibration
    facts: dict[str, Any]
    before: list[ReliabilityBin]
    after: list[ReliabilityBin]

    def to_dict(self) -> dict[str, Any]:
        """As `calibration.json` holds it."""
        chosen = self.calibration
        return {
            "temperature": chosen.temperature,
            "growth": chosen.growth,
            "bias": None if chosen.bias is None else list(chosen.bias),
            "threshold": chosen.threshold,
            "abstain_below": chosen.abstain_below,
            **self.facts,
        }


def fit_calibration(
    matcher: Matcher | Classifier,
    rows: Sequence[Row],
    *,
    aim: Aim | None = None,
    abstain_below: float | None = None,
) -> CalibrationFit:
    """Fit temperature, biases where they pay, and threshold on the first half of the rows.

    Args:
        matcher: The model as it will answer; its own calibration is not used.
        rows: Labelled; at least 20.
        aim: With two labels: choose a threshold for the best F1, or for a precision to keep.
        abstain_below: The probability under which no label is answered; the user's to choose.
    """
    if isinstance(matcher, Matcher) and matcher.is_graded:
        raise ConfigError("grades are not probabilities; there is nothing to calibrate")
    if len(rows) < 20:
        raise InputError(
            f"{counted(len(rows), 'row is', 'rows are')} too few to calibrate on; "
            "expected at least 20",
            source=rows[0].source if rows else None,
        )
    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise ConfigError(f"abstain_below must be from 0 to 1, got {abstain_below}")
    if aim is not None and len(matcher.labels) != 2:
        raise ConfigError(f"a threshold needs two labels, this model has {len(matcher.labels)}")
    logits, gold = _logits(matcher, rows), gold_labels(matcher, rows)
    half = len(rows) // 2
    scaling = choose_scaling(logits[:half], gold[:half])
    fitted = Calibration(temperature=scaling.temperature, growth=scaling.growth, bias=scaling.bias)
    plain, scaled = (each.probabilities(logits[half:]) for each in (Calibration(), fitted))
    facts: dict[str, Any] = {
        "fitted_on": half,
        "measured_on": len(rows) - half,
        "ece_before": expected_calibration_error(plain, gold[half:]),
        "ece_after": expected_calibration_error(scaled, gold[half:]),
    }
    threshold = None
    if aim is not None:
        scores = fitted.probabilities(logits[:half])[:, 1]
        threshold = _threshold(scores, gold[:half], aim, rows[0].source)
        facts |= {"aim": aim, **_yes_figures(scaled[:, 1] >= threshold, gold[half:] == 1)}
    calibration = replace(fitted, threshold=threshold, abstain_below=abstain_below)
    if abstain_below is not None:
        facts |= _abstaining(scaled, gold[half:], calibration)
    return CalibrationFit(
        calibration=calibration,
        facts=facts,
        before=reliability(plain, gold[half:]),
        after=reliability(scaled, gold[half:]),
    )


def save_calibration(bundle: Bundle, fitted: CalibrationFit) -> Path:
    """Write it into the bundle and its card."""
    return update_bundle(bundle, calibration=fitted.to_dict())


def _logits(model: Matcher | Classifier, rows: Sequence[Row]) -> NDArray[np.float32]:
    if isinstance(model, Classifier):
        return model.logits([row.values["text"] for row in rows])
    return model.logits(_pairs(rows))


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _threshold(scores: NDArray[np.float64], gold: NDArray[Any], aim: Aim, source: str) -> float:
    try:
        return choose_threshold(scores, gold, aim).value
    except InputError as error:
        raise InputError(f"first half: {error.message}", source=source) from None


def _yes_figures(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> dict[str, float]:
    hits = float((said & true).sum())
    precision, recall = hits / max(1, said.sum()), hits / max(1, true.sum())
    f1 = 2 * precision * recall / max(1e-12, precision + recall)
    return {"precision": float(precision), "recall": float(recall), "f1": float(f1)}


def _abstaining(
    probabilities: NDArray[np.float64], gold: NDArray[Any], calibration: Calibration
) -> dict[str, float]:
    chosen = calibration.decide(probabilities)
    sure = probabilities[np.arange(len(chosen)), chosen]
    answered = np.array([calibration.is_sure(each) for each in sure.tolist()])
    right = chosen == gold
    share = float(answered.mean())
    return {
        "answered_share": share,
        "accuracy_of_answered": float(right[answered].mean()) if share else 0.0,
    }
