"""The first cut: which of the recalled rows the matcher compares, judged without it.

Cosine and BM25 predict much of the matcher's log-odds. Rows that are far behind are not compared;
what the matcher would probably say of them stands in for it, because a score also looks at rivals.
`benchmarks/search` has what that costs in answers, and what late interaction over stored states
would add.

N rows.
"""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
COMPARED = 12
"""Rows that are compared at least: two batches of six, one for each of two threads."""
SHARE = 4
"""One in so many of the candidates is compared, if there are many."""
COSINE, WORDS = 7.6, 6.7
"""Log-odds of the matcher per unit of cosine, and of BM25 as a share of what could be reached:
least squares over the 50 rows of 1,000 questions each in English and in Chinese, the mean of both
(`benchmarks/search/first_cut.py`)."""

CAUTION = 1.0
"""Log-odds added to what is predicted: the best of many rows that were not compared is better than
predicted. Without it rivals look weak, and 2 points more queries are answered, some wrongly."""


def num_compared(candidates: int, top_k: int) -> int:
    """How many of the candidates are compared.

    >>> num_compared(50, 5), num_compared(300, 5), num_compared(50, 40)
    (12, 75, 40)
    """
    return max(COMPARED, top_k, candidates // SHARE)


def predicted_log_odds(cosine: Numbers, words: Numbers) -> Numbers:
    """What the matcher's log-odds of each row probably are, but for a constant: [N].

    Args:
        cosine: Of the vectors of the query and each row: [N].
        words: BM25, as a share of what could be reached: [N].
    """
    found: Numbers = COSINE * cosine + WORDS * words
    return found


def filled(known: Numbers, expected: Numbers) -> Numbers:
    """Log-odds with those that are missing (NaN) as they were predicted.

    What was compared says how far the prediction is off for this query.

    >>> filled(np.array([2.0, np.nan, 0.0]), np.array([4.0, 3.0, 3.0])).tolist()
    [2.0, 1.5, 0.0]
    """
    is_missing = np.isnan(known)
    error = float(np.mean((known - expected)[~is_missing]))
    found: Numbers = np.where(is_missing, expected + error + CAUTION, known)
    return found
