"""Vectors of rows that know the answer, too: users say at times what stands in the answer.

The vector of a row is that of its question and a share of that of its answer, brought back to
length one. A search is as fast as without, and nothing more is stored. `benchmarks/search` has what
it gains.

N rows, D width of a vector.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.vectors.text_vectors import TextVectors
from softquery.search.storage.entries import ANSWER, MATCHED
from softquery.search.storage.searched_texts import SEPARATOR, answer_key, read_text

Floats = NDArray[np.float32]
SHARE = 0.3
"""How much an answer counts beside its question."""
LONGEST = 1000
"""Characters of an answer that are looked at; an encoder reads about 64 words."""
LEAST_CHINESE = 4
"""Chinese characters of an answer that says something."""


class AnswerVectors:
    """Adds a share of the answers' vectors to those of the questions.

    Args:
        vectors: Gives each text one vector.
        share: How much an answer counts; 0 leaves all vectors as they are.
    """

    def __init__(self, vectors: TextVectors, share: float) -> None:
        self._vectors, self._share = vectors, share
        self._known: dict[str, Floats] = {}

    def added(self, rows: Sequence[Mapping[str, str]], own: Floats) -> Floats:
        """The vectors of rows with their answers: [N, D].

        Args:
            rows: Rows as they are stored: a further text comes after its row, which has the whole
                of an answer that is too long to be repeated.
            own: The vectors of their questions: [N, D].
        """
        if not self._share:
            return own
        keys = [_key(row) for row in rows]
        texts = {
            answer_key(row[ANSWER]): row[ANSWER][:LONGEST]
            for row, key in zip(rows, keys, strict=True)
            if key and not row[ANSWER].startswith(SEPARATOR) and key not in self._known
        }
        if texts:
            found = self._vectors.of(list(texts.values()), [])
            self._known.update(zip(texts, found, strict=True))
        with_answer: Floats = own.copy()
        for place, key in enumerate(keys):
            if key in self._known:
                vector = own[place] + self._share * self._known[key]
                with_answer[place] = vector / max(float(np.linalg.norm(vector)), 1e-9)
        last = keys[-1] if keys else ""
        self._known = {last: self._known[last]} if last in self._known else {}
        return with_answer


def _key(row: Mapping[str, str]) -> str:
    """What tells the answer of a row from others; empty if it counts for nothing."""
    answer = row.get(ANSWER, "")
    found = read_text(row.get(MATCHED, ""), "")
    if found is not None and found.column == ANSWER:
        return ""
    return answer_key(answer) if answer.startswith(SEPARATOR) or says_something(answer) else ""


def says_something(answer: str) -> bool:
    """Whether an answer has several words: a number, an address or the name of an intent has one.

    >>> [says_something(each) for each in ("By card.", "book_flight", "17", "在订单页申请。")]
    [True, False, False, True]
    """
    chinese = sum("\u3400" <= mark <= "\u9fff" for mark in answer[:LONGEST])
    words = [word for word in answer[:LONGEST].split() if any(map(str.isalpha, word))]
    return len(words) > 1 or chinese >= LEAST_CHINESE
