"""An inner embedder in torch: built as a bundle's config describes it, and given words to read.

What is read must not depend, by so much as a rounding, on what was asked before, so that bulk runs
go on to the same bytes. So the words of the vocabulary are read once, when they are first met, in
blocks that are always the same; others are read with those of their call.

U distinct words, P width of a biLM's reading.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softquery.bundle import Bundle
from softquery.data import WordIds, build_lexicon
from softquery.models import Elmo
from softquery.nn import ElmoEmbedder, ElmoSettings, Lexicon, TokenEmbedder
from softquery.runtime.graph_weights import Array, Weights
from softquery.runtime.inner.inner_weights import PREFIX, open_base
from softquery.text import TextPipeline, reserved_tokens, spell_vocabulary, visible_form

BLOCK = 64
"""Entries of the vocabulary that are read together."""
NONE = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class InnerEmbedder:
    """An embedder as plain values: what it is, how it is used, and how many words it can spell."""

    name: str
    config: dict[str, Any]
    settings: dict[str, Any]
    num_types: int
    """Words of a closed vocabulary that it spells; none where batches bring a lexicon."""
    word_size: int
    ends: str
    num_words: int | None = None
    """Rows of the table of words; as many as there are types by default."""

    def build(
        self,
        build_bilm: Callable[[str, dict[str, Any]], Elmo],
        build_settings: Callable[[dict[str, Any]], ElmoSettings],
    ) -> ElmoEmbedder:
        """The brick with random weights; its words are spelt by what is then loaded into it."""
        bilm = build_bilm(self.name, self.config)
        longest = bilm.config.characters.max_characters
        return build_settings(self.settings).embedder(
            bilm,
            torch.zeros(self.num_types, longest, dtype=torch.int16),
            word_size=self.word_size,
            ends=self.ends,  # type: ignore[arg-type]
            num_words=self.num_words,
        )


def describe(embedder: ElmoEmbedder) -> dict[str, Any]:
    """What a bundle's config says of an inner biLM; its softmax stays behind."""
    bilm, words = embedder.bilm, embedder.words
    if not isinstance(bilm, Elmo) or embedder.settings is None:
        raise TypeError("only an embedder that settings have made can be described")
    inner = InnerEmbedder(
        name="elmo",
        config={**asdict(bilm.config), "softmax": {"kind": "none"}},
        settings={**asdict(embedder.settings), "bundle": Path(embedder.settings.bundle).name},
        num_types=len(embedder.characters),
        word_size=0 if words is None else words.output_size,
        ends=embedder.ends,
        num_words=None if words is None else words.table.num_embeddings,
    )
    return asdict(inner)


def with_base(bundle: Bundle, weights: Weights) -> dict[str, Array]:
    """A head's weights, and those of the biLM that it was trained on, which it does not hold."""
    found = open_base(bundle)
    if found is None:
        return dict(weights)
    return {**weights, **{f"{PREFIX}{name}": values for name, values in found[1].items()}}


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
        """What numbers the words of one call."""
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
