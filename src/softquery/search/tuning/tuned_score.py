"""The score of a row after tuning: that of the index, corrected by what its labelled queries say.

    log-odds = slope * (log-odds of the index's own score + weights * features + offset) + shift

where everything but the first term is 0, and the slope 1, as long as nothing was learned. Features
are centred and scaled as on the labelled queries.

N rows, K features, M remembered queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.aims import Aim, AimCurve
from softquery.search.score.signals import Signals
from softquery.search.tuning.remembered import Remembered, Voters, vote_weights

Floats = NDArray[np.float64]
LEAST = 1e-4
"""The least probability whose log-odds are told apart from 0."""
SIGNALS = ("cosine", "words", "matcher")
MEMORY = ("known", "rivals", "in_vain")
FEATURES = (*SIGNALS, *MEMORY)
"""The columns of `make_columns`: what the stages say; how much remembered queries like this one
speak for the row's answer, for another one, and for none."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """What a search has found for a query, before it is corrected.

    Attributes:
        ids: Those of the rows: [N].
        scores: The index's own: [N].
        signals: What the stages say.
        vector: That of the query.
    """

    ids: Sequence[str]
    scores: Floats
    signals: Signals
    vector: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Correction:
    """What was learned from labelled queries.

    Attributes:
        centres: What each feature is on average: [K].
        scales: Its standard deviation: [K].
        weights: What it adds to the log-odds: [K].
        offset: What is added to the log-odds of every row.
        slope: How log-odds become those of a probability.
        shift: What is added to these.
    """

    centres: Floats
    scales: Floats
    weights: Floats
    offset: float = 0.0
    slope: float = 1.0
    shift: float = 0.0

    def totals(self, base: Floats, columns: Floats) -> Floats:
        """By what rows are ordered: [N].

        Args:
            base: The log-odds of the index's own score: [N].
            columns: The features of each row: [N, K].
        """
        found: Floats = base + (columns - self.centres) / self.scales @ self.weights + self.offset
        return found

    def probabilities(self, totals: Floats) -> Floats:
        """The probability that a row answers: [N]."""
        found: Floats = 1 / (1 + np.exp(-np.clip(self.slope * totals + self.shift, -30, 30)))
        return found


def no_correction() -> Correction:
    """What leaves every score as it is."""
    size = len(FEATURES)
    return Correction(np.zeros(size), np.ones(size), np.zeros(size))


@dataclass(frozen=True, slots=True)
class TunedScore:
    """The score of an index that was tuned.

    Attributes:
        correction: What was learned.
        remembered: The labelled queries.
        curve: What was seen at each threshold.
    """

    correction: Correction
    remembered: Remembered
    curve: AimCurve

    def of(self, found: ScoredRows) -> Floats:
        """How likely each row is to answer the query: [N]."""
        if not len(found):
            return np.empty(0)
        columns = make_columns(found, self.remembered)
        totals = self.correction.totals(log_odds(found.scores), columns)
        return self.correction.probabilities(totals)

    def threshold(self, aim: Aim) -> float:
        """The least score of an answer, for an aim."""
        return self.curve.threshold(aim)


def log_odds(scores: Floats) -> Floats:
    """Of probabilities: [N].

    >>> log_odds(np.array([0.5, 0.0])).round(1).tolist()
    [0.0, -9.2]
    """
    safe = np.clip(scores, LEAST, 1 - LEAST)
    found: Floats = np.log(safe) - np.log1p(-safe)
    return found


def make_columns(found: ScoredRows, remembered: Remembered) -> Floats:
    """The features of each row: [N, K]."""
    voters = remembered.voters(found.ids, found.signals.answer)
    weights = vote_weights(remembered.cosines(found.vector))
    return columns_of(found, voters, weights, remembered.in_vain())


def no_columns(found: ScoredRows) -> Floats:
    """Features that say nothing: [N, K]."""
    return np.zeros((len(found), len(FEATURES)))


def columns_of(
    found: ScoredRows, voters: Voters, weights: Floats, in_vain: NDArray[np.bool_]
) -> Floats:
    """The features of each row, from what each remembered query counts: [N, K]."""
    signals = found.signals
    columns = np.zeros((len(found), len(FEATURES)))
    for place, name in enumerate(SIGNALS):
        columns[:, place] = np.nan_to_num(getattr(signals, name))
    known, vain = voters.shares(weights), float(weights[in_vain].sum())
    columns[:, 3] = known
    columns[:, 4] = np.maximum(weights.sum() - vain - known, 0.0)
    columns[:, 5] = vain
    return columns
