"""Words for a model on torch: a lexicon for each call, with what a biLM reads in them.

What is read must not depend, by so much as a rounding, on what was asked before, so that bulk runs
go on to the same bytes. So the words of the vocabulary are read once, when they are first met, in
blocks that are always the same; others are read with those of their call.

U distinct words, P width of a biLM's reading.
"""

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from softquery.data import WordIds, build_lexicon
from softquery.nn import ElmoEmbedder, Lexicon, TokenEmbedder
from softquery.text import TextPipeline, reserved_tokens, spell_vocabulary, visible_form

BLOCK = 64
"""Entries of the vocabulary that are read together."""
NONE = -1


class Speller:
    """From words to their lexicon. Safe from many threads.

    Args:
        embedder: Of the model; a biLM inside reads the words beforehand.
        pipeline: Knows which words the model's table has.
        max_characters: Symbols by which a word is spelt.
        device: Where the model is.
    """

    def __init__(
        self,
        embedder: TokenEmbedder,
        pipeline: TextPipeline,
        max_characters: int,
        device: torch.device,
    ) -> None:
        self.pipeline, self.max_characters, self.device = pipeline, max_characters, device
        self._embedder = embedder if isinstance(embedder, ElmoEmbedder) else None
        self._num_reserved = len(reserved_tokens("words"))
        self._entries = [] if self._embedder is None else pipeline.vocabulary()
        self._blocks: dict[int, Tensor] = {}
        self._lock = threading.Lock()

    def numbers(self) -> WordIds:
        """To number the words of one call."""
        return WordIds(self.pipeline)

    @torch.inference_mode()
    def lexicon(self, words: Sequence[str]) -> Lexicon:
        """The lexicon of distinct words, on the device."""
        made = build_lexicon(words, self.pipeline, max_characters=self.max_characters)
        made = made.to(self.device)
        if self._embedder is None:
            return made
        return made._replace(vectors=self._read(words, made.characters, self._embedder))

    def _read(self, words: Sequence[str], characters: Tensor, embedder: ElmoEmbedder) -> Tensor:
        """Vectors [U, P]."""
        entries = [*range(self._num_reserved), *map(self._entry, words)]
        others = [place for place, entry in enumerate(entries) if entry == NONE]
        alone = iter(embedder.read_words(characters[others]) if others else ())
        return torch.stack(
            [next(alone) if entry == NONE else self._kept(entry, embedder) for entry in entries]
        )

    def _entry(self, word: str) -> int:
        """The entry of the vocabulary that is spelt as the word is."""
        found = self.pipeline.token_id(visible_form(word, self.pipeline.config))
        return NONE if found is None or found < self._num_reserved else found

    def _kept(self, entry: int, embedder: ElmoEmbedder) -> Tensor:
        """The vector of an entry, read with its block where that has not been read yet."""
        number, place = divmod(entry, BLOCK)
        with self._lock:
            if number not in self._blocks:
                start = number * BLOCK
                # The reserved ones, which are spelt in a way of their own, stand before each block.
                some = [*self._entries[: self._num_reserved], *self._entries[start : start + BLOCK]]
                spelt = torch.from_numpy(spell_vocabulary(some, self.max_characters))
                read = embedder.read_words(spelt.to(self.device))
                own = read[self._num_reserved :].clone()
                if number == 0:
                    own[: self._num_reserved] = read[: self._num_reserved]
                self._blocks[number] = own
            return self._blocks[number][place]
