"""Whether a probability means what it says, and how to make it (Guo et al. 2017)."""

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

Binning = Literal["mass", "width"]

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityBin:
    """Rows of similar confidence: what they promised and what they kept."""

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
        probabilities: One row of label probabilities each, [n, L].
        gold: Label ids.
        num_bins: How many bins at most; empty ones are left out.
        binning: `"mass"` puts about equally many rows into each bin and never parts equal
            confidences; `"width"` cuts [0, 1] into equal lengths, as the paper does.

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
    probabilities: ArrayLike, gold: ArrayLike, num_bins: int = 15, binning: Binning = "mass"
) -> float:
    """The mean gap between confidence and accuracy over bins, weighted by rows (Eq. 3).

    Differs from paper: bins hold equal mass unless `binning="width"` is asked for, because most
    rows of a good model crowd into the last bins of equal width.

    >>> round(expected_calibration_error([[0.8, 0.2], [0.8, 0.2]], [0, 1]), 3)
    0.3
    """
    bins = reliability(probabilities, gold, num_bins=num_bins, binning=binning)
    num_rows = sum(part.n for part in bins)
    return sum(part.n * abs(part.confidence - part.accuracy) for part in bins) / num_rows


def fit_temperature(logits: ArrayLike, gold: ArrayLike) -> float:
    """The one number to divide logits by so that their softmax is calibrated (Section 4.2).

    Minimises the negative log likelihood, which is convex in 1/temperature, by Newton steps kept
    inside a shrinking bracket. The answer stays within 0.01 and 100: rows that are all right (or
    all wrong) have no finite best temperature. Logits that prefer nothing leave it at 1.

    Args:
        logits: Scores before softmax, [n, L].
        gold: Label ids.

    >>> sure = [[4.0, 0.0]] * 4
    >>> round(fit_temperature(sure, [0, 0, 0, 1]), 3)  # softmax should say 3/4
    3.641
    """
    scores, gold_ids = as_numbers(logits, name="logits", num_axes=2), as_labels(gold, name="gold")
    require_same_length(logits=scores, gold=gold_ids)
    require_ids_below(gold_ids, scores.shape[1], name="gold")
    if np.ptp(scores, axis=1).max() == 0:
        return 1.0
    low, high = 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE
    if _slopes(scores, gold_ids, high)[0] <= 0:
        return 1 / high
    if _slopes(scores, gold_ids, low)[0] >= 0:
        return 1 / low
    return 1 / _root(scores, gold_ids, low, high)


def _root(scores: Numbers, gold: Labels, low: float, high: float) -> float:
    """Where the likelihood's slope crosses zero between `low` and `high`."""
    sharpness = 1.0
    for _ in range(200):
        slope, curvature = _slopes(scores, gold, sharpness)
        low, high = (sharpness, high) if slope < 0 else (low, sharpness)
        step = sharpness - slope / curvature if curvature > 0 else low
        following = step if low < step < high else (low + high) / 2
        if abs(following - sharpness) <= 1e-12 * sharpness:
            break
        sharpness = following
    return sharpness


def _slopes(scores: Numbers, gold: Labels, sharpness: float) -> tuple[float, float]:
    """First and second derivative of the mean negative log likelihood by 1/temperature."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(sharpness * shifted)
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights * shifted).sum(axis=1)
    variance = (weights * shifted**2).sum(axis=1) - mean**2
    chosen = shifted[np.arange(len(gold)), gold]
    return float((mean - chosen).mean()), float(variance.mean())


def _confidence(probabilities: ArrayLike, gold: ArrayLike) -> tuple[Numbers, Numbers]:
    table = as_numbers(probabilities, name="probabilities", num_axes=2)
    gold_ids = as_labels(gold, name="gold")
    require_same_length(probabilities=table, gold=gold_ids)
    require_ids_below(gold_ids, table.shape[1], name="gold")
    if table.min() < 0 or table.max() > 1 + 1e-6:
        raise ValueError(f"probabilities must be in [0, 1], got {table.min()} to {table.max()}")
    correct = (table.argmax(axis=1) == gold_ids).astype(np.float64)
    return table.max(axis=1), correct


def _edges(confidence: Numbers, num_bins: int, binning: Binning) -> Numbers:
    if binning == "width":
        return np.linspace(0.0, 1.0, num_bins + 1)
    if binning == "mass":
        # An edge is a confidence that occurs, so that rows equal to it stay together below it.
        shares = np.arange(1, num_bins + 1) / num_bins
        highs = np.unique(np.quantile(confidence, shares, method="inverted_cdf"))
        return np.append(confidence.min(), highs)
    raise ValueError(f"binning must be 'mass' or 'width', got {binning!r}")


def _bin(edges: Numbers, index: int, confidence: Numbers, correct: Numbers) -> ReliabilityBin:
    return ReliabilityBin(
        low=float(edges[index]),
        high=float(edges[index + 1]),
        n=len(confidence),
        confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
    )
