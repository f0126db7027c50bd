"""Calibration of probabilities: reliability, expected error, temperature (Guo et al. 2017), bias.

Temperature scaling divides all logits by one number. Where enough rows pay for it, a bias per label
and a growth that sharpens larger logits are fitted as well.
"""

from dataclasses import dataclass
from typing import Literal

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

Binning = Literal["mass", "width"]

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityBin:
    """Rows of similar confidence, with their mean confidence and their accuracy."""

    low: float
    """The lowest confidence that falls into the bin."""
    high: float
    n: int
    confidence: float
    """The mean probability of the predicted label."""
    accuracy: float


def reliability(
    probabilities: ArrayLike, gold: ArrayLike, *, num_bins: int = 15, binning: Binning = "mass"
) -> list[ReliabilityBin]:
    """Confidence beside accuracy, bin by bin: the data of a reliability diagram (Section 2).

    Args:
        probabilities: Label probabilities, [n, L].
        gold: Label ids.
        num_bins: The most bins; empty ones are omitted.
        binning: `"mass"` puts about equally many rows into each bin and keeps equal confidences
            together; `"width"` cuts [0, 1] into equal lengths, as the paper does.

    >>> one, = reliability([[0.8, 0.2], [0.8, 0.2]], [0, 1])
    >>> (one.n, one.confidence, one.accuracy)
    (2, 0.8, 0.5)
    """
    confidence, correct = _confidence(probabilities, gold)
    if num_bins < 1:
        raise ValueError(f"num_bins must be at least 1, got {num_bins}")
    edges = _edges(confidence, num_bins, binning)
    # Bins are open below and closed above, as in the paper's ((m-1)/M, m/M].
    place = np.searchsorted(edges[1:-1], confidence, side="left")
    return [
        _bin(edges, int(index), confidence[place == index], correct[place == index])
        for index in np.unique(place)
    ]


def expected_calibration_error(
    probabilities: ArrayLike,
    gold: ArrayLike,
    num_bins: int = 15,
    binning: Binning = "mass",
    *,
    weights: ArrayLike | None = None,
) -> float:
    """The mean gap between confidence and accuracy over bins, weighted by rows (Eq. 3).

    Differs from paper: bins hold equal mass unless `binning="width"`, because most rows of a good
    model fall into the last bins of equal width.

    Args:
        probabilities: Label probabilities, [n, L].
        gold: Label ids.
        num_bins: The most bins.
        binning: As `reliability` takes it.
        weights: How much each row counts; equally by default.

    >>> round(expected_calibration_error([[0.8, 0.2], [0.8, 0.2]], [0, 1]), 3)
    0.3
    >>> twice = [[0.8, 0.2], [0.8, 0.2]]
    >>> round(expected_calibration_error(twice, [0, 1], weights=[4, 1]), 3)
    0.0
    """
    confidence, correct = _confidence(probabilities, gold)
    if num_bins < 1:
        raise ValueError(f"num_bins must be at least 1, got {num_bins}")
    shares = row_weights(weights, len(confidence))
    edges = _edges(confidence, num_bins, binning, None if weights is None else shares)
    place = np.searchsorted(edges[1:-1], confidence, side="left")
    return float(np.abs(np.bincount(place, shares * (confidence - correct))).sum())


def row_weights(weights: ArrayLike | None, num_rows: int) -> Numbers:
    """What each row counts, with a sum of one; all the same by default.

    >>> row_weights([1, 3], 2).tolist()
    [0.25, 0.75]
    """
    if weights is None:
        return np.full(num_rows, 1 / num_rows)
    given = as_numbers(weights, name="weights")
    if len(given) != num_rows or not (given > 0).all():
        raise ValueError(f"weights must be {num_rows} numbers above 0")
    shares: Numbers = given / given.sum()
    return shares


def chance_calibration_error(
    probabilities: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    seed: int = 0,
    num_draws: int = 20,
) -> float:
    """The calibration error that these rows would show if every probability were true.

    Bins of few rows miss their confidence by luck, so that no error is to be read against 0.

    Args:
        probabilities: Label probabilities, [n, L].
        weights: How much each row counts; equally by default.
        seed: Of the labels that are drawn.
        num_draws: How often they are drawn.

    >>> chance_calibration_error([[1.0, 0.0]] * 30)
    0.0
    """
    table = as_numbers(probabilities, name="probabilities", num_axes=2)
    chance = np.random.default_rng(seed)
    edges = table.cumsum(axis=1)
    edges[:, -1] = 1.0  # rounding must not leave a gap above the last label
    drawn = [(chance.random((len(edges), 1)) >= edges).sum(axis=1) for _ in range(num_draws)]
    errors = [expected_calibration_error(table, gold, weights=weights) for gold in drawn]
    return float(np.mean(errors))


