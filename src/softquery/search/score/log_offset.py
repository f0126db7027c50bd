"""What the scores of unlabelled queries tell of an index: how far off its scores are.

Scores mean what they say over many indexes together, and are too high in some and too low in
others. How the scores of a log are distributed tells in part which: where few are high and many in
between, fewer are right than they say. A ridge regression from that to what would have to be added
to the log-odds was fitted to indexes whose queries are labelled, and judged on sets left out
(`shipped/score_logs.py`).

M queries, K features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
UNSURE = 1.0
"""Log-odds below which, on either side of 0, a score says neither yes nor no."""
FEATURES = ("mean", "spread", *(f"quantile {share}" for share in SHARES), "chance", "unsure")
MOST = 2.5
"""Log-odds that are added or taken away at most."""


@dataclass(frozen=True, slots=True)
class LogOffset:
    """How the scores of a log become what is added to the log-odds of any score.

    Attributes:
        centres: What each feature is on average: [K].
        scales: Its standard deviation: [K].
        weights: What it adds: [K].
        offset: What is added always.
    """

    centres: Sequence[float]
    scales: Sequence[float]
    weights: Sequence[float]
    offset: float

    def of(self, odds: Floats, weights: Floats) -> float:
        """What to add to the log-odds of scores.

        Args:
            odds: The log-odds of the first row of each query: [M].
            weights: How often each was asked: [M].
        """
        scaled = (log_features(odds, weights) - np.array(self.centres)) / np.array(self.scales)
        return float(np.clip(scaled @ np.array(self.weights) + self.offset, -MOST, MOST))

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        numbers = {
            name: [round(value, 5) for value in getattr(self, name)]
            for name in ("centres", "scales", "weights")
        }
        return {**numbers, "offset": round(self.offset, 5)}


def no_offset() -> LogOffset:
    """What leaves every score as it is."""
    size = len(FEATURES)
    return LogOffset([0.0] * size, [1.0] * size, [0.0] * size, 0.0)


def offset_from(data: Mapping[str, Any]) -> LogOffset:
    """From what JSON holds."""
    return LogOffset(data["centres"], data["scales"], data["weights"], data["offset"])


def log_features(odds: Floats, weights: Floats) -> Floats:
    """How the scores of a log are distributed: [K].

    >>> log_features(np.array([-2.0, 0.0, 2.0]), np.ones(3)).round(2).tolist()
    [0.0, 1.63, -2.0, -2.0, 0.0, 2.0, 2.0, 0.5, 0.33]
    """
    share = weights / weights.sum()
    mean = float(share @ odds)
    spread = float(np.sqrt(share @ (odds - mean) ** 2))
    order = np.argsort(odds, kind="stable")
    reached = np.cumsum(share[order])
    places = np.minimum(np.searchsorted(reached, np.array(SHARES) - 1e-9), len(odds) - 1)
    chance = float(share @ (1 / (1 + np.exp(-odds))))
    unsure = float(share @ (np.abs(odds) < UNSURE))
    return np.array([mean, spread, *odds[order][places].tolist(), chance, unsure])
