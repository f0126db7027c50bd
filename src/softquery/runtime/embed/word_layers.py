"""Words in context: a biLM as a part that any torch-free model can stand on.

    words = WordsInContext.open(read_bundle(resolve("elmo-en")))
    words.layers([["by", "the", "bank"]])[0].shape      # layers, tokens, width
    words.mixed([["by", "the", "bank"]], Mix((0.1, 0.7, 0.2), scale=1.3))[0].shape

Text repeats itself: most words of a page have stood on an earlier one. What the reader of
characters says of a word depends on nothing else, so it is kept, by the word's bytes. New words are
read in the order of their length, short ones together, without the filling that a published reader
goes over as well: where a window holds filling alone, a filter answers as at any other such place,
and one of them is enough for the maximum.

J layers with that of the characters, T tokens, D width: twice that of a direction, P.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats
from softquery.runtime.embed.backend import Characters, ContextState, EmbedBackend
from softquery.runtime.embed.elmo import BiLmSizes, bilm_weights, sizes_of
from softquery.runtime.embed.layer_choice import Mix
from softquery.runtime.embed.onnx import OnnxEmbedBackend
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.graphs import stored_weights
from softquery.runtime.inner.inner_weights import INNER, PREFIX, has_inner
from softquery.text import spell_bytes, spell_sentences
from softquery.text.characters import FILLER

CACHE_BYTES = 64 * 1024 * 1024
"""How much memory the vectors of words may take, unless told otherwise."""
ENTRY_BYTES = 256
"""About what the bookkeeping of one word takes besides its vector."""
WordBatching = Literal["together", "alone"]
"""How words are read: many at a time, or each by itself, to the same bits whenever it is met."""
GROUP = 64
"""Tokens whose characters are read at a time."""
Sentences = Sequence[Sequence[str]]
"""Words as the biLM shall read them: cut, and in the case they are written in."""
WORDS = slice(1, -1)
"""Of what is read between two ends."""


class WordsInContext:
    """Every layer of a biLM at every word of some sentences. Safe from many threads.

    A sentence's vectors depend on its own words and nothing else, unless a state is carried on.

    Args:
        backend: What computes.
        sizes: The biLM's.
        cache_bytes: How much memory the vectors of words by themselves may take; 0 for none.
        batching: How words are read by their characters: many `"together"`, or each `"alone"`, so
            that its vector does not depend, by so much as a rounding, on what was asked before.
    """

    def __init__(
        self,
        backend: EmbedBackend,
        sizes: BiLmSizes,
        *,
        cache_bytes: int = CACHE_BYTES,
        batching: WordBatching = "together",
    ) -> None:
        self.backend = backend
        self.num_layers: int = sizes.num_layers + 1
        self.output_size: int = 2 * sizes.width
        self._reader = WordReader(backend, sizes, cache_bytes, batching)

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        *,
        threads: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        batching: WordBatching = "together",
    ) -> "WordsInContext":
        """The biLM of an exported bundle, on ONNX Runtime.

        Args:
            bundle: Of an ELMo, or of a model with one inside whose graphs were written as well.
            threads: How many batches are computed at a time; None for one a core.
            cache_bytes: How much memory the vectors of words by themselves may take.
            batching: How words are read by their characters.
        """
        sizes = sizes_of(bundle)
        if not bundle.is_exported:
            raise BundleError(f"{bundle.path}: not exported yet; run `softquery export` on it")
        prefix = PREFIX if has_inner(bundle) else ""
        stored = stored_weights(bundle)
        try:
            weights = bilm_weights(dequantised(stored), sizes, prefix)
        except BundleError as error:
            raise BundleError(f"{bundle.weights_path}: {error}") from None
        backend = OnnxEmbedBackend(bundle.path, sizes, weights, threads)
        return cls(backend, sizes, cache_bytes=cache_bytes, batching=batching)

    def layers(self, sentences: Sentences) -> list[Floats]:
        """Every layer, [J, T, D], of each sentence by itself; layer 0 is the word without context.

        Layer 0 stands there twice, so that all layers are equally wide.
        """
        return self._layers(sentences, None, WORDS)[0]

    def layers_with_ends(self, sentences: Sentences) -> list[Floats]:
        """The same at both ends of each sentence, too: [J, T + 2, D]."""
        return self._layers(sentences, None, slice(None))[0]

    def mixed(self, sentences: Sentences, mix: Mix) -> list[Floats]:
        """One vector per word, [T, D], by the weights of a task."""
        return [mix.of(layers) for layers in self.layers(sentences)]

    def carry(
        self, sentences: Sentences, state: ContextState | None = None
    ) -> tuple[list[Floats], ContextState]:
        """As `layers`, but each sentence is the next one of a stream.

        Args:
            sentences: One for each stream.
            state: What the call before returned; None at the beginning of the streams.
        """
        start = self.backend.initial_state(len(sentences)) if state is None else state
        found, after = self._layers(sentences, start, WORDS)
        if after is None:
            raise TypeError(f"the backend {self.backend.name} carries no state")
        return found, after

    def _layers(
        self, sentences: Sentences, state: ContextState | None, part: slice
    ) -> tuple[list[Floats], ContextState | None]:
        vectors = self._reader.read(sentences)
        above, after = self.backend.contextualise(vectors, state)
        return [_stacked(*pair, part) for pair in zip(vectors, above, strict=True)], after


def learnt_mix(bundle: Bundle) -> Mix | None:
    """What a model has learnt to take from the biLM inside it, at its input if there."""
    if not has_inner(bundle):
        return None
    settings = bundle.config.model["config"][INNER]["settings"]
    place = "input" if "input" in settings["places"] else "output"
    name = f"{INNER}.mixes.{place}"
    return Mix.read(bundle.read_weights(), name, normalise=settings["normalise"])


def _stacked(vectors: Floats, above: Floats, part: slice) -> Floats:
    """Layer 0 twice, the other layers over it, at some of the tokens."""
    own = vectors[part]
    twice = np.concatenate([own, own], axis=-1)
    return np.concatenate([twice[None], above[:, part]])


class WordReader:
    """Reads sentences word by word, between their two ends. Safe from many threads.

    Args:
        backend: What reads characters.
        sizes: The biLM's.
        cache_bytes: How much may be kept; 0 reads every token anew, with all its filling.
        batching: How words are read.
    """

    def __init__(
        self,
        backend: EmbedBackend,
        sizes: BiLmSizes,
        cache_bytes: int,
        batching: WordBatching = "together",
    ) -> None:
        self._backend = backend
        self._group = GROUP if batching == "together" else 1
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
