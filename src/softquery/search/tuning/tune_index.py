"""Tuning an index: search its labelled queries, fit, judge, and store what is surely better.

The index is locked all along, and changes at once at the end: its manifest then names the tuning.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from softquery.errors import ConfigError, InputError
from softquery.files import Row
from softquery.search.aims import Aim
from softquery.search.index_view import IndexView
from softquery.search.query.search_steps import SearchSteps
from softquery.search.query.stages import STAGES
from softquery.search.score.row_score import shipped_score
from softquery.search.score.signals import Signals
from softquery.search.storage.manifest import LEARNED, IndexSettings
from softquery.search.storage.store import Store
from softquery.search.tuning.fitting import Strength, choose, fit
from softquery.search.tuning.judged import Floats, JudgedQueries, JudgedQuery, Mask
from softquery.search.tuning.known_answers import CLICKED, KnownAnswers, known_answers
from softquery.search.tuning.logged_queries import is_log
from softquery.search.tuning.tune_log import tune_by_log
from softquery.search.tuning.tune_options import (
    TuneOptions,
    chosen_aim,
    replaced_note,
    store_tuning,
    threshold_before,
    untuned_searches,
)
from softquery.search.tuning.tune_report import TunedFigure, TuneReport, is_surely_better
from softquery.search.tuning.tuned_score import SIGNALS, ScoredRows, TunedScore
from softquery.search.tuning.tuning_gain import (
    FIGURES,
    INNER_FOLDS,
    Judgement,
    judge,
    make_folds,
)

MOST_QUERIES = 10_000


def tune_index(
    index: IndexView, store: Store, rows: Sequence[Row], options: TuneOptions
) -> TuneReport:
    """Tune an index that this process is writing, or that it only looks at.

    Raises:
        InputError: The rows cannot be learned from.
    """
    if is_log(rows):
        return tune_by_log(index, store, rows, options)
    settings = store.manifest.settings
    aim = chosen_aim(settings, options.aim)
    known, notes = known_answers(index, rows)
    if len(known) > MOST_QUERIES:
        message = f"tuning takes at most {MOST_QUERIES:,} different queries, found {len(known):,}"
        raise InputError(message, source=rows[0].source)
    queries = JudgedQueries(search_known(index, known, options), rescoring(settings))
    before = threshold_before(index, settings, aim, options.aim)
    judgement = judge(queries, aim, 0.0 if before is None else before)
    score, strength = fitted_score(queries)
    figures = figures_of(judgement)
    is_sure = is_surely_better(figures)
    is_changed = (is_sure or options.is_forced) and not options.is_dry
    report = TuneReport(
        num_queries=len(queries),
        num_answerable=int(queries.answerable.sum()),
        kind="clicks" if CLICKED[0] in rows[0].values else "labels",
        aim=aim.spelt,
        min_score_before=before,
        min_score=score.threshold(aim),
        learned=_learned(strength),
        figures=figures,
        is_sure=is_sure,
        is_changed=is_changed,
        notes=(
            *notes,
            *_notes(settings, queries, figures, aim, is_changed=is_changed),
        ),
    )
    options.announce(report)
    if is_changed:
        store_tuning(store, score, report, aim)
    return report


def undo_tuning(store: Store) -> None:
    """Go back to the score and the threshold before tuning.

    Raises:
        ConfigError: The index was not tuned.
    """
    tuning, settings = store.tuning, store.manifest.settings
    if tuning is None:
        raise ConfigError(f"{store.folder}: was not tuned, so that there is nothing to undo")
    try:
        restored = replace(
            settings, min_score=tuning.before.get("min_score"), aim=tuning.before.get("aim")
        )
    except ConfigError:  # forged
        restored = replace(settings, min_score=None, aim=None)
    store.become(replace(store.manifest, settings=restored, tuning=None))


def search_known(
    index: IndexView, known: Sequence[KnownAnswers], options: TuneOptions
) -> list[JudgedQuery]:
    """What the index finds for queries by its own score."""
    searches = untuned_searches(index, [each.query for each in known], options)
    return [_judged(each, search) for each, search in zip(known, searches, strict=True)]


def _judged(known: KnownAnswers, search: SearchSteps) -> JudgedQuery:
    found = search.found_rows()
    judged = np.ones(len(found), dtype=np.bool_)
    if known.passed_over is not None:
        decided = known.relevant | known.passed_over
        judged = np.array([key in decided for key in found.ids], dtype=np.bool_)
    return JudgedQuery(known.query, known.relevant, found, judged, known.weight)


def rescoring(settings: IndexSettings) -> Callable[[ScoredRows, Signals, Mask], Floats]:
    """How the index scores some of the rows that it has found."""
    if settings.score == LEARNED:
        return lambda found, signals, kept: shipped_score().of(signals, STAGES)
    return lambda found, signals, kept: found.scores[kept]


def fitted_score(queries: JudgedQueries) -> tuple[TunedScore, Strength]:
    """The score that all queries together ask for."""
    everything = np.ones(len(queries), dtype=np.bool_)
    choice = choose(queries, everything, make_folds(queries, INNER_FOLDS))
    correction = fit(queries.lesson(everything, everything), choice.strength)
    curve = choice.curve(queries.answerable)
    return TunedScore(correction, queries.remembered, curve), choice.strength


def figures_of(judgement: Judgement) -> dict[str, TunedFigure]:
    """All figures before and after, with their intervals."""
    figures = {}
    for name in FIGURES:
        gain, bounds = judgement.gain(name)
        before, after = judgement.before.figure(name), judgement.after.figure(name)
        values = [_plain(each) for each in (before, after, gain, *bounds)]
        names = ("before", "after", "gain", "low", "high")
        figures[name] = TunedFigure(**dict(zip(names, values, strict=True)))
    return figures


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _learned(strength: Strength) -> str:
    """What a score of some strength has learned, in words."""
    if not strength.is_calibrated:
        return "the threshold"
    if not strength.features:
        return "the threshold, and what scores mean"
    if strength.features == len(SIGNALS):
        return "the threshold, and how much cosine, words and matcher count"
    return "the threshold, how much the stages count, and the queries themselves"


def _notes(
    settings: IndexSettings,
    queries: JudgedQueries,
    figures: Mapping[str, TunedFigure],
    aim: Aim,
    *,
    is_changed: bool,
) -> list[str]:
    notes = []
    if any(not each.is_real for each in queries.examples):
        notes.append(
            "too few queries are without an answer to say how many there are: the others stand for "
            "them as if their rows were missing, so that they are a sixth"
        )
    rightly = figures["answered_rightly"]
    if rightly.is_worse("answered_rightly"):
        notes.append(
            "surely fewer queries get a right answer than before, because fewer answers reach "
            f"{aim.spelt}; --aim names another"
        )
    if is_changed:
        notes += replaced_note(settings)
    return notes
