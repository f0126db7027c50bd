"""One vector per text, from whatever model there is: for recall, and for clients that ask for it.

| model | a text's vector |
|---|---|
| sentence encoder | its own, which is what it is for |
| Siamese matcher | its encoding, which is what it compares |
| ESIM | the mean of its encoder's states, frequent words weighing less (Arora+ 2017, Section 3) |
| word vectors | the mean of its words' vectors, weighed in the same way |
| ELMo | the mean of its words in their context, in the mix that was learnt, else of all layers |
| BERT without a head | the mean of its pieces in their context, of all layers, without its marks |

ESIM compares words and not sentences, so its vectors are a by-product: good enough to recall
candidates, no more. Where it aligns a projection of its states, they are means of that. A text of
which the model knows no word has a vector of zeros.

N texts, D width, T tokens, S hidden size.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.measure.word_scores import unit_rows
from softquery.runtime.embed.model import ContextEmbedder
from softquery.runtime.embed.piece_embedder import PieceEmbedder
from softquery.runtime.encode.model import SentenceEncoder, load_sentence_encoder
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.kinds import kind_of
from softquery.runtime.loading import opened
from softquery.runtime.match.backend import Read
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.runtime.vectors.model import WordVectors, vectors_of
from softquery.text import TextPipeline, WordTokenizer, reserved_tokens

Floats = NDArray[np.float32]
WORDS, STATES, ENCODING = OWN_SOURCES = ("words", "states", "encoding")
"""Sources that are the matcher itself: its table of words, its states, its vector."""


class OwnVectors(NamedTuple):
    """What the vectors of texts are that a matcher gives by itself."""

    source: str
    num_parts: int
    """How many times as wide as the model's `hidden_size` they are."""


OWN_SOURCE = {
    "esim": OwnVectors(STATES, 2),
    "decomposable": OwnVectors(STATES, 1),
    "siamese": OwnVectors(ENCODING, 2),
}
"""By the model of a matcher that reads each text by itself."""


class TextVectors(Protocol):
    """Gives every text a vector."""

    @property
    def size(self) -> int:
        """The width D of a vector."""

    @property
    def bundle(self) -> Bundle | None:
        """The bundle that they come from; None where that is the matcher itself."""

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D] of length one, of texts whose encodings by the matcher are at hand."""


class StateVectors:
    """The weighted mean of the states of a matcher's encoder.

    The states are computed for the encodings anyway, so that these vectors cost next to nothing.

    Args:
        matcher: Of a model whose encodings begin with a state per token; what an export puts behind
            them is left out.
    """

    pooling = "mean"
    bundle = None

    def __init__(self, matcher: Matcher) -> None:
        self.size = own_size(matcher)
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
        self.size = own_size(matcher)
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
        table: A vector per word.
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


class WordVectorAverages:
    """The mean of a text's word vectors, from a table that has words and no ids.

    Args:
        vectors: The words and their vectors.
        bundle: What they are from, where it is one.
    """

    def __init__(self, vectors: WordVectors, bundle: Bundle | None = None) -> None:
        self.bundle = bundle
        self._vectors = vectors
        self.size = int(vectors.vectors.matrix.shape[1])
        self._cutter = WordTokenizer(vectors.text)
        self._table = unit_rows(vectors.vectors.matrix)
        self._weights = zipf_weights(len(self._table))
        self._table = self._table * self._weights[:, None]

    def read(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text."""
        return [self._cutter.words(text) for text in texts]

    def pooled(self, words: Sequence[str]) -> Floats:
        """The weighted mean [D] of the words that are known."""
        places = (self._vectors.place(word) for word in words)
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
        return self._embedder.encode(texts)


