"""Recall by words: BM25 over the segments of an index.

bm25s computes for every word and row how much the word's presence counts, idf included. Each
segment would know its own idf only, and a segment of one row none to speak of. So the segment's idf
is taken out again when it is written, and that of the whole index is put in when a query comes.

N rows, V words.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.files import Array, FolderWriter, damaged, mapped

Floats = NDArray[np.float32]
VOCABULARY, STARTS, ROWS, SCORES = "words.json", "word_starts.bin", "word_rows.bin", "words.bin"
K1, B = 1.2, 0.75
"""How fast repetition saturates, and how much length counts (Robertson & Zaragoza 2009, 3.4)."""
COMMON_SHARE, COMMON_ROWS = 0.1, 20_000
"""A word in more rows than both says little and costs most: with others there, it is left out."""


USUAL_ROWS = 1000
"""So many rows of other texts are counted with those of an index."""
_NO_WORDS: tuple[Array, Array, Array] = (np.empty(0), np.empty(0), np.zeros(1))


def idf(num_rows: int, num_with: float) -> float:
    """How much a word tells, as Lucene has it: never negative.

    >>> round(idf(1000, 1), 2), round(idf(1000, 1000), 4)
    (6.5, 0.0005)
    """
    return math.log(1 + (num_rows - num_with + 0.5) / (num_with + 0.5))


def write_words(writer: FolderWriter, rows: Sequence[Sequence[str]]) -> None:
    """Write which words stand in which rows, and what each counts there."""
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in row] for row in rows]
    writer.write(VOCABULARY, json.dumps(list(vocabulary), ensure_ascii=False).encode())
    scores, places, starts = _weighed(ids, vocabulary) if vocabulary else _NO_WORDS
    writer.write_array(STARTS, np.asarray(starts, dtype=np.int64))
    writer.write_array(ROWS, np.asarray(places, dtype=np.int32))
    writer.write_array(SCORES, np.asarray(scores, dtype=np.float32))


def _weighed(ids: list[list[int]], vocabulary: dict[str, int]) -> tuple[Array, Array, Array]:
    ranker = _bm25s().BM25(method="lucene", k1=K1, b=B, backend="numpy", csc_backend="numpy")
    ranker.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    found = ranker.scores
    starts = np.asarray(found["indptr"], dtype=np.int64)
    counts = np.diff(starts)
    own = np.array([idf(len(ids), count) for count in counts.tolist()])
    return found["data"] / np.repeat(own, counts), found["indices"], starts


def _bm25s() -> Any:
    """The package, slow to import and optional.

    Where there is JAX it starts that, which takes most of a GPU's memory, to sort scores; they are
    not sorted here.
    """
    hidden = "jax" not in sys.modules
    if hidden:
        sys.modules["jax"] = None  # type: ignore[assignment]
    try:
        import bm25s
    finally:
        if hidden:
            del sys.modules["jax"]
    return bm25s


class Words:
    """The words of a segment that was written.

    Args:
        folder: The segment.
    """

    def __init__(self, folder: Path) -> None:
        try:
            vocabulary = json.loads((folder / VOCABULARY).read_bytes())
            self._ids: dict[str, int] = {word: place for place, word in enumerate(vocabulary)}
        except (ValueError, TypeError):
            raise damaged(folder / VOCABULARY, "expected a list of words") from None
        self._starts: NDArray[np.int64] = mapped(folder / STARTS, np.int64)
        self._rows: NDArray[np.int32] = mapped(folder / ROWS, np.int32)
        self._scores: Floats = mapped(folder / SCORES, np.float32)

    def num_rows_with(self, word: str) -> int:
        """In how many rows a word stands."""
        place = self._ids.get(word)
        return 0 if place is None else int(self._starts[place + 1] - self._starts[place])

    def scores(self, weights: Mapping[str, float], num_rows: int) -> Floats:
        """What every row scores: [N].

        Args:
            weights: The words of a query with what each counts.
            num_rows: N.
        """
        total: Floats = np.zeros(num_rows, dtype=np.float32)
        for word, weight in weights.items():
            place = self._ids.get(word)
            if place is not None:
                part = slice(int(self._starts[place]), int(self._starts[place + 1]))
                # A row stands once among the rows of a word, so that nothing is added twice.
                total[self._rows[part]] += np.float32(weight) * self._scores[part]
        return total


def query_weights(
    query: Sequence[str],
    counts: Mapping[str, int],
    num_rows: int,
    usual: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """What each word of a query counts: its idf, as often as it stands there.

    A few hundred rows say little about how much a word tells. So they are counted together with
    a thousand more that have each word as often as texts do elsewhere; among a hundred thousand
    rows those do not matter.

    Args:
        query: Its words.
        counts: In how many rows of the index each one stands.
        num_rows: Rows of the index.
        usual: The share of other texts in which each one stands, where that is known.

    >>> list(query_weights(["the", "refund"], {"the": 60_000, "refund": 8}, 100_000))
    ['refund']
    >>> list(query_weights(["the"], {"the": 60_000}, 100_000))
    ['the']
    """
    known = [word for word in query if counts[word]]
    limit = max(COMMON_ROWS, COMMON_SHARE * num_rows)
    telling = [word for word in known if counts[word] <= limit]
    added = 0 if usual is None else USUAL_ROWS
    weights: dict[str, float] = {}
    for word in telling or known:
        num_with = counts[word] + added * (usual or {}).get(word, 0.0)
        weights[word] = weights.get(word, 0.0) + idf(num_rows + added, num_with)
    return weights
