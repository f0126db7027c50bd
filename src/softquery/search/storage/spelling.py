"""Misspelt words of a query: the stored word that is nearest to one that nobody knows.

A word may be misspelt if no row has it. A stored word is near enough if one letter was left out,
added, changed or swapped with its neighbour; two in words of ten letters or more.

V words.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_LETTERS, LONG = 4, 10
MOST_LETTERS = 40
"""A longer word is none that could be misspelt."""


class Spellings:
    """Stored words, to be looked up by words like them.

    Args:
        words: All of them.

    >>> words = Spellings(["password", "receive", "receipt", "pay"])
    >>> words.nearest("pasword"), words.nearest("recieve"), words.nearest("passport")
    (('password', 1), ('receive', 1), None)
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word for word in words if is_spelt(word)]
        self._lengths = np.array([len(word) for word in self._words], dtype=np.int16)
        self._letters = np.array([_letters(word) for word in self._words], dtype=np.uint64)

    def nearest(self, word: str) -> tuple[str, int] | None:
        """The stored word with the fewest mistakes, and how many; None if none is near enough."""
        if not is_spelt(word) or not self._words:
            return None
        most = 2 if len(word) >= LONG else 1
        places = np.flatnonzero(np.abs(self._lengths - len(word)) <= most)
        differing = _num_bits(self._letters[places] ^ np.uint64(_letters(word)))
        best: tuple[int, int] | None = None
        for place in places[differing <= 2 * most].tolist():
            count = num_mistakes(word, self._words[place], most)
            if count <= most and (best is None or count < best[0]):
                best = count, place
        return None if best is None else (self._words[best[1]], best[0])


def is_spelt(word: str) -> bool:
    """Whether a word has letters that one can mistype, which Chinese characters are not."""
    return LEAST_LETTERS <= len(word) <= MOST_LETTERS and word.isalpha() and max(word) < "\u2e80"


def num_mistakes(first: str, second: str, most: int) -> int:
    """Letters left out, added, changed or swapped with a neighbour (Damerau 1964).

    Args:
        first: A word.
        second: Another.
        most: More than that need not be told apart.

    >>> num_mistakes("recieve", "receive", 2), num_mistakes("abcd", "wxyz", 1)
    (1, 2)
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, start=1):
        older, before, row = before, row, [at]
        for place, other in enumerate(second, start=1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other))
            is_swap = letter == second[place - 2] and other == first[at - 2]
            if is_swap and at > 1 and place > 1:
                cost = min(cost, older[place - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _letters(word: str) -> int:
    """Which letters a word has, as bits."""
    found = 0
    for letter in word:
        found |= 1 << (ord(letter) % 64)
    return found


def _num_bits(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many bits of each number are set."""
    parts = values.view(np.uint8).reshape(len(values), 8)
    found: NDArray[np.int64] = np.unpackbits(parts, axis=1).sum(axis=1, dtype=np.int64)
    return found
