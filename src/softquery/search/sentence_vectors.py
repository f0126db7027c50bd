"""One vector a text, for recall: from whatever model there is.

A text's vector has length one, or is zero where the model knows none of its words.

N texts, D width, T tokens, S hidden size.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.measure.words import unit_rows
from softquery.runtime import Embedder, Matcher, WordSpace, load_matcher, open_embedder
from softquery.runtime.opening import opened
from softquery.runtime.weights import dequantised
from softquery.runtime.word_space import space_of
from softquery.search.fingerprint import fingerprint
from softquery.search.zipf import num_reserved, zipf_weights
from softquery.text import TextPipeline, WordCutter

Floats = NDArray[np.float32]
WORDS, STATES, ENCODING = OWN_SOURCES = ("words", "states", "encoding")
"""Sources that are the matcher itself: its table of words, its states, its vector."""


class SentenceVectors(Protocol):
    """What gives vectors of texts."""

    @property
    def size(self) -> int:
        """D."""

    @property
    def fingerprint(self) -> str:
        """Of what they depend on; empty where that is the matcher itself."""

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D] of texts, whose encodings by the matcher are at hand."""


class StateVectors:
    """The mean of the matcher's first BiLSTM's states, frequent words weighing less.

    The states are computed for the encodings anyway, so that these vectors cost next to nothing.

    Args:
        matcher: Of ESIM, whose encodings end with its two projections (2 S) and begin with states.
    """

    fingerprint = ""

    def __init__(self, matcher: Matcher) -> None:
        (sample,) = matcher.encode(["?"])
        hidden_size = int(matcher.bundle.config.model["config"]["hidden_size"])
        self.size = int(sample.shape[1]) - 2 * hidden_size
        self._pipeline = matcher.pipeline
        self._weights = zipf_weights(matcher.pipeline.vocab_size, num_reserved(matcher.pipeline))

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        ids = self._pipeline.encode_ids(list(texts))
        sums = [
            # A model that reads words as they are spelt has no ids, and its words weigh alike.
            (self._weights[sentence] if len(sentence) == len(each) else np.ones(len(each), "f4"))
            @ each[:, : self.size]
            for sentence, each in zip(ids, encodings, strict=True)
        ]
        return unit_rows(np.stack(sums))


class EncodingVectors:
    """A Siamese matcher's own vectors, which are its encodings.

    Args:
        matcher: Of a Siamese model.
        own: Whether it is the matcher that compares, too, so that its encodings are at hand.
    """

    def __init__(self, matcher: Matcher, *, own: bool) -> None:
        self.size = 2 * int(matcher.bundle.config.model["config"]["hidden_size"])
        self.fingerprint = "" if own else fingerprint(matcher.bundle)
        self._matcher = None if own else matcher

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, 2 S]."""
        if self._matcher is not None:
            ids = self._matcher.pipeline.encode_ids(texts)
            encodings = self._matcher.backend.encode(ids)
        return unit_rows(np.stack(encodings))


class WordAverages:
    """The mean of a text's word vectors, frequent words weighing less.

    Args:
        table: A vector a word.
        pipeline: Whose ids are the rows of the table.
        fingerprint: Of where they are from; empty for the matcher itself.
    """

    def __init__(self, table: Floats, pipeline: TextPipeline, *, fingerprint: str = "") -> None:
        self.fingerprint = fingerprint
        self.size = table.shape[1]
        self._pipeline = pipeline
        weights = zipf_weights(len(table), num_reserved(pipeline))
        self._table = unit_rows(table) * weights[:, None]

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        ids = self._pipeline.encode_ids(list(texts))
        sums = [self._table[sentence].sum(axis=0) for sentence in ids]
        return unit_rows(np.stack(sums))


class SpaceAverages:
    """Likewise for a bundle of word vectors, which has words and no ids.

    Args:
        space: The words.
        fingerprint: Of the bundle.
    """

    def __init__(self, space: WordSpace, *, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._space = space
        self.size = int(space.vectors.matrix.shape[1])
        self._cutter = WordCutter(space.text)
        self._table = unit_rows(space.vectors.matrix)
        self._table = self._table * zipf_weights(len(self._table))[:, None]

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        sums = np.zeros((len(texts), self.size), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            places = (self._space.place(word) for word in self._cutter.words(text))
            row += self._table[[place for place in places if place is not None]].sum(axis=0)
        return unit_rows(sums)


class ContextVectors:
    """The mean of a text's words in their context, as a biLM gives them.

    Args:
        embedder: The biLM.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.fingerprint = fingerprint(embedder.bundle)
        self.size = embedder.output_size
        self._embedder = embedder

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        found = self._embedder.embed(list(texts), layers="mix")
        means = [
            each[0].mean(axis=0) if each.shape[1] else np.zeros(self.size, dtype=np.float32)
            for each in found
        ]
        return unit_rows(np.stack(means))


def decided(source: str, matcher: Matcher) -> str:
    """The source that `"auto"` stands for."""
    if source != "auto":
        return source
    return ENCODING if _is_siamese(matcher.bundle) else STATES


def open_vectors(source: str, matcher: Matcher, *, threads: int | None) -> SentenceVectors:
    """What gives vectors of texts.

    Args:
        source: One of `"words"`, `"states"` and `"encoding"`, or a bundle's name or folder.
        matcher: What compares.
        threads: For another bundle.
    """
    if source == WORDS:
        table = dequantised(matcher.bundle.read_weights()).get("embedder.table.weight")
        if table is None:
            message = "has no table of words to make vectors of; name a bundle for them"
            raise BundleError(f"{matcher.bundle.path}: {message}")
        return WordAverages(np.asarray(table, dtype=np.float32), matcher.pipeline)
    if source in (STATES, ENCODING):
        if _is_siamese(matcher.bundle) != (source == ENCODING):
            raise BundleError(f"{matcher.bundle.path}: this model has no vectors from {source!r}")
        return EncodingVectors(matcher, own=True) if source == ENCODING else StateVectors(matcher)
    return _foreign(opened(source), threads)


def _foreign(bundle: Bundle, threads: int | None) -> SentenceVectors:
    if bundle.config.kind == "embedder":
        return ContextVectors(open_embedder(bundle, threads=threads))
    if bundle.config.kind == "vectors":
        return SpaceAverages(space_of(bundle), fingerprint=fingerprint(bundle))
    if bundle.config.kind == "matcher" and _is_siamese(bundle):
        return EncodingVectors(load_matcher(bundle, threads=threads), own=False)
    raise BundleError(
        f"{bundle.path}: gives no vectors of texts; expected a Siamese matcher, an embedder or "
        "word vectors"
    )


def _is_siamese(bundle: Bundle) -> bool:
    return bool(bundle.config.model["name"] == "siamese")
