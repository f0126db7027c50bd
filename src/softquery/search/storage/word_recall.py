"""Recall by words: BM25 over the segments of an index.

bm25s computes for every word and row how much the word counts there, including its idf. But each
segment knows its own rows only, and the idf over a segment of one row says nothing. So the idf is
divided out when a segment is written, and that of the whole index is multiplied in by each query.

Text is cut into words as the bundle normalises it. Chinese is looked up by characters and by pairs
of neighbouring characters: these need no dictionary, which might cut the query differently from the
stored question.

N rows, V words.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.index_files import (
    Array,
    FolderWriter,
    bounds,
    check_count,
    check_finite,
    damaged,
    mapped,
    read_json,
)
from softquery.search.storage.spelling import Spellings
from softquery.text import TextConfig, WordTokenizer

Floats = NDArray[np.float32]
VOCABULARY, STARTS, ROWS, SCORES = "words.json", "word_starts.bin", "word_rows.bin", "words.bin"
K1, B = 1.2, 0.75
"""How fast repetition saturates, and how much length counts (Robertson & Zaragoza 2009, 3.4)."""
COMMON_SHARE, COMMON_ROWS = 0.1, 20_000
"""A word in more rows than both tells little and costs most: rarer words are used instead of it."""
USUAL_ROWS = 1000
"""Rows of texts in general that are counted together with those of an index."""
_NO_WORDS: tuple[Array, Array, Array] = (np.empty(0), np.empty(0), np.zeros(1))
_CUT_INTO_WORDS = ("bpe", "wordpiece", "bert", "characters")
"""Units of text pipelines whose texts are looked up by words: sub-words are not what users type."""


def idf(num_rows: int, num_with: float) -> float:
    """How informative a word is, by Lucene's formula, which is never negative.

    >>> round(idf(1000, 1), 2), round(idf(1000, 1000), 4)
    (6.5, 0.0005)
    """
    return math.log(1 + (num_rows - num_with + 0.5) / (num_with + 0.5))


def write_words(writer: FolderWriter, rows: Sequence[Sequence[str]]) -> None:
    """Write which rows contain each word, and how much the word counts there."""
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in row] for row in rows]
    writer.write(VOCABULARY, json.dumps(list(vocabulary), ensure_ascii=False).encode())
    scores, places, starts = _weights(ids, vocabulary) if vocabulary else _NO_WORDS
    writer.write_array(STARTS, np.asarray(starts, dtype=np.int64))
    writer.write_array(ROWS, np.asarray(places, dtype=np.int32))
    writer.write_array(SCORES, np.asarray(scores, dtype=np.float32))


def _weights(ids: list[list[int]], vocabulary: dict[str, int]) -> tuple[Array, Array, Array]:
    ranker = _bm25s().BM25(method="lucene", k1=K1, b=B, backend="numpy", csc_backend="numpy")
    ranker.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    found = ranker.scores
    starts = np.asarray(found["indptr"], dtype=np.int64)
    counts = np.diff(starts)
    own = np.array([idf(len(ids), count) for count in counts.tolist()])
    return found["data"] / np.repeat(own, counts), found["indices"], starts


def _bm25s() -> Any:
    """The package bm25s, which is optional and slow to import.

    If JAX is installed, bm25s imports it to sort scores, and JAX takes most of a GPU's memory.
    Nothing is sorted here, so JAX is hidden during the import.
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


