"""Fit a bundle's calibration on labelled rows, and measure it on others.

The first half of the rows fits how logits are scaled, and a threshold; for a reader, the score from
which on it answers. Every figure is measured on the second half. Rows of several sources are cut in
halves source by source, and every source counts alike, whatever its size.
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
from softquery.files import AskedQuestion, Row
from softquery.measure import (
    ReadReport,
    ReliabilityBin,
    Scaling,
    chance_calibration_error,
    choose_abstention,
    choose_scaling_across,
    choose_threshold,
    expected_calibration_error,
    form_of,
    reliability,
    scalings_without_each,
    weigh_alike,
)
from softquery.numpy_softmax import softmax
from softquery.runtime.classify.model import Classifier
from softquery.runtime.match.model import Matcher
from softquery.runtime.mistakes import gold_labels
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import Reader

Aim = Literal["f1"] | float
"""What a threshold is chosen for: the best F1, or a precision to keep."""
LEAST = 20
"""Rows that are needed."""
Places = NDArray[np.int64]


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
    model: Matcher | Classifier,
    rows: Sequence[Row],
    *,
    aim: Aim | None = None,
    abstain_below: float | None = None,
    sources: Sequence[str] | None = None,
) -> CalibrationFit:
    """Fit temperature, biases where they pay, and threshold on the first half of the rows.

    Args:
        model: As it will answer; its own calibration is not used.
        rows: Labelled; at least 20, and at least 20 of each source.
        aim: With two labels: choose a threshold for the best F1, or for a precision to keep.
        abstain_below: The probability under which no label is answered; the user's to choose.
        sources: Where each row comes from, such as the name of its data set. Every source counts
            alike, and has figures of its own. Without, all rows are of one source.
    """
    if isinstance(model, Matcher) and model.is_graded:
        raise ConfigError("grades are not probabilities; there is nothing to calibrate")
    _check_rows(rows, abstain_below, noun="row")
    if aim is not None and len(model.labels) != 2:
        raise ConfigError(f"a threshold needs two labels, this model has {len(model.labels)}")
    halves = split_sources(rows, sources)
    logits, gold = _logits(model, rows), gold_labels(model, rows)
    first, second = halves.first, halves.second
    scaling = choose_scaling_across(logits[first], gold[first], halves.ids[first])
    fitted = Calibration(temperature=scaling.temperature, growth=scaling.growth, bias=scaling.bias)
    plain, scaled = (each.probabilities(logits[second]) for each in (Calibration(), fitted))
    weights = halves.weights(second)
    facts: dict[str, Any] = {
        "fitted_on": len(first),
        "measured_on": len(second),
        "ece_before": expected_calibration_error(plain, gold[second], weights=weights),
        "ece_after": expected_calibration_error(scaled, gold[second], weights=weights),
    }
    if sources is not None:
        facts |= figures_by_source(halves, scaling, logits, gold)
    threshold = None
    if aim is not None:
        scores = fitted.probabilities(logits[first])[:, 1]
        threshold = _threshold(scores, gold[first], aim, halves, rows[0].source)
        facts |= {"aim": aim, **_yes_figures(scaled[:, 1] >= threshold, gold[second] == 1, weights)}
    calibration = replace(fitted, threshold=threshold, abstain_below=abstain_below)
    if abstain_below is not None:
        facts |= _abstaining(scaled, gold[second], calibration, weights)
    return CalibrationFit(
        calibration=calibration,
        facts=facts,
        before=reliability(plain, gold[second]),
        after=reliability(scaled, gold[second]),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceHalves:
    """Which rows fit, and which measure."""

    names: tuple[str, ...]
    """The sources in the order in which they appear."""
    ids: Places
    """For each row the place of its source in `names`."""
    first: Places
    """The rows of the first halves, in their order."""
    second: Places

    def weights(self, rows: Places) -> NDArray[np.float64] | None:
        """What each of these rows counts, so that sources count alike; None with one source."""
        return None if len(self.names) == 1 else weigh_alike(self.ids[rows])


def split_sources(rows: Sequence[Row], sources: Sequence[str] | None) -> SourceHalves:
    """Cut the rows of every source in two by their order.

    Args:
        rows: Of all sources, in any order.
        sources: The name of each row's source; None where there is one.

    Raises:
        InputError: A source has fewer than `LEAST` rows.
    """
    given = [""] * len(rows) if sources is None else list(sources)
    if len(given) != len(rows):
        raise ValueError(f"{len(given)} sources for {len(rows)} rows")
    names = tuple(dict.fromkeys(given))
    place = {name: number for number, name in enumerate(names)}
    ids = np.array([place[name] for name in given], dtype=np.int64)
    first = np.zeros(len(rows), dtype=bool)
    for number, name in enumerate(names):
        own = np.flatnonzero(ids == number)
        if len(own) < LEAST:
            raise InputError(
                f"source {name!r:.60}: {counted(len(own), 'row is', 'rows are')} too few to "
                f"calibrate on; expected at least {LEAST}",
                source=rows[own[0]].source,
            )
        first[own[: len(own) // 2]] = True
    return SourceHalves(
        names=names, ids=ids, first=np.flatnonzero(first), second=np.flatnonzero(~first)
    )


def figures_by_source(
    halves: SourceHalves, scaling: Scaling, logits: NDArray[Any], gold: NDArray[Any]
) -> dict[str, Any]:
    """Calibration errors on the second half of every source, and which source is the worst.

    `ece_left_out` is the error where the scaling was fitted on the other sources alone: what a
    source that nobody has labelled may expect. `ece_by_chance` is what as few rows would show if
    every probability were true.
    """
    wide = logits.astype(np.float64)
    first, num_sources = halves.first, len(halves.names)
    without = (
        scalings_without_each(wide[first], gold[first], halves.ids[first], form_of(scaling))
        if num_sources > 1
        else {}
    )
    figures: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(halves.names):
        rows = halves.second[halves.ids[halves.second] == number]
        some, answers = wide[rows], gold[rows]
        after = softmax(scaling.apply(some), axis=1)
        figures[name] = {
            "fitted_on": int((halves.ids[first] == number).sum()),
            "measured_on": len(rows),
            "ece_before": expected_calibration_error(softmax(some, axis=1), answers),
            "ece_after": expected_calibration_error(after, answers),
            "ece_by_chance": chance_calibration_error(after),
        }
        if without:
            left_out = softmax(without[number].apply(some), axis=1)
            figures[name]["ece_left_out"] = expected_calibration_error(left_out, answers)
    worst = max(figures, key=lambda name: figures[name]["ece_after"])
    return {
        "worst_source": worst,
        "worst_ece": figures[worst]["ece_after"],
        "sources": figures,
    }


def save_calibration(bundle: Bundle, fitted: "CalibrationFit | AbstentionFit") -> Path:
    """Write a calibration into the bundle and its card."""
    return update_bundle(bundle, calibration=fitted.to_dict())


@dataclass(frozen=True, kw_only=True, slots=True)
class AbstentionFit:
    """The score under which a reader gives no answer, and figures on questions it has not seen."""

    abstain_below: float
    facts: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As `calibration.json` holds it."""
        return {"abstain_below": self.abstain_below, **self.facts}


