"""BM25 in a store: what is kept of a row's words, and what is computed from it.

A store recalls rows by a sparse vector of the weights that BM25 gives their words, but for idf. Its
components are numbered by a hash, so that writers need to agree on nothing. The weights assume a
usual length, because the mean length of all rows changes with every row. That only decides what is
recalled; the score itself is computed from counts and today's statistics.
"""

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np

from softquery.search.storage.word_recall import K1, B
from softquery.search.stores.row_store import RowStatistics

COMPONENTS = 1_000_000_000
"""Components of a sparse vector; the most that pgvector allows."""


LONGEST_WORD = 64
"""Characters of a word that is kept as it is."""


def kept_word(word: str) -> str:
    """A word as stores keep it: long ones are cut and told apart by a hash.

    >>> kept_word("refund"), len(kept_word("a" * 5000))
    ('refund', 64)
    """
    if len(word) <= LONGEST_WORD:
        return word
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return word[: LONGEST_WORD - len(digest)] + digest


def component(word: str) -> int:
    """The number of a word's component, from 0.

    >>> component("refund")
    581999577
    """
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % COMPONENTS


def saturated(count: int, length: int, mean_length: float) -> float:
    """How much a word counts in a row, but for idf (Robertson & Zaragoza 2009, 3.4).

    Args:
        count: How often the row has it.
        length: Words of the row.
        mean_length: Words of a row on average.
    """
    return count / (count + K1 * (1 - B + B * length / mean_length))


def sparse_weights(words: Mapping[str, int], usual_length: float) -> dict[int, float]:
    """The sparse vector of a row: the weight of each word by its component."""
    length = sum(words.values())
    found: dict[int, float] = {}
    for word, count in words.items():
        place = component(word)
        found[place] = found.get(place, 0.0) + saturated(count, length, usual_length)
    return found


def sparse_query(weights: Mapping[str, float]) -> dict[int, float]:
    """The sparse vector of a query: the weight of each of its words by its component."""
    found: dict[int, float] = {}
    for word, weight in weights.items():
        found[component(word)] = found.get(component(word), 0.0) + weight
    return found


def bm25(words: Mapping[str, int], weights: Mapping[str, float], known: RowStatistics) -> float:
    """The score of a row, in the precision in which folders store it.

    Args:
        words: How often the row has each of its words.
        weights: Those of the query's words, see `query_weights`.
        known: Statistics of all rows.
    """
    length, mean = sum(words.values()), known.num_words / max(1, known.num_rows)
    total = np.float32(0)
    for word, weight in weights.items():
        if word in words:
            part = np.float32(saturated(words[word], length, mean))
            total += np.float32(weight) * part
    return float(total)
