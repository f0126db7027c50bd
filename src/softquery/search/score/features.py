"""What the score of a row is made of: evidence for each row, and the circumstances of the search.

Rows with the same answer are no rivals: their evidence adds up.

N rows, A answers.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from softquery.search.score.index_facts import FEW
from softquery.search.score.signals import Signals

Floats = NDArray[np.float64]
EVIDENCE = ("cosine", "centred", "words", "matcher", "kinship", "voices")
"""For each row; a stage that is left out says nothing. The last two are beside the row for which
they are highest: they order rows, and raise no score of a query that none of them answers."""
AMONG_PHRASINGS = ("kinship", "voices")
"""What is evidence only where answers have several rows."""
CIRCUMSTANCES = (
    "query_mean", "query_length", "rows", "near", "mean", "spread", "same_answer", "chinese",
)  # fmt: skip
"""The same for all rows of a search."""
USUAL = {"near": 0.52, "mean": 0.27, "spread": 0.13, "same_answer": 0.17, "query_mean": 0.25}
"""What indexes of 12 to 30 rows had on average, of those that the score was fitted to: stands for
what a smaller one cannot tell of itself."""
MOST_ROWS = 4000
"""Rows of the largest index that the score was fitted to; `FEW` has those of the smallest."""
SUMS = ("level", "share")
"""What the evidence comes to: for the row and its answer, and beside that for all rivals."""
MOST_SHARE = 9.0
"""Log-odds beyond which a share of the evidence tells no more."""


def evidence_of(signals: Signals, weights: Mapping[str, float]) -> Floats:
    """What is known for each row, weighed and summed: [N]."""
    found = np.zeros(len(signals))
    for name, weight in weights.items():
        found += weight * getattr(signals, name)
    return found


def circumstances_of(signals: Signals) -> dict[str, float]:
    """What is known of the query and the index."""
    facts = signals.facts
    usual = {name: (1 - facts.reliance) * value for name, value in USUAL.items()}
    return {
        "query_mean": usual["query_mean"] + signals.query_mean,
        "query_length": float(np.log1p(signals.query_length)),
        "rows": float(np.log(np.clip(facts.num_rows, FEW, MOST_ROWS))),
        **{
            name: usual[name] + facts.reliance * getattr(facts, name)
            for name in ("near", "mean", "spread", "same_answer")
        },
        "chinese": signals.chinese,
    }


def levels_of(own: Floats, answer: NDArray[np.int64]) -> Floats:
    """The evidence for each row, with that for the other rows of its answer: [N].

    The first row of an answer has all of it; each other one as much less as it is behind that.

    >>> levels_of(np.array([2.0, 2.0, 1.0]), np.array([0, 0, 1])).round(2).tolist()
    [2.69, 2.69, 1.0]
    """
    top = own.max()
    best = np.full(int(answer.max()) + 1, -np.inf)
    np.maximum.at(best, answer, own)
    sums = np.bincount(answer, np.exp(own - top))
    levels: Floats = own - best[answer] + np.log(np.maximum(sums, 1e-300))[answer] + top
    return levels


def shares_of(levels: Floats, answer: NDArray[np.int64], none: float) -> Floats:
    """The log-odds of each row beside all other answers, and beside none: [N].

    Args:
        levels: See `levels_of`: [N].
        answer: The number of each row's answer: [N].
        none: The evidence that no row answers.

    >>> shares_of(np.array([1.0, 1.0]), np.array([0, 1]), -50.0).round(2).tolist()
    [0.0, 0.0]
    >>> shares_of(np.array([1.0, 1.0]), np.array([0, 0]), 0.0).round(2).tolist()
    [1.0, 1.0]
    """
    top = max(float(levels.max()), none)
    best = np.full(int(answer.max()) + 1, -np.inf)
    np.maximum.at(best, answer, levels)
    masses = np.exp(best - top)
    others = masses.sum() - masses + np.exp(none - top)
    rivals = np.log(np.maximum(others, 1e-300))[answer] + top
    shares: Floats = np.clip(levels - rivals, -MOST_SHARE, MOST_SHARE)
    return shares
