"""What a shipped model says of words in context, for a head that tags them. Needs no torch.

An ELMo gives its layers. A matcher gives what its first LSTM says, and the vectors of the token and
of its neighbours in its table; where a word has several tokens, their mean.

B sentences, T words, D width.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, length_batches
from softquery.runtime.embed.word_layers import WordsInContext
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.match.model import load_matcher

TABLE = "embedder.table.weight"
BATCH, TOKENS = 32, 2048
"""The most sentences, and the most tokens, that are read at a time."""
Words = Sequence[Sequence[str]]


class WordStates(Protocol):
    """What gives words their vectors, each sentence by itself."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the parts that a vector is made of."""

    def of(self, sentences: Words) -> list[Floats]:
        """[T, D] for each sentence."""


def open_states(base: Bundle, threads: int | None = None) -> WordStates:
    """What reads words, by its kind.

    Raises:
        BundleError: It reads no words in context.
    """
    kind, model = base.config.kind, base.config.model["name"]
    if kind == "embedder" and model == "elmo":
        return ElmoStates(WordsInContext.open(base, threads=threads))
    if kind == "matcher" and model == "esim" and TABLE in base.read_weights():
        return MatcherStates(base, threads)
    raise BundleError(
        f"{base.path}: a {kind} ({model}) gives words no vectors to tag by; expected an ELMo, or "
        "an ESIM matcher without one inside"
    )


class ElmoStates:
    """All layers of an ELMo side by side."""

    def __init__(self, context: WordsInContext) -> None:
        self._context = context
        self.widths = (context.output_size,) * context.num_layers

    def of(self, sentences: Words) -> list[Floats]:
        """[T, D] for each sentence."""
        found = self._context.layers(sentences)
        return [np.concatenate(list(layers), axis=1, dtype=np.float32) for layers in found]


class MatcherStates:
    """What the encoder of an ESIM says, and its table of words."""

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        matcher = load_matcher(bundle, backend="onnx", threads=threads)
        self._pipeline, self._backend = matcher.pipeline, matcher.backend
        self._table: Floats = dequantised(bundle.read_weights())[TABLE].astype(np.float32)
        self._states = 2 * int(bundle.config.model["config"]["hidden_size"])
        self._size = self._pipeline.config.max_tokens - 2 * self._marks
        self.widths = (self._states, *(self._table.shape[1],) * 3)

    @property
    def _marks(self) -> int:
        """How many tokens mark either end of a sentence."""
        return int(self._pipeline.config.boundaries)

    def of(self, sentences: Words) -> list[Floats]:
        """[T, D] for each sentence."""
        known = self._pieces({word for words in sentences for word in words})
        pieces = [[known[word] for word in words] for words in sentences]
        windows = [(row, part) for row, words in enumerate(pieces) for part in self._windows(words)]
        read = self._read([part for _, part in windows])
        found: list[list[Floats]] = [[] for _ in sentences]
        for (row, _), states in zip(windows, read, strict=True):
            found[row].append(states)
        return [
            self._beside(np.concatenate(states), words)
            for states, words in zip(found, pieces, strict=True)
        ]

    def _pieces(self, words: set[str]) -> dict[str, list[int]]:
        """The tokens of each word as it stands by itself; an unknown one where it has none."""
        asked = sorted(words)
        ids = self._pipeline.encode_ids(asked)
        ends = self._marks
        return {
            word: list(each[ends : len(each) - ends]) or [self._pipeline.unk_id]
            for word, each in zip(asked, ids, strict=True)
        }

    def _windows(self, words: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        flat = [piece for word in words for piece in word] or [self._pipeline.unk_id]
        for start in range(0, len(flat), self._size):
            yield flat[start : start + self._size]

    def _read(self, windows: Sequence[Sequence[int]]) -> list[Floats]:
        """What the LSTM says at the tokens of each window."""
        edges = self._pipeline.encode_ids([""])[0] if self._marks else []
        ahead, behind = list(edges[:1]), list(edges[-1:])
        found: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(windows)
        lengths = [len(each) for each in windows]
        for rows in length_batches(lengths, most=BATCH, most_tokens=TOKENS):
            encoded = self._backend.encode([[*ahead, *windows[row], *behind] for row in rows])
            for row, each in zip(rows, encoded, strict=True):
                found[row] = each[self._marks : self._marks + lengths[row], : self._states]
        return found

    def _beside(self, states: Floats, words: Sequence[Sequence[int]]) -> Floats:
        """States and table side by side, one row per word."""
        if not words:
            return np.empty((0, sum(self.widths)), dtype=np.float32)
        flat = np.array([piece for word in words for piece in word], dtype=np.int64)
        many = np.array([len(word) for word in words])
        starts = np.concatenate([[0], np.cumsum(many)[:-1]])
        both = np.hstack([states, self._table[flat]]).astype(np.float32)
        means = np.add.reduceat(both, starts, axis=0) / many[:, None].astype(np.float32)
        own = means[:, self._states :]
        before, after = np.zeros_like(own), np.zeros_like(own)
        before[1:], after[:-1] = own[:-1], own[1:]
        return np.hstack([means[:, : self._states], before, own, after])
