"""Calibrate on several sources at once, choosing the form that works best on unseen sources.

Every source counts alike, whatever its size. What pays on the sources that a scaling was fitted on
may be the habit of one of them, such as how often its rows have a label; a form is therefore
chosen by sources that were left out of the fit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.basic_metrics import (
    Labels,
    Numbers,
    as_labels,
    as_numbers,
    require_ids_below,
    require_same_length,
)
from softquery.measure.calibration_error import (
    FORMS,
    MAX_LABELS,
    MIN_ROWS,
    Form,
    Scaling,
    choose_scaling,
    fit_scaling,
)


def weigh_alike(sources: ArrayLike) -> Numbers:
    """A weight for each row, such that all sources have the same sum, and together one.

    >>> weigh_alike([0, 0, 0, 1]).round(3).tolist()
    [0.167, 0.167, 0.167, 0.5]
    """
    ids = as_labels(sources, name="sources")
    _, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    weights: Numbers = 1 / (len(counts) * counts[places])
    return weights


def choose_scaling_across(logits: ArrayLike, gold: ArrayLike, sources: ArrayLike) -> Scaling:
    """Fit one scaling to several sources, in the form that does best elsewhere.

    Each source is scored by the fit to all others. Among the forms that are as good there as the
    best one, up to a standard error over sources, the one is taken that does best on random halves
    of the rows of all sources. With a single source this is `choose_scaling`.

    Args:
        logits: Scores before softmax, [n, L].
        gold: Label ids.
        sources: A number for each row's source.

    >>> logits, gold = [[0.0, 1.0]] * 600, [1, 0, 0] * 200
    >>> choose_scaling_across(logits, gold, [0] * 500 + [1] * 100).bias is None
    False
    """
    scores, gold_ids = as_numbers(logits, name="logits", num_axes=2), as_labels(gold, name="gold")
    ids = as_labels(sources, name="sources")
    require_same_length(logits=scores, gold=gold_ids, sources=ids)
    require_ids_below(gold_ids, scores.shape[1], name="gold")
    if len(np.unique(ids)) == 1:
        return choose_scaling(scores, gold_ids)
    form = _choose_form(scores, gold_ids, ids)
    return fit_scaling(scores, gold_ids, form, weights=weigh_alike(ids))


def scalings_without_each(
    logits: Numbers, gold: Labels, sources: Labels, form: Form
) -> dict[int, Scaling]:
    """For each of at least two sources, the scaling that is fitted to all others alone."""
    return {
        each: _fit(logits, gold, sources, np.flatnonzero(sources != each), form)
        for each in np.unique(sources).tolist()
    }


def form_of(scaling: Scaling) -> Form:
    """The form that a scaling has.

    >>> form_of(Scaling(temperature=2.0))
    'temperature'
    """
    if scaling.bias is None:
        return "temperature"
    return "growth" if scaling.growth else "bias"


def _choose_form(scores: Numbers, gold: Labels, sources: Labels) -> Form:
    halves = _halves(sources)
    if not _pays(scores, gold, sources, halves):
        return "temperature"
    losses = {form: _left_out_losses(scores, gold, sources, form) for form in FORMS}
    best = min(FORMS, key=lambda form: losses[form].mean())
    as_good = [form for form in FORMS if _is_as_good(losses[form] - losses[best])]
    return min(as_good, key=lambda form: _half_loss(scores, gold, sources, halves, form))


def _is_as_good(excess: Numbers) -> bool:
    """Whether what a form loses against the best one is within a standard error over sources."""
    return bool(excess.mean() <= excess.std(ddof=1) / np.sqrt(len(excess)))


def _pays(scores: Numbers, gold: Labels, sources: Labels, halves: Sequence[Labels]) -> bool:
    """Whether there are rows enough, of every label in every part, to fit more than one number."""
    num_labels = scores.shape[1]
    if len(scores) < MIN_ROWS or num_labels > MAX_LABELS:
        return False
    parts = [*halves, *(np.flatnonzero(sources != each) for each in np.unique(sources))]
    return all(len(np.unique(gold[part])) == num_labels for part in parts)


def _halves(sources: Labels) -> tuple[Labels, Labels]:
    """Two random halves of the rows, both with half of every source."""
    order = np.random.default_rng(0).permutation(len(sources))
    by_source = [order[sources[order] == each] for each in np.unique(sources)]
    first = np.concatenate([part[0::2] for part in by_source])
    second = np.concatenate([part[1::2] for part in by_source])
    return first, second


def _fit(scores: Numbers, gold: Labels, sources: Labels, rows: Labels, form: Form) -> Scaling:
    return fit_scaling(scores[rows], gold[rows], form, weights=weigh_alike(sources[rows]))


def _left_out_losses(scores: Numbers, gold: Labels, sources: Labels, form: Form) -> Numbers:
    """The negative log-likelihood of each source by the fit to all others."""
    return np.array(
        [
            -scaling.log_likelihood(scores[sources == each], gold[sources == each])
            for each, scaling in scalings_without_each(scores, gold, sources, form).items()
        ]
    )


def _half_loss(
    scores: Numbers, gold: Labels, sources: Labels, halves: tuple[Labels, Labels], form: Form
) -> float:
    """The negative log-likelihood of each half by the fit to the other, sources alike."""
    losses = []
    for one, other in (halves, halves[::-1]):
        scaling = _fit(scores, gold, sources, one, form)
        for each in np.unique(sources[other]):
            rows = other[sources[other] == each]
            losses.append(-scaling.log_likelihood(scores[rows], gold[rows]))
    return float(np.mean(losses))
