"""What the stages of a search say of each row that may answer, as arrays.

N rows, D width of a vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.query.retrieval import RecallResult, RowPlace
from softquery.search.query.row_owners import owner_ids
from softquery.search.query.searched_rows import SearchedRows
from softquery.search.score.index_facts import IndexFacts
from softquery.search.storage.entries import ANSWER, QUESTION
from softquery.search.storage.searched_texts import answer_key

Floats = NDArray[np.float64]
LEAST = 1e-7
"""The least probability whose log-odds are told apart from 0."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of the rows that may answer a query.

    Attributes:
        cosine: Of the vectors of the query and each row: [N]; NaN without that stage.
        words: BM25, as a share of what a row could reach that has all words of the query: [N]; NaN
            without that stage.
        matcher: The log-odds of the matcher: [N]; NaN without that stage.
        answer: A number for each row; rows with the same number have the same answer: [N].
        row_length: Characters of each stored question: [N].
        query_length: Characters of the query.
        chinese: The share of the query's letters that are Chinese.
        facts: What is known of the index.
    """

    cosine: Floats
    words: Floats
    matcher: Floats
    answer: NDArray[np.int64]
    row_length: Floats
    query_length: int
    chinese: float
    facts: IndexFacts

    def __len__(self) -> int:
        return len(self.answer)


def gather_signals(
    text: str,
    searched: SearchedRows,
    recalled: RecallResult,
    places: Sequence[RowPlace],
    facts: IndexFacts,
    probabilities: Mapping[RowPlace, float] | None = None,
) -> Signals:
    """Put together what the stages of a search have found.

    Args:
        text: The query.
        searched: The rows of the index.
        recalled: What recall found.
        places: The rows that may answer: [N].
        facts: What is known of the index.
        probabilities: What the matcher says of each row; None without it.
    """
    missing = np.full(len(places), np.nan)
    cosine, words, matcher = missing.copy(), missing.copy(), missing
    if recalled.vector is not None:
        cosine = searched.cosines(places, recalled.vector)
    if recalled.words is not None:
        words[:] = recalled.words.of(places) / max(recalled.words.most, 1e-9)
    if probabilities is not None:
        matcher = log_odds([probabilities[place] for place in places])
    lengths = [len(question) for question in searched.texts(places, QUESTION)]
    return Signals(
        cosine=cosine,
        words=words,
        matcher=matcher,
        answer=_answers(searched, places),
        row_length=np.array(lengths, dtype=np.float64),
        query_length=len(text.strip()),
        chinese=chinese_share(text),
        facts=facts,
    )


def log_odds(probabilities: Sequence[float]) -> Floats:
    """Probabilities as log-odds; NaN stays NaN.

    >>> log_odds([0.5, 1.0]).round(1).tolist()
    [0.0, 16.1]
    """
    found = np.clip(np.array(probabilities, dtype=np.float64), LEAST, 1 - LEAST)
    odds: Floats = np.log(found) - np.log1p(-found)
    return odds


def chinese_share(text: str) -> float:
    """The share of a text's letters that are Chinese.

    >>> chinese_share("重置 password"), chinese_share("?")
    (0.2, 0.0)
    """
    letters = [mark for mark in text if mark.isalpha()]
    return sum("\u3400" <= mark <= "\u9fff" for mark in letters) / max(1, len(letters))


def _answers(searched: SearchedRows, places: Sequence[RowPlace]) -> NDArray[np.int64]:
    """A number for each different answer; a row without one stands for itself."""
    known: dict[tuple[str, str], int] = {}
    answers = zip(owner_ids(searched, places), searched.texts(places, ANSWER), strict=True)
    found = [
        known.setdefault(("", answer_key(answer)) if answer else (owner, ""), len(known))
        for owner, answer in answers
    ]
    return np.array(found, dtype=np.int64)