def fit_temperature(
    logits: ArrayLike, gold: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """The temperature by which to divide logits so that their softmax is calibrated (Section 4.2).

    Minimises the negative log-likelihood, which is convex in 1/temperature, by Newton steps inside
    a shrinking bracket. The result lies within 0.01 and 100, because rows that are all right (or
    all wrong) have no finite optimum. It is 1 for logits that are constant in every row.

    Args:
        logits: Scores before softmax, [n, L].
        gold: Label ids.
        weights: How much each row counts; equally by default.

    >>> sure = [[4.0, 0.0]] * 4
    >>> round(fit_temperature(sure, [0, 0, 0, 1]), 3)  # softmax should say 3/4
    3.641
    """
    scores, gold_ids = as_numbers(logits, name="logits", num_axes=2), as_labels(gold, name="gold")
    require_same_length(logits=scores, gold=gold_ids)
    require_ids_below(gold_ids, scores.shape[1], name="gold")
    if np.ptp(scores, axis=1).max() == 0:
        return 1.0
    shares = row_weights(weights, len(scores))
    low, high = 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE
    if _slopes(scores, gold_ids, shares, high)[0] <= 0:
        return 1 / high
    if _slopes(scores, gold_ids, shares, low)[0] >= 0:
        return 1 / low
    return 1 / _root(scores, gold_ids, shares, low, high)


def _root(scores: Numbers, gold: Labels, weights: Numbers, low: float, high: float) -> float:
    """The zero of the slope of the likelihood between `low` and `high`."""
    sharpness = 1.0
    for _ in range(200):
        slope, curvature = _slopes(scores, gold, weights, sharpness)
        low, high = (sharpness, high) if slope < 0 else (low, sharpness)
        step = sharpness - slope / curvature if curvature > 0 else low
        following = step if low < step < high else (low + high) / 2
        if abs(following - sharpness) <= 1e-12 * sharpness:
            break
        sharpness = following
    return sharpness


def _slopes(
    scores: Numbers, gold: Labels, weights: Numbers, sharpness: float
) -> tuple[float, float]:
    """First and second derivative of the mean negative log likelihood by 1/temperature."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    powers = np.exp(sharpness * shifted)
    powers /= powers.sum(axis=1, keepdims=True)
    mean = (powers * shifted).sum(axis=1)
    variance = (powers * shifted**2).sum(axis=1) - mean**2
    chosen = shifted[np.arange(len(gold)), gold]
    return float(weights @ (mean - chosen)), float(weights @ variance)


def _confidence(probabilities: ArrayLike, gold: ArrayLike) -> tuple[Numbers, Numbers]:
    table = as_numbers(probabilities, name="probabilities", num_axes=2)
    gold_ids = as_labels(gold, name="gold")
    require_same_length(probabilities=table, gold=gold_ids)
    require_ids_below(gold_ids, table.shape[1], name="gold")
    if table.min() < 0 or table.max() > 1 + 1e-6:
        raise ValueError(f"probabilities must be in [0, 1], got {table.min()} to {table.max()}")
    correct = (table.argmax(axis=1) == gold_ids).astype(np.float64)
    return table.max(axis=1), correct


def _edges(
    confidence: Numbers, num_bins: int, binning: Binning, weights: Numbers | None = None
) -> Numbers:
    if binning == "width":
        return np.linspace(0.0, 1.0, num_bins + 1)
    if binning == "mass":
        # Edges are confidences that occur, so that equal ones stay in one bin.
        shares = np.arange(1, num_bins + 1) / num_bins
        if weights is None:
            highs = np.quantile(confidence, shares, method="inverted_cdf")
        else:
            order = np.argsort(confidence, kind="stable")
            mass = np.cumsum(weights[order]) + 1e-12  # no edge moves on by rounding
            highs = confidence[order][np.minimum(np.searchsorted(mass, shares), len(order) - 1)]
        return np.append(confidence.min(), np.unique(highs))
    raise ValueError(f"binning must be 'mass' or 'width', got {binning!r}")


def _bin(edges: Numbers, index: int, confidence: Numbers, correct: Numbers) -> ReliabilityBin:
    return ReliabilityBin(
        low=float(edges[index]),
        high=float(edges[index + 1]),
        n=len(confidence),
        confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
    )


Form = Literal["temperature", "bias", "growth"]
FORMS: tuple[Form, ...] = ("temperature", "bias", "growth")
"""Each form contains the one before it."""
MIN_ROWS = 200
"""With fewer rows only a temperature is fitted."""
MAX_LABELS = 20
"""With more labels only a temperature is fitted: rare labels have too few rows for a bias."""
_RIDGE = 1e-4
"""A penalty on biases, so that labels which are never right have a finite one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """How logits are scaled before their softmax.

    With z the logits less their mean, `z * (1 / temperature + growth * max(z)) + bias`.
    """

    temperature: float = 1.0
    growth: float = 0.0
    bias: tuple[float, ...] | None = None
    """One number per label, the first of them 0; None for no bias."""

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
        """The mean log-likelihood of the gold labels over rows."""
        scaled = self.apply(logits)
        shifted = scaled - scaled.max(axis=1, keepdims=True)
        chosen = shifted[np.arange(len(gold)), gold]
        return float((chosen - np.log(np.exp(shifted).sum(axis=1))).mean())


def choose_scaling(logits: ArrayLike, gold: ArrayLike) -> Scaling:
    """Fit the form of scaling that is best by cross-validation.

    Each random half of the rows is scored by the fit to the other half; halves are random because
    neighbouring rows of a file are often alike, or alternate.

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


def fit_scaling(
    logits: Numbers, gold: Labels, form: Form, *, weights: Numbers | None = None
) -> Scaling:
    """The scaling of a form with the highest likelihood, which is concave in its parameters.

    Uses Newton steps, halved until the likelihood rises. The temperature stays within the limits of
    `fit_temperature`, and growth is never negative, so that the order of logits is kept.
    """
    start = fit_temperature(logits, gold, weights=weights)
    if form == "temperature":
        return Scaling(temperature=start)
    features, shares = _features(logits, form), row_weights(weights, len(logits))
    point = np.array([1 / start, *np.zeros(features.shape[2] - 1)])
    value = _loss(features, gold, shares, point)
    for _ in range(100):
        step = _newton_step(features, gold, shares, point)
        for _ in range(30):
            following = _bounded(point - step, form)
            reached = _loss(features, gold, shares, following)
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
    """The contribution of each parameter to the logit of each label: [n, L, P]."""
    num_rows, num_labels = logits.shape
    centred = logits - logits.mean(axis=1, keepdims=True)
    parts = [centred[:, :, None]]
    if form == "growth":
        parts.append(parts[0] * centred.max(axis=1)[:, None, None])
    ones = np.eye(num_labels)[:, 1:]  # the bias of the first label stays 0
    parts.append(np.broadcast_to(ones, (num_rows, *ones.shape)))
    return np.concatenate(parts, axis=2)


def _bounded(point: Numbers, form: Form) -> Numbers:
    least = np.full(len(point), -np.inf)
    least[0] = 1 / MAX_TEMPERATURE
    if form == "growth":
        least[1] = 0.0
    most = np.array([1 / MIN_TEMPERATURE, *np.full(len(point) - 1, np.inf)])
    return np.clip(point, least, most)


def _softmax_of(features: Numbers, point: Numbers) -> Numbers:
    scaled = features @ point
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    shares: Numbers = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _loss(features: Numbers, gold: Labels, weights: Numbers, point: Numbers) -> float:
    chosen = _softmax_of(features, point)[np.arange(len(gold)), gold]
    return float(_RIDGE * point[1:] @ point[1:] - weights @ np.log(np.maximum(chosen, 1e-300)))


def _newton_step(features: Numbers, gold: Labels, weights: Numbers, point: Numbers) -> Numbers:
    shares = _softmax_of(features, point)
    mean = np.einsum("nl,nlp->np", shares, features)
    slope = weights @ (mean - features[np.arange(len(gold)), gold])
    weighed = weights[:, None] * shares
    curvature = np.einsum("nl,nlp,nlq->pq", weighed, features, features, optimize=True)
    curvature -= mean.T @ (weights[:, None] * mean)
    ridge = 2 * _RIDGE * np.array([0.0, *np.ones(len(point) - 1)])
    step: Numbers = np.linalg.solve(curvature + np.diag(ridge + 1e-10), slope + ridge * point)
    return step
