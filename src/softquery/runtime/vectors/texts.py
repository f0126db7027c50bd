"""One vector a text, from whatever model there is: for recall, and for clients that ask for it.

| model | a text's vector |
|---|---|
| Siamese matcher | its encoding, which is what it compares |
| ESIM | the mean of its encoder's states, frequent words weighing less (Arora+ 2017, Section 3) |
| word vectors | the mean of its words' vectors, weighed likewise |
| ELMo | the mean of its words in their context, in the mix that was learnt, else of all layers |
| BERT without a head | the mean of its pieces in their context, of all layers, without its marks |

ESIM compares words and not sentences, so its vectors are a by-product: good enough to recall
candidates, no more. A text of which the model knows no word has a vector of zeros.

N texts, D width, T tokens, S hidden size.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.measure.word_scores import unit_rows
from softquery.runtime.embed.model import ContextEmbedder, open_embedder
from softquery.runtime.embed.pieces import PieceEmbedder, open_pieces
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.match.backend import Read
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.runtime.opened import opened
from softquery.runtime.vectors.model import WordVectors, vectors_of
from softquery.runtime.vectors.zipf import num_reserved, zipf_weights
from softquery.text import TextPipeline, WordTokenizer

Floats = NDArray[np.float32]
WORDS, STATES, ENCODING = OWN_SOURCES = ("words", "states", "encoding")
"""Sources that are the matcher itself: its table of words, its states, its vector."""


class TextVectors(Protocol):
    """What gives vectors of texts."""

    @property
    def size(self) -> int:
        """D."""

    @property
    def bundle(self) -> Bundle | None:
        """What they are from; None where that is the matcher itself."""

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D] of length one, of texts whose encodings by the matcher are at hand."""


class StateVectors:
    """The weighted mean of the states of a matcher's first BiLSTM.

    The states are computed for the encodings anyway, so that these vectors cost next to nothing.

    Args:
        matcher: Of ESIM, whose encodings begin with states; what an export puts behind them, parts
            of its projection, is left out.
    """

    pooling = "mean"
    bundle = None

    def __init__(self, matcher: Matcher) -> None:
        self.size = 2 * int(matcher.bundle.config.model["config"]["hidden_size"])
        self._matcher = matcher
        self._weights = zipf_weights(matcher.pipeline.vocab_size, num_reserved(matcher.pipeline))

    def pooled(self, sentence: Sequence[Any], encoding: Floats) -> Floats:
        """The vector [D] of a text as `Matcher.read` gives it, and its encoding [T, E]."""
        # Words that are read as they are spelt have no ids, and weigh alike.
        is_spelt = not len(sentence) or isinstance(sentence[0], str)
        weights = np.ones(len(encoding), "f4") if is_spelt else self._weights[list(sentence)]
        states = encoding[:, : self.size]
        return np.asarray(weights @ states / max(float(weights.sum()), 1e-12), dtype=np.float32)

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        return _unit(self, self._matcher.read(texts)[0], encodings)


class EncodingVectors:
    """A Siamese matcher's own vectors, which are its encodings.

    Args:
        matcher: Of a Siamese model.
        own: Whether it is the matcher that compares, too, so that its encodings are at hand.
    """

    pooling = "own"

    def __init__(self, matcher: Matcher, *, own: bool) -> None:
        self.size = 2 * int(matcher.bundle.config.model["config"]["hidden_size"])
        self.bundle = None if own else matcher.bundle
        self._matcher = matcher

    def pooled(self, sentence: Sequence[Any], encoding: Floats) -> Floats:
        """The encoding [D] itself."""
        return encoding

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        sentences = self._matcher.read(texts)[0]
        if self.bundle is not None:
            encodings = self._matcher.backend.encode(sentences)
        return _unit(self, sentences, encodings)


def _unit(
    vectors: StateVectors | EncodingVectors, sentences: Read, encodings: Sequence[Floats]
) -> Floats:
    pairs = zip(sentences, encodings, strict=True)
    return unit_rows(np.stack([vectors.pooled(*pair) for pair in pairs]))