class SentenceVectors:
    """The vectors of a sentence encoder.

    Args:
        encoder: The model.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.bundle: Bundle | None = encoder.bundle
        self.size = encoder.output_size
        self._encoder = encoder

    def of(self, texts: Sequence[str], encodings: Sequence[Floats]) -> Floats:
        """Vectors [N, D]."""
        return self._encoder.encode(texts)


def own_vectors(matcher: Matcher) -> StateVectors | EncodingVectors:
    """The vectors that a matcher gives by itself."""
    if own_of(matcher).source == ENCODING:
        return EncodingVectors(matcher, own=True)
    return StateVectors(matcher)


def own_of(matcher: Matcher) -> OwnVectors:
    """What a matcher's own vectors are; a model that the table lacks is refused by name."""
    name = matcher.bundle.config.model["name"]
    if name not in OWN_SOURCE:
        raise BundleError(
            f"{matcher.bundle.path}: a matcher of model {name!r} has no vectors of texts "
            f"(known: {', '.join(OWN_SOURCE)}); name a bundle for them"
        )
    return OWN_SOURCE[name]


def own_size(matcher: Matcher) -> int:
    """How wide a matcher's own vectors are."""
    settings = matcher.bundle.config.model["config"]
    return int(
        settings.get("alignment_size") or own_of(matcher).num_parts * settings["hidden_size"]
    )


def decided(source: str, matcher: Matcher) -> str:
    """The source that `"auto"` stands for."""
    if source != "auto":
        return source
    return own_of(matcher).source


def open_vectors(source: str, matcher: Matcher, *, threads: int | None) -> TextVectors:
    """Open what gives texts their vectors.

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
        if own_of(matcher).source != source:
            raise BundleError(f"{matcher.bundle.path}: this model has no vectors from {source!r}")
        return own_vectors(matcher)
    return _foreign(opened(source), threads)


def _foreign(bundle: Bundle, threads: int | None) -> TextVectors:
    kind = kind_of(bundle)
    if kind.name == "sentence-encoder":
        return SentenceVectors(load_sentence_encoder(bundle, threads=threads))
    if kind.verb == "embed":
        return ContextVectors(kind.opener.get()(bundle, threads=threads))
    if kind.name == "vectors":
        return WordVectorAverages(vectors_of(bundle), bundle)
    own = OWN_SOURCE.get(bundle.config.model["name"])
    if kind.name == "matcher" and own is not None and own.source == ENCODING:
        return EncodingVectors(load_matcher(bundle, threads=threads), own=False)
    raise BundleError(
        f"{bundle.path}: gives no vectors of texts; expected a sentence encoder, a Siamese "
        "matcher, an embedder, an encoder or word vectors"
    )


SMOOTHING = 1e-3
"""How fast frequent words lose weight: `a` of SIF (Arora et al. 2017, Section 3, Eq. 3)."""


def zipf_shares(num_words: int, num_reserved: int = 0) -> NDArray[np.float64]:
    """The share of all running words that each word of a vocabulary makes up (Zipf's law).

    Args:
        num_words: Of the vocabulary, most frequent first.
        num_reserved: Entries before the first word; their share is 0.

    >>> zipf_shares(4, 1).round(2).tolist()
    [0.0, 0.55, 0.27, 0.18]
    """
    shares = np.zeros(num_words)
    shares[num_reserved:] = 1 / np.arange(1, num_words - num_reserved + 1)
    total: NDArray[np.float64] = shares / max(shares.sum(), 1e-12)
    return total


def zipf_weights(num_words: int, num_reserved: int = 0) -> NDArray[np.float32]:
    """What words count in a mean: a / (a + p) of their share p, and 0 for reserved entries.

    >>> [round(float(weight), 2) for weight in zipf_weights(1000, 1)[[0, 1, 999]]]
    [0.0, 0.01, 0.88]
    """
    shares = zipf_shares(num_words, num_reserved)
    weights = SMOOTHING / (SMOOTHING + shares)
    weights[:num_reserved] = 0
    return weights.astype(np.float32)


def num_reserved(pipeline: TextPipeline) -> int:
    """Entries of a vocabulary that are no words."""
    return len(reserved_tokens(pipeline.config.unit))
