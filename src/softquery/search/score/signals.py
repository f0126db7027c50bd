"""What the stages of a search say of each row that may answer, as arrays.

N rows, D width of a vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.search.query.retrieval import RecallResult, RowPlace
from softquery.search.query.searched_rows import SearchedRows
from softquery.search.score.index_facts import IndexFacts, answer_of
from softquery.search.storage.entries import ANSWER, ID, MATCHED

Floats = NDArray[np.float64]
LEAST = 1e-7
"""The least probability whose log-odds are told apart from 0."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of the rows that may answer a query.

    Attributes:
        cosine: Of the vectors of the query and each row: [N]; NaN without that stage.
        centred: The same, seen from the centre of the index, because what all rows have in common
            tells none of them apart: [N]; NaN without that stage.
        alike: How near the row is to the others that were found with its answer, on average: [N]; 0
            without such, NaN without that stage.
        words: BM25, as a share of what a row could reach that has all words of the query: [N]; NaN
            without that stage.
        matcher: The log-odds of the matcher: [N]; NaN without that stage.
        answer: A number for each row; rows with the same number have the same answer: [N].
        query_length: Characters of the query.
        query_mean: How near the query is to the rows of the index on average; NaN without vectors.
        chinese: The share of the query's letters that are Chinese.
        facts: What is known of the index.
    """

    cosine: Floats
    centred: Floats
    alike: Floats
    words: Floats
    matcher: Floats
    answer: NDArray[np.int64]
    query_length: int
    query_mean: float
    chinese: float
    facts: IndexFacts

    def __len__(self) -> int:
        return len(self.answer)

    @property
    def voices(self) -> Floats:
        """The logarithm of how many rows have the answer of each, beside the most: [N].

        Of the rows that were found; 0 for those of the answer that most of them have.
        """
        counts = np.bincount(self.answer)[self.answer].astype(np.float64)
        found: Floats = np.log(counts / counts.max(initial=1.0))
        return found

    @property
    def kinship(self) -> Floats:
        """How near each row is to others with its answer, beside the row that is nearest: [N].

        NaN without vectors.
        """
        found: Floats = self.alike - self.alike.max(initial=-1.0)
        return found


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
    cosine, centred, words, matcher = missing, missing, missing.copy(), missing
    alike = missing
    answer = _answers(searched, places)
    query_mean = np.nan
    if recalled.vector is not None and places:
        rows = searched.vectors(places)
        centre = np.array(facts.centre or 0.0, dtype=np.float32) * np.float32(facts.reliance)
        cosine = (rows @ recalled.vector).astype(np.float64)
        centred = unit(rows - centre) @ unit(recalled.vector - centre).astype(np.float64)
        query_mean = float(np.sum(centre * recalled.vector))
        alike = nearness(rows, answer)
    if recalled.words is not None:
        words[:] = recalled.words.of(places) / max(recalled.words.most, 1e-9)
    if probabilities is not None:
        matcher = log_odds([probabilities[place] for place in places])
    return Signals(
        cosine=cosine,
        centred=centred,
        alike=alike,
        words=words,
        matcher=matcher,
        answer=answer,
        query_length=len(text.strip()),
        query_mean=query_mean,
        chinese=chinese_share(text),
        facts=facts,
    )


def nearness(rows: NDArray[np.float32], answer: NDArray[np.int64]) -> Floats:
    """How near rows are to the others with their answer, on average; 0 without such: [N].

    Args:
        rows: Their vectors, of length one: [N, D].
        answer: The number of each row's answer: [N].

    >>> nearness(np.eye(2, dtype=np.float32)[[0, 0, 1]], np.array([0, 0, 1])).tolist()
    [1.0, 1.0, 0.0]
    """
    if len(np.unique(answer)) == len(answer):  # the usual FAQ; the product is spared
        return np.zeros(len(answer))
    is_same = answer[:, None] == answer
    np.fill_diagonal(is_same, False)
    counts = np.maximum(is_same.sum(axis=1), 1)
    found: Floats = ((rows @ rows.T) * is_same).sum(axis=1, dtype=np.float64) / counts
    return found


def log_odds(probabilities: Sequence[float]) -> Floats:
    """Probabilities as log-odds; NaN stays NaN.

    >>> log_odds([0.5, 1.0]).round(1).tolist()
    [0.0, 16.1]
    """
    found = np.clip(np.array(probabilities, dtype=np.float64), LEAST, 1 - LEAST)
    odds: Floats = np.log(found) - np.log1p(-found)
    return odds


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of length one; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-9)
    return found


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
    columns = [searched.texts(places, column) for column in (ID, MATCHED, ANSWER)]
    answers = [answer_of(*texts) for texts in zip(*columns, strict=True)]
    return np.array([known.setdefault(each, len(known)) for each in answers], dtype=np.int64)
