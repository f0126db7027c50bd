"""From logits to probabilities one can act on: temperature, and more where more pays.

A temperature cannot mend a model that favours a label (trained where half of the pairs match, asked
where a tenth do), nor one that is asked about text it knows well and text it does not, where large
logits deserve more trust than one temperature for all can give. So two further steps are tried: a
bias per label (vector scaling with one common scale; Guo et al. 2017, Section 4.2), and a sharpness
that grows with the logits. Each is taken only where rows left out of the fit are likelier for it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.arrays import (
    Labels,
    Numbers,
    as_labels,
    as_numbers,
    require_ids_below,
    require_same_length,
)
from softquery.measure.calibration_error import MAX_TEMPERATURE, MIN_TEMPERATURE, fit_temperature
from softquery.softmax import softmax

Form = Literal["temperature", "bias", "growth"]
FORMS: tuple[Form, ...] = ("temperature", "bias", "growth")
"""Each has all that the one before it has."""
MIN_ROWS = 200
"""Fewer rows fit a temperature only."""
MAX_LABELS = 20
"""More labels fit a temperature only: rare ones have too few rows for a bias."""
_RIDGE = 1e-4
"""Draws biases to zero, so that labels which are never right have a finite one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """How logits are scaled before their softmax.

    With z the logits less their mean, `z * (1 / temperature + growth * max(z)) + bias`.
    """

    temperature: float = 1.0
    growth: float = 0.0
    bias: tuple[float, ...] | None = None
    """One number a label, the first of them 0; None for none."""

    def apply(self, logits: Numbers) -> Numbers:
        """Scaled logits, [n, L].

        >>> Scaling(growth=0.5, bias=(0.0, 1.0)).apply(np.array([[2.0, 0.0]])).tolist()
        [[1.5, -0.5]]
        """
        centred = logits - logits.mean(axis=1, keepdims=True)
        scale = 1 / self.temperature + self.growth * centred.max(axis=1, keepdims=True)
        shift = np.zeros(1) if self.bias is None else np.array(self.bias)
        scaled: Numbers = centred * scale + shift
        return scaled

    def log_likelihood(self, logits: Numbers, gold: Labels) -> float:
        """Mean over rows."""
        scaled = self.apply(logits)
        shifted = scaled - scaled.max(axis=1, keepdims=True)
        chosen = shifted[np.arange(len(gold)), gold]
        return float((chosen - np.log(np.exp(shifted).sum(axis=1))).mean())


def choose_scaling(logits: ArrayLike, gold: ArrayLike) -> Scaling:
    """Fit the form of scaling for which rows that were left out of the fit are likeliest.

    A random half of the rows fits, the rest is looked at, and the other way round; neighbours in a
    file are often alike, or take turns.

    Args:
        logits: Scores before softmax, [n, L].
        gold: Label ids.

    >>> logits = [[0.0, 1.0]] * 300
    >>> choose_scaling(logits, [1, 0, 0] * 100).bias is None  # always says 1, is right in a third
    False
    """
    scores, gold_ids = as_numbers(logits, name="logits", num_axes=2), as_labels(gold, name="gold")
    require_same_length(logits=scores, gold=gold_ids)
    require_ids_below(gold_ids, scores.shape[1], name="gold")
    halves = np.array_split(np.random.default_rng(0).permutation(len(scores)), 2)
    num_labels = scores.shape[1]
    few = len(scores) < MIN_ROWS or num_labels > MAX_LABELS
    if few or any(len(np.unique(gold_ids[half])) < num_labels for half in halves):
        return fit_scaling(scores, gold_ids, "temperature")
    likelihoods = {
        form: sum(
            fit_scaling(scores[one], gold_ids[one], form).log_likelihood(
                scores[other], gold_ids[other]
            )
            for one, other in (halves, halves[::-1])
        )
        for form in FORMS
    }
    return fit_scaling(scores, gold_ids, max(FORMS, key=lambda form: likelihoods[form]))


def fit_scaling(logits: Numbers, gold: Labels, form: Form) -> Scaling:
    """The likeliest scaling of a form; the likelihood is concave in what is fitted.

    Newton steps, halved until the likelihood rises. Temperatures stay within those of
    `fit_temperature`, and growth is never negative, so that no order of logits is turned.
    """
    start = fit_temperature(logits, gold)
    if form == "temperature":
        return Scaling(temperature=start)
    features = _features(logits, form)
    point = np.array([1 / start, *np.zeros(features.shape[2] - 1)])
    value = _loss(features, gold, point)
    for _ in range(100):
        step = _newton_step(features, gold, point)
        for _ in range(30):
            following = _bounded(point - step, form)
            reached = _loss(features, gold, following)
            if reached <= value:
                break
            step /= 2
        gained, point, value = value - reached, following, reached
        if gained < 1e-12:
            break
    growth = float(point[1]) if form == "growth" else 0.0
    bias = (0.0, *point[1 - logits.shape[1] :].tolist())
    return Scaling(temperature=float(1 / point[0]), growth=growth, bias=bias)


def _features(logits: Numbers, form: Form) -> Numbers:
    """What each number that is fitted adds to each label's logit: [n, L, P]."""
    num_rows, num_labels = logits.shape
    centred = logits - logits.mean(axis=1, keepdims=True)
    parts = [centred[:, :, None]]
    if form == "growth":
        parts.append(parts[0] * centred.max(axis=1)[:, None, None])
    ones = np.eye(num_labels)[:, 1:]  # the first label's bias stays 0
    parts.append(np.broadcast_to(ones, (num_rows, *ones.shape)))
    return np.concatenate(parts, axis=2)


def _bounded(point: Numbers, form: Form) -> Numbers:
    least = np.full(len(point), -np.inf)
    least[0] = 1 / MAX_TEMPERATURE
    if form == "growth":
        least[1] = 0.0
    most = np.array([1 / MIN_TEMPERATURE, *np.full(len(point) - 1, np.inf)])
    return np.clip(point, least, most)


def _shares(features: Numbers, point: Numbers) -> Numbers:
    return softmax(features @ point, axis=1)


def _loss(features: Numbers, gold: Labels, point: Numbers) -> float:
    chosen = _shares(features, point)[np.arange(len(gold)), gold]
    return float(_RIDGE * point[1:] @ point[1:] - np.log(np.maximum(chosen, 1e-300)).mean())


def _newton_step(features: Numbers, gold: Labels, point: Numbers) -> Numbers:
    num_rows = len(features)
    shares = _shares(features, point)
    mean = np.einsum("nl,nlp->np", shares, features)
    slope = (mean - features[np.arange(num_rows), gold]).mean(axis=0)
    curvature = np.einsum("nl,nlp,nlq->pq", shares, features, features, optimize=True) / num_rows
    curvature -= mean.T @ mean / num_rows
    ridge = 2 * _RIDGE * np.array([0.0, *np.ones(len(point) - 1)])
    step: Numbers = np.linalg.solve(curvature + np.diag(ridge + 1e-10), slope + ridge * point)
    return step
