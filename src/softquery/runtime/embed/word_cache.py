"""Words to vectors by their characters alone, each kind of word computed once while it is kept.

Text repeats itself: most words of a page have stood on an earlier one. What the reader of
characters says of a word depends on nothing else, so it is kept, by the word's bytes. New words are
read in the order of their length, short ones together, without the filling that a published reader
goes over as well: where a window holds filling alone, a filter answers as at any other such place,
and one of them is enough for the maximum.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from softquery.runtime.embed.backend import Characters, EmbedBackend
from softquery.runtime.embed.bilm_sizes import BiLmSizes
from softquery.runtime.match.backend import Floats
from softquery.text import spell_bytes, spell_sentences
from softquery.text.characters import FILLER

CACHE_BYTES = 64 * 1024 * 1024
"""How much memory the vectors of words may take, unless told otherwise."""
ENTRY_BYTES = 256
"""About what the bookkeeping of one word takes besides its vector."""
Company = Literal["together", "alone"]
"""How words are read: many at a time, or each by itself, to the same bits whenever it is met."""
GROUP = 64
"""Tokens whose characters are read at a time."""


class WordReader:
    """Reads sentences word by word, between their two ends. Safe from many threads.

    Args:
        backend: What reads characters.
        sizes: The biLM's.
        cache_bytes: How much may be kept; 0 reads every token anew, with all its filling.
        company: In which words are read.
    """

    def __init__(
        self,
        backend: EmbedBackend,
        sizes: BiLmSizes,
        cache_bytes: int,
        company: Company = "together",
    ) -> None:
        self._backend = backend
        self._group = GROUP if company == "together" else 1
        self._max_characters = sizes.max_characters
        self._widest = max(sizes.widths)
        self._width = sizes.width
        self._cache = VectorCache(self._width, cache_bytes) if cache_bytes else None
        ends, _ = spell_sentences([[]], self._max_characters)
        (self._ends,) = backend.read([ends[0]])  # [2, P]

    def read(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Vectors [T + 2, P] of sentences, those of their two ends among them."""
        longest = self._max_characters - 2
        keys = [
            [word.encode("utf-8", "ignore")[:longest] for word in sentence]
            for sentence in sentences
        ]
        every = [key for sentence in keys for key in sentence]
        if self._cache is None:
            table = self._computed(spell_bytes(every, self._max_characters))
            places = np.arange(len(every))
        else:
            kinds = {key: place for place, key in enumerate(dict.fromkeys(every))}
            table = self._looked_up(self._cache, list(kinds))
            places = np.fromiter(map(kinds.__getitem__, every), np.intp, len(every))
        cuts = np.cumsum([len(sentence) for sentence in keys])[:-1]
        first, last = self._ends[:1], self._ends[1:]
        return [np.concatenate([first, table[part], last]) for part in np.split(places, cuts)][
            : len(sentences)
        ]

    def _looked_up(self, cache: "VectorCache", kinds: Sequence[bytes]) -> Floats:
        table = np.empty((len(kinds), self._width), np.float32)
        missing = sorted(cache.take(kinds, table), key=lambda place: len(kinds[place]))
        new = [kinds[place] for place in missing]
        if new:
            table[missing] = self._computed(spell_bytes(new, self._max_characters))
            cache.put(zip(new, table[missing], strict=True))
        return table

    def _computed(self, characters: Characters) -> Floats:
        starts = range(0, len(characters), self._group)
        groups = [characters[start : start + self._group] for start in starts]
        if self._cache is not None:
            groups = [self._without_filling(group) for group in groups]
        empty = np.empty((0, self._width), np.float32)
        return np.concatenate([empty, *self._backend.read(groups)])

    def _without_filling(self, characters: Characters) -> Characters:
        """As many columns as the longest token, and one window of filling, take."""
        longest = int(np.sum(characters != FILLER, axis=1).max())
        return characters[:, : longest + self._widest]


class VectorCache:
    """The vectors of words that were met last. Safe from many threads.

    Args:
        width: Of a vector.
        most_bytes: How much memory it may take, bookkeeping included.
    """

    def __init__(self, width: int, most_bytes: int) -> None:
        self.capacity = most_bytes // (4 * width + ENTRY_BYTES)
        # The system gives memory when it is written to, not now.
        self._vectors = np.empty((self.capacity, width), np.float32)
        self._rows: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, words: Sequence[bytes], into: Floats) -> list[int]:
        """Copy what is here into the rows of an array; returns the places of the others."""
        known: list[int] = []
        rows: list[int] = []
        missing: list[int] = []
        with self._lock:
            for place, word in enumerate(words):
                row = self._rows.get(word)
                if row is None:
                    missing.append(place)
                else:
                    self._rows.move_to_end(word)
                    known.append(place)
                    rows.append(row)
            into[known] = self._vectors[rows]
        return missing

    def put(self, vectors: Iterable[tuple[bytes, Floats]]) -> None:
        """Keep vectors, and let go of those unused for longest."""
        with self._lock:
            for word, vector in vectors:
                if word in self._rows or not self.capacity:
                    continue
                full = len(self._rows) == self.capacity
                row = self._rows.popitem(last=False)[1] if full else len(self._rows)
                self._vectors[row] = vector
                self._rows[word] = row

    def __len__(self) -> int:
        return len(self._rows)