class WordIndex:
    """The words of a stored segment, and the rows that contain each.

    Args:
        folder: The segment.
        num_rows: N.

    Raises:
        InputError: The files do not fit together.
    """

    def __init__(self, folder: Path, num_rows: int) -> None:
        self._num_rows = num_rows
        vocabulary = _read_vocabulary(folder / VOCABULARY)
        self._ids: dict[str, int] = {word: place for place, word in enumerate(vocabulary)}
        self._starts: NDArray[np.int64] = mapped(folder / STARTS, np.int64)
        self._rows: NDArray[np.int32] = mapped(folder / ROWS, np.int32)
        self._scores: Floats = mapped(folder / SCORES, np.float32)
        if not len(self._starts) or self._starts[0] != 0:
            raise damaged(folder / STARTS, "does not begin with 0")
        check_count(folder / VOCABULARY, len(vocabulary), len(self._starts) - 1, "words")
        check_count(folder / SCORES, len(self._scores), len(self._rows), "weights")
        bounds(folder / STARTS, self._starts[1:], len(self._rows))
        if bool(((self._rows < 0) | (self._rows >= num_rows)).any()):
            raise damaged(folder / ROWS, f"names a row beyond {num_rows:,}")
        check_finite(folder / SCORES, self._scores)

    @cached_property
    def spellings(self) -> Spellings:
        """The words, to be looked up by misspelt ones."""
        return Spellings(list(self._ids))

    def num_rows_with(self, word: str) -> int:
        """How many rows contain a word."""
        place = self._ids.get(word)
        return 0 if place is None else int(self._starts[place + 1] - self._starts[place])

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """The BM25 score of every row: [N].

        Args:
            weights: The words of a query, each with its weight.
        """
        total: Floats = np.zeros(self._num_rows, dtype=np.float32)
        for word, weight in weights.items():
            place = self._ids.get(word)
            if place is not None:
                part = slice(int(self._starts[place]), int(self._starts[place + 1]))
                # A row occurs once among the rows of a word, so that nothing is lost by indexing.
                total[self._rows[part]] += np.float32(weight) * self._scores[part]
        return total


def _read_vocabulary(path: Path) -> list[str]:
    try:
        words = read_json(path)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise damaged(path, "expected a list of words")
    return words


def query_weights(
    query: Sequence[str],
    counts: Mapping[str, int],
    num_rows: int,
    usual: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The weight of each word of a query: its idf, times how often the query contains it.

    A few hundred rows are too few to tell how informative a word is. So a thousand more are added,
    which contain each word as often as texts in general do; among a hundred thousand rows they do
    not matter.

    Args:
        query: The words of the query.
        counts: How many rows of the index contain each word.
        num_rows: Rows of the index.
        usual: The share of texts in general that contain each word, if known.

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


def most_weight(
    query: Sequence[str],
    counts: Mapping[str, int],
    num_rows: int,
    usual: Mapping[str, float] | None = None,
) -> float:
    """What the words of a query weigh together, those that no row contains included.

    BM25 comes near it where a row has all of them, and each several times.

    Args:
        query: The words of the query.
        counts: How many rows of the index contain each word.
        num_rows: Rows of the index.
        usual: The share of texts in general that contain each word, if known.

    >>> round(most_weight(["the", "refund", "zloty"], {"the": 60, "refund": 8, "zloty": 0}, 100), 1)
    8.3
    """
    added = 0 if usual is None else USUAL_ROWS
    common = usual or {}
    return sum(
        idf(num_rows + added, counts[word] + added * common.get(word, 0.0)) for word in query
    )


class SearchTokenizer:
    """Cuts texts into the words that are worth looking up, normalised as the bundle does.

    Args:
        config: The text pipeline of the bundle.

    >>> SearchTokenizer(TextConfig()).words("How do I reset passwords?")
    ['how', 'do', 'i', 'reset', 'password']
    >>> SearchTokenizer(TextConfig()).words("怎么退款")
    ['怎', '么', '退', '款', '怎么', '么退', '退款']
    """

    def __init__(self, config: TextConfig) -> None:
        unit = "words" if config.unit in _CUT_INTO_WORDS else config.unit
        self._cutter = WordTokenizer(replace(config, unit=unit, lowercase=True))

    def words(self, text: str) -> list[str]:
        """Words in order, then pairs of Chinese characters; punctuation is left out."""
        tokens = self._cutter.words(text)
        words = [_stem(token) for token in tokens if any(map(str.isalnum, token))]
        pairs = [a + b for a, b in pairwise(tokens) if _is_character(a) and _is_character(b)]
        return words + pairs


def _is_character(token: str) -> bool:
    return len(token) == 1 and "\u3040" <= token <= "\u9fff"


def _stem(word: str) -> str:
    """An English word without its plural ending (Harman 1991, the S stemmer).

    >>> [_stem(word) for word in ("policies", "passwords", "address", "status", "axes")]
    ['policy', 'password', 'address', 'status', 'axe']
    """
    if len(word) < 4 or not word.endswith("s") or not word.isascii():
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word if word.endswith(("us", "ss", "aes", "ees", "oes")) else word[:-1]
