"""Features of the rows that may answer a query: each says something of the row or of its rivals.

Rows with the same answer are no rivals: a margin is that to the best row with another answer.

N rows, A answers, F features.
"""

import numpy as np
from numpy.typing import NDArray

from softquery.search.score.signals import Signals

Floats = NDArray[np.float64]
COSINE_WARMTH, MATCHER_WARMTH = 0.05, 1.0
"""Of the softmax over rows by which each votes for its answer."""
NEAREST = 10
"""Rows that may agree on an answer."""
LEAST_SPREAD = 0.05
"""Added to the standard deviation of cosines, which is 0 in an index of one row."""
RISING = (
    "cosine", "cosine_standard", "cosine_beyond_near", "cosine_margin", "cosine_rank",
    "cosine_votes", "cosine_votes_margin", "words", "words_margin", "words_rank",
    "matcher", "matcher_margin", "matcher_rank", "matcher_votes", "agreement",
)  # fmt: skip
"""Features that can only make an answer likelier."""
FEATURES = (
    *RISING, "nearest_agree", "query_length", "row_length", "length_difference", "num_rows", "near",
    "mean", "spread", "chinese",
)  # fmt: skip
"""The columns of `make_features`."""


def make_features(signals: Signals) -> Floats:
    """The features of each row: [N, F]; NaN where the stage that they need was left out."""
    answers = Answers(signals.answer)
    facts, cosine = signals.facts, signals.cosine
    votes = answers.votes(cosine, COSINE_WARMTH)
    margins = [answers.margins(each) for each in (cosine, signals.words, signals.matcher)]
    query, row = np.log1p(signals.query_length), np.log1p(signals.row_length)
    columns = (
        cosine,
        (cosine - facts.mean) / (facts.spread + LEAST_SPREAD),
        cosine - facts.near,
        margins[0],
        _reciprocal_ranks(cosine),
        votes,
        answers.margins(votes),
        signals.words,
        margins[1],
        _reciprocal_ranks(signals.words),
        signals.matcher,
        margins[2],
        _reciprocal_ranks(signals.matcher),
        answers.votes(signals.matcher, MATCHER_WARMTH),
        _agreement(margins),
        answers.agreement(cosine, NEAREST),
        query,
        row,
        np.abs(query - row),
        np.log1p(facts.num_rows),
        facts.near,
        facts.mean,
        facts.spread,
        signals.chinese,
    )
    found = np.empty((len(signals), len(columns)))
    for place, column in enumerate(columns):
        found[:, place] = column
    return found


class Answers:
    """Rows by their answers.

    Args:
        answer: The number of each row's answer: [N].
    """

    def __init__(self, answer: NDArray[np.int64]) -> None:
        self._answer = answer
        self._count = int(answer.max(initial=-1)) + 1

    def margins(self, values: Floats) -> Floats:
        """How far each row is before the best one with another answer: [N]; NaN without any.

        >>> Answers(np.array([0, 0, 1])).margins(np.array([0.9, 0.8, 0.6])).round(1).tolist()
        [0.3, 0.2, -0.3]
        """
        if self._count < 2 or _is_missing(values):
            return np.full(len(values), np.nan)
        best = np.full(self._count, -np.inf)
        np.maximum.at(best, self._answer, values)
        first = int(best.argmax())
        second = np.max(np.delete(best, first))
        rival: Floats = np.where(self._answer == first, second, best[first])
        return values - rival

    def votes(self, values: Floats, warmth: float) -> Floats:
        """The share of all votes that each row's answer has: [N].

        >>> Answers(np.array([0, 0, 1])).votes(np.zeros(3), 1.0).round(2).tolist()
        [0.67, 0.67, 0.33]
        """
        if _is_missing(values):
            return values
        weights = np.exp((values - values.max()) / warmth)
        sums = np.bincount(self._answer, weights, self._count).astype(np.float64)
        shares: Floats = sums[self._answer] / weights.sum()
        return shares

    def agreement(self, values: Floats, count: int) -> float:
        """The largest share of the first rows that have the same answer."""
        if _is_missing(values):
            return np.nan
        first = self._answer[np.argsort(-values, kind="stable")[:count]]
        return float(np.bincount(first).max() / len(first))


def _is_missing(values: Floats) -> bool:
    """Whether there is nothing to compare: no rows, or a stage that was left out."""
    return not len(values) or bool(np.isnan(values).any())


def _reciprocal_ranks(values: Floats) -> Floats:
    """1 for the best row, 1/2 for the next; equal values share the better rank."""
    if _is_missing(values):
        return values
    ordered = np.sort(-values)
    return 1 / (1 + np.searchsorted(ordered, -values, "left"))


def _agreement(margins: list[Floats]) -> Floats:
    """The share of the stages that put each row's answer first."""
    known = [each >= 0 for each in margins if not _is_missing(each)]
    return np.mean(known, axis=0) if known else np.full(len(margins[0]), np.nan)
