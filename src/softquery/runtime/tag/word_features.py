"""The words of sentences as a tagger's graphs take them: ids, and features of their spelling.

Needs no torch. U distinct words, C characters of each, F features.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.text import TextPipeline, spell_tokens, visible_form

Floats = NDArray[np.float32]
KEPT = 1 << 15
"""Words of which the features are kept."""


class ReadWord(NamedTuple):
    """One word: its row in the table of words, and what its characters say, where they are read."""

    word: int
    spelt: Floats


class WordFeatures:
    """Reads every word once, and keeps what it read. Safe from many threads.

    Args:
        pipeline: Knows which words the model's table has.
        read: From characters [U, C] to features [U, F]; None where characters are not read.
        max_characters: C.
    """

    def __init__(
        self,
        pipeline: TextPipeline,
        read: Callable[[NDArray[np.int64]], Floats] | None,
        max_characters: int,
    ) -> None:
        self.pipeline, self.max_characters = pipeline, max_characters
        self._read = read
        self._kept: dict[str, ReadWord] = {}
        self._lock = threading.Lock()

    def of(self, words: Iterable[str]) -> dict[str, ReadWord]:
        """What there is to know of these words."""
        with self._lock:
            if len(self._kept) > KEPT:
                self._kept.clear()
            asked = dict.fromkeys(words)
            new = [word for word in asked if word not in self._kept]
            if new:
                ids = self.pipeline.look_up(new)
                self._kept.update(zip(new, map(ReadWord, ids, self._spelt(new)), strict=True))
            return {word: self._kept[word] for word in asked}

    def _spelt(self, words: Sequence[str]) -> Floats:
        if self._read is None:
            return np.empty((len(words), 0), dtype=np.float32)
        seen = [visible_form(word, self.pipeline.config) for word in words]
        return self._read(spell_tokens(seen, self.max_characters).astype(np.int64))
