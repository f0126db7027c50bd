"""Tuning an index by a log of queries, of which nobody says what answers them.

The log says how many of its queries the index seems to answer; scores and threshold follow that,
and nothing else changes: rows keep their order.

M queries.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError
from softquery.files import Row
from softquery.search.aims import Aim
from softquery.search.index_view import IndexView
from softquery.search.score.row_score import shipped_score
from softquery.search.storage.manifest import LEARNED
from softquery.search.storage.store import Store
from softquery.search.tuning.log_estimate import (
    LogEstimate,
    estimate,
    expected_curve,
    own_threshold,
    threshold_interval,
)
from softquery.search.tuning.logged_queries import logged_queries
from softquery.search.tuning.remembered import Remembered
from softquery.search.tuning.tune_options import (
    TuneOptions,
    chosen_aim,
    replaced_note,
    store_tuning,
    threshold_before,
    untuned_searches,
)
from softquery.search.tuning.tune_report import LOG, TunedFigure, TuneReport
from softquery.search.tuning.tuned_score import TunedScore, no_correction

Floats = NDArray[np.float64]


def tune_by_log(
    index: IndexView, store: Store, rows: Sequence[Row], options: TuneOptions
) -> TuneReport:
    """Tune an index that this process is writing, or that it only looks at.

    Raises:
        ConfigError: The index has no learned score.
        InputError: There are too few queries.
    """
    settings = store.manifest.settings
    offset = shipped_score().log
    aim = chosen_aim(settings, options.aim)
    asked, notes = logged_queries(index, rows)
    if settings.score != LEARNED:
        message = "a log tells of learned scores alone, which this index lacks; tune it with labels"
        raise ConfigError(f"{store.folder}: {message}")
    notes.append(
        "nobody says what answers these queries: precision is what their scores suggest, and "
        "labels alone measure it"
    )
    before = threshold_before(index, settings, aim, options.aim)
    usual = 0.0 if before is None else before
    searches = list(untuned_searches(index, list(asked), options))
    scores = np.array([search.found_rows().scores.max(initial=0.0) for search in searches])
    weights = np.array(list(asked.values()), dtype=np.float64)
    found = estimate(scores, weights, offset)
    curve = expected_curve(found.probabilities(scores), weights, found.probability(usual))
    nothing = Remembered(np.zeros((0, index.models.vectors.size), dtype=np.float32), [])
    tuned = TunedScore(replace(no_correction(), shift=found.shift), nothing, curve)
    figures = _figures(found, scores, weights, usual, aim)
    low, high = threshold_interval(scores, weights, usual, aim, offset)
    figures["threshold"] = replace(
        figures["threshold"], low=round(low - usual, 4), high=round(high - usual, 4)
    )
    is_sure = figures["threshold"].low is not None and not _holds_zero(figures["threshold"])
    is_changed = (is_sure or options.is_forced) and not options.is_dry
    report = TuneReport(
        num_queries=len(asked),
        num_answerable=round(len(asked) * _share(found.probabilities(scores), weights)),
        kind=LOG,
        aim=aim.spelt,
        min_score_before=before,
        min_score=tuned.threshold(aim),
        learned="the threshold, and how likely any answer is",
        figures=figures,
        is_sure=is_sure,
        is_changed=is_changed,
        notes=(*notes, *(replaced_note(settings) if is_changed else ())),
    )
    options.announce(report)
    if is_changed:
        store_tuning(store, tuned, report, aim)
    return report


def _figures(
    found: LogEstimate, scores: Floats, weights: Floats, usual: float, aim: Aim
) -> dict[str, TunedFigure]:
    """What the log suggests before and after, all by the scores as they are after."""
    after = own_threshold(found, scores, weights, usual, aim)
    chances = found.probabilities(scores)
    figures = {"threshold": _figure(usual, after)}
    for name, measure in (("answered", _answered), ("expected_precision", _precision)):
        values = [measure(chances, weights, scores >= least) for least in (usual, after)]
        figures[name] = _figure(*values)
    return figures


def _share(values: Floats, weights: Floats) -> float:
    return float(np.average(values, weights=weights))


def _answered(chances: Floats, weights: Floats, given: NDArray[np.bool_]) -> float:
    return _share(given.astype(np.float64), weights)


def _precision(chances: Floats, weights: Floats, given: NDArray[np.bool_]) -> float:
    return _share(chances[given], weights[given]) if given.any() else 1.0


def _figure(before: float, after: float) -> TunedFigure:
    numbers = (round(each, 4) for each in (before, after, after - before))
    return TunedFigure(
        **dict(zip(("before", "after", "gain"), numbers, strict=True)), low=None, high=None
    )


def _holds_zero(figure: TunedFigure) -> bool:
    return figure.low is None or figure.high is None or figure.low <= 0 <= figure.high