class WordAverages:
    """The mean of a text's word vectors, frequent words weighing less.

    Args:
        table: A vector a word.
        pipeline: Whose ids are the rows of the table.
    """

    bundle = None

    def __init__(self, table: Floats, pipeline: TextPipeline) -> None:
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
        bundle: Theirs.
    """

    def __init__(self, space: WordVectors, bundle: Bundle) -> None:
        self.bundle: Bundle | None = bundle
        self._space = space
        self.size = int(space.vectors.matrix.shape[1])
        self._cutter = WordTokenizer(space.text)
        self._table = unit_rows(space.vectors.matrix)
        self._weights = zipf_weights(len(self._table))
        self._table = self._table * self._weights[:, None]

    def read(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text."""
        return [self._cutter.words(text) for text in texts]

    def pooled(self, words: Sequence[str]) -> Floats:
        """The weighted mean [D] of the words that are known."""
        places = (self._space.place(word) for word in words)
        known = [place for place in places if place is not None]
        total = max(float(self._weights[known].sum()), 1e-12)
        return np.asarray(self._table[known].sum(axis=0) / total, dtype=np.float32)

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        return unit_rows(np.stack([self.pooled(words) for words in self.read(texts)]))


class ContextVectors:
    """The mean of a text's words in their context, as a biLM or a bare BERT gives them.

    Args:
        embedder: The biLM, or the encoder.
    """

    def __init__(self, embedder: ContextEmbedder | PieceEmbedder) -> None:
        self.bundle: Bundle | None = embedder.bundle
        self.size = embedder.output_size
        self._embedder = embedder

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        found = self._embedder.embed(list(texts), layers="mix")
        return unit_rows(np.stack([mean_in_context(self._embedder, each) for each in found]))


def mean_in_context(embedder: ContextEmbedder | PieceEmbedder, layers: Floats) -> Floats:
    """The vector [D] of a text whose words in their context are [1, words, width].

    An encoder's marks are left out, so that a text without words is zeros here as everywhere.
    """
    return mean_of_words(layers[:, 1:-1] if isinstance(embedder, PieceEmbedder) else layers)


def mean_of_words(layers: Floats) -> Floats:
    """The mean over the words of [1, words, width]; zeros where there are none.

    >>> mean_of_words(np.array([[[1.0, 2.0], [3.0, 4.0]]], dtype=np.float32)).tolist()
    [2.0, 3.0]
    """
    if not layers.shape[1]:
        return np.zeros(layers.shape[2], dtype=np.float32)
    found: Floats = layers[0].mean(axis=0)
    return found


def own_vectors(matcher: Matcher) -> StateVectors | EncodingVectors:
    """The vectors that a matcher gives by itself."""
    siamese = _is_siamese(matcher.bundle)
    return EncodingVectors(matcher, own=True) if siamese else StateVectors(matcher)


def decided(source: str, matcher: Matcher) -> str:
    """The source that `"auto"` stands for."""
    if source != "auto":
        return source
    return ENCODING if _is_siamese(matcher.bundle) else STATES


def open_vectors(source: str, matcher: Matcher, *, threads: int | None) -> TextVectors:
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
        return own_vectors(matcher)
    return _foreign(opened(source), threads)


def _foreign(bundle: Bundle, threads: int | None) -> TextVectors:
    if bundle.config.kind == "embedder":
        return ContextVectors(open_embedder(bundle, threads=threads))
    if bundle.config.kind == "encoder":
        return ContextVectors(open_pieces(bundle, threads=threads))
    if bundle.config.kind == "vectors":
        return SpaceAverages(vectors_of(bundle), bundle)
    if bundle.config.kind == "matcher" and _is_siamese(bundle):
        return EncodingVectors(load_matcher(bundle, threads=threads), own=False)
    raise BundleError(
        f"{bundle.path}: gives no vectors of texts; expected a Siamese matcher, an embedder, "
        "an encoder or word vectors"
    )


def _is_siamese(bundle: Bundle) -> bool:
    return bool(bundle.config.model["name"] == "siamese")
