"""From which score on a reader answers: chosen on some questions, measured on others."""

from collections.abc import Sequence
from typing import Any

from softquery.errors import ConfigError, InputError, counted
from softquery.files import AskedQuestion
from softquery.measure import ReadReport, choose_abstention
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import Reader

LEAST = 20
"""Questions that are needed."""


def fit_abstention(
    reader: Reader, rows: Sequence[AskedQuestion], *, abstain_below: float | None = None
) -> dict[str, Any]:
    """What `calibration.json` shall hold: the score under which there is no answer, and figures.

    Args:
        reader: The model; its own calibration is not used.
        rows: Questions with answers, and some without.
        abstain_below: The user's own choice; the best F1 on the first half chooses otherwise.
    """
    if len(rows) < LEAST:
        raise InputError(
            f"{counted(len(rows), 'question is', 'questions are')} too few to calibrate on; "
            f"expected at least {LEAST}",
            source=rows[0].source if rows else None,
        )
    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise ConfigError(f"abstain_below must be from 0 to 1, got {abstain_below}")
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
    return {
        "abstain_below": abstain_below,
        "fitted_on": half,
        "measured_on": len(rows) - half,
        "f1": report.f1,
        "exact_match": report.exact_match,
        "answered_share": sum(answer.text is not None for answer in later) / len(later),
    }
