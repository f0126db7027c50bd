"""What a log of queries suggests about an index, by the scores of their first rows.

Scores are shifted by what their distribution tells (`softquery.search.score.log_offset`); by the
shifted ones, which are probabilities, a threshold gives as much precision as the mean of those
above it.

M queries.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.aims import Aim, AimCurve
from softquery.search.score.log_offset import LogOffset
from softquery.search.tuning.fitting import MOST_THRESHOLDS, ROUNDED
from softquery.search.tuning.tuned_score import log_odds

Floats = NDArray[np.float64]
SAMPLES = 200
SEED = 1


@dataclass(frozen=True, slots=True)
class LogEstimate:
    """What a log says of an index.

    Attributes:
        shift: What is added to the log-odds of every score.
    """

    shift: float

    def probabilities(self, scores: Floats) -> Floats:
        """Scores as they are by this estimate: [M]."""
        found: Floats = 1 / (1 + np.exp(-(log_odds(scores) + self.shift)))
        return found

    def probability(self, score: float) -> float:
        """One score as it is by this estimate."""
        return float(self.probabilities(np.array(score)))

    def before(self, chance: float) -> float:
        """The score that is this probability by this estimate."""
        return float(1 / (1 + np.exp(self.shift - log_odds(np.array(chance)))))


def estimate(scores: Floats, weights: Floats, offset: LogOffset) -> LogEstimate:
    """What scores say of an index.

    Args:
        scores: That of the first row of each query: [M].
        weights: How often each was asked: [M].
        offset: How scores become a shift.
    """
    return LogEstimate(offset.of(log_odds(scores), weights))


def expected_curve(chances: Floats, weights: Floats, usual: float) -> AimCurve:
    """What is to be expected of each threshold, if these are the chances of first rows.

    Coverage is that of the right first rows.

    Args:
        chances: Those of the first row of each query: [M].
        weights: How often each was asked: [M].
        usual: The threshold without the log, which stays where all of the log is above it and
            reaches the aim.

    >>> curve = expected_curve(np.array([0.5, 1.0]), np.ones(2), 0.4)
    >>> curve.scores, curve.precision, [round(each, 2) for each in curve.coverage]
    ([0.4, 1.0], [0.75, 1.0], [1.0, 0.67])
    """
    shares = np.linspace(0, 1, MOST_THRESHOLDS)
    grid = np.unique(np.round(np.quantile(chances, shares, method="lower"), 4))
    grid[0] = min(float(grid[0]), usual)
    precision, coverage = [], []
    for threshold in grid.tolist():
        given = chances >= threshold - ROUNDED
        right = float(weights[given] @ chances[given])
        precision.append(right / max(float(weights[given].sum()), 1e-9))
        coverage.append(right / max(float(weights @ chances), 1e-9))
    return AimCurve(grid.tolist(), precision, coverage)


def own_threshold(
    found: LogEstimate, scores: Floats, weights: Floats, usual: float, aim: Aim
) -> float:
    """The threshold for an aim, in terms of scores before the shift.

    Args:
        found: What the scores of the log say.
        scores: That of the first row of each query, before the shift: [M].
        weights: How often each was asked: [M].
        usual: The threshold without the log.
        aim: What the threshold is for.
    """
    curve = expected_curve(found.probabilities(scores), weights, found.probability(usual))
    return found.before(curve.threshold(aim))


def threshold_interval(
    scores: Floats, weights: Floats, usual: float, aim: Aim, offset: LogOffset
) -> tuple[float, float]:
    """The 95 % interval of `own_threshold`, over logs that were drawn from this one."""
    draw = np.random.default_rng(SEED)
    thresholds = []
    for _ in range(SAMPLES):
        drawn = draw.integers(len(scores), size=len(scores))
        found = estimate(scores[drawn], weights[drawn], offset)
        thresholds.append(own_threshold(found, scores[drawn], weights[drawn], usual, aim))
    low, high = np.quantile(thresholds, [0.025, 0.975]).tolist()
    return low, high