def fit_abstention(
    reader: Reader,
    rows: Sequence[AskedQuestion],
    *,
    aim: Aim | None = None,
    abstain_below: float | None = None,
) -> AbstentionFit:
    """Choose the score under which a reader gives no answer.

    Args:
        reader: The model; its own calibration is not used.
        rows: Questions with answers, and some without; at least 20.
        aim: Always the best F1; here because every calibrator takes it.
        abstain_below: The user's own choice in place of the best F1 on the first half.
    """
    _check_rows(rows, abstain_below, noun="question")
    half = len(rows) // 2
    found = evaluate_reader(reader, rows)
    sure, f1, answerable = found.abstention()
    if abstain_below is None:
        if all(answerable[:half]) or not any(answerable[:half]):
            raise InputError(
                "the first half must hold questions with an answer and questions without; "
                "or name a score with --abstain-below",
                source=rows[0].source,
            )
        abstain_below, _ = choose_abstention(sure[:half], f1[:half], answerable[:half])
    later = [answer.if_sure(abstain_below) for answer in found.best[half:]]
    gold = [[answer.text for answer in row.answers] for row in rows[half:]]
    report = ReadReport.of([answer.text for answer in later], gold, counting=reader.rules.counting)
    return AbstentionFit(
        abstain_below=abstain_below,
        facts={
            "fitted_on": half,
            "measured_on": len(rows) - half,
            "f1": report.f1,
            "exact_match": report.exact_match,
            "answered_share": sum(answer.text is not None for answer in later) / len(later),
        },
    )


def _check_rows(
    rows: Sequence[Row] | Sequence[AskedQuestion], abstain_below: float | None, *, noun: str
) -> None:
    """Refuse too few rows, and a limit that is no probability."""
    if len(rows) < LEAST:
        raise InputError(
            f"{counted(len(rows), f'{noun} is', f'{noun}s are')} too few to calibrate on; "
            f"expected at least {LEAST}",
            source=rows[0].source if rows else None,
        )
    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise ConfigError(f"abstain_below must be from 0 to 1, got {abstain_below}")


def _logits(model: Matcher | Classifier, rows: Sequence[Row]) -> NDArray[np.float32]:
    if isinstance(model, Classifier):
        return model.logits([row.values["text"] for row in rows])
    return model.logits(_pairs(rows))


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _threshold(
    scores: NDArray[np.float64], gold: NDArray[Any], aim: Aim, halves: SourceHalves, source: str
) -> float:
    try:
        return choose_threshold(scores, gold, aim, weights=halves.weights(halves.first)).value
    except InputError as error:
        if len(halves.names) > 1:
            raise InputError(f"first halves of all sources: {error.message}") from None
        raise InputError(f"first half: {error.message}", source=source) from None


def _yes_figures(
    said: NDArray[np.bool_], true: NDArray[np.bool_], weights: NDArray[np.float64] | None
) -> dict[str, float]:
    counts = np.ones(len(said)) if weights is None else weights
    hits, num_said, num_true = (float(counts[each].sum()) for each in (said & true, said, true))
    precision, recall = hits / (num_said or 1), hits / (num_true or 1)
    f1 = 2 * precision * recall / max(1e-12, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def _abstaining(
    probabilities: NDArray[np.float64],
    gold: NDArray[Any],
    calibration: Calibration,
    weights: NDArray[np.float64] | None,
) -> dict[str, float]:
    chosen = calibration.decide(probabilities)
    sure = probabilities[np.arange(len(chosen)), chosen]
    answered = np.array([calibration.is_sure(each) for each in sure.tolist()])
    right = chosen == gold
    share = float(np.average(answered, weights=weights))
    kept = None if weights is None else weights[answered]
    return {
        "answered_share": share,
        "accuracy_of_answered": float(np.average(right[answered], weights=kept)) if share else 0.0,
    }
