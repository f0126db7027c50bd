"""A bundle that gives every sentence a vector."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.runtime.batches import Floats
from softquery.runtime.call_checks import (
    listed_texts,
    listed_vectors,
    numbers_of,
    one_text,
    whole_number,
)
from softquery.runtime.encode.backend import EncodeBackend, of_length_one, prefix_of
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Advance, Texts, matrix_of
from softquery.runtime.graphs import reading_settings
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.runtime.ranking import best_documents
from softquery.text import TextPipeline

CHUNK = 1024
"""Texts that are encoded together; results depend on nothing outside of a chunk."""
PART = 64
"""Texts of a chunk that one thread turns into ids."""
VectorLength = Literal["one", "own"]
"""Whether vectors are brought to length one, or left as the model gives them."""
LENGTHS = get_args(VectorLength)
POSITIONS = 512
"""Positions that a pooled encoder's Transformer has learned."""


@opened_by("softquery.load")
class SentenceEncoder:
    """Gives every sentence a vector of length one, to be compared by cosine.

    Safe from many threads. A text without a token, such as an empty one, has a vector as well: that
    which the model gives to nothing at all.

    Args:
        bundle: The model folder.
        backend: What computes its vectors.
    """

    chunk = CHUNK

    def __init__(self, bundle: Bundle, backend: EncodeBackend) -> None:
        self.bundle = bundle
        self.pipeline = fitting_pipeline(bundle)
        self.backend = backend
        check_longest(bundle, self.pipeline)
        self._has_own_lengths = bundle.config.model["config"].get("length", "one") != "one"
        self.prefixes: tuple[int, ...] = tuple(bundle.config.task.get("prefixes", ()))
        """Widths at which vectors were trained to be cut."""
        if self.prefixes and self.prefixes[-1] >= self.output_size:
            raise BundleError(
                f"{bundle.path / 'config.json'}: task.prefixes must lie below the vectors' width "
                f"{self.output_size}, got {self.prefixes[-1]}"
            )

    def __repr__(self) -> str:
        return model_repr(self, output_size=self.output_size, max_tokens=self.max_tokens)

    @property
    def output_size(self) -> int:
        """Width of a vector."""
        return self.backend.output_size

    @property
    def max_tokens(self) -> int:
        """The length at which texts are cut, in tokens, marks at the ends included."""
        return self.pipeline.config.max_tokens

    def encode(
        self,
        texts: Texts,
        *,
        dimensions: int | None = None,
        length: VectorLength = "one",
        advance: Advance = lambda done: None,
        progress: bool = False,
    ) -> Floats:
        """A matrix [n, d] with a vector of length one for each text, in the order of the texts.

        A vector depends on its own text and nothing else. Equal texts are computed once; texts
        beyond the model's limit are cut to it (`num_cut`).

        Args:
            texts: A list, a generator, or another iterable of strings.
            dimensions: How many numbers of each vector to keep; they are brought to length one
                again. Any width up to the whole is allowed; the widths of `prefixes` are those that
                training asked to serve by themselves.
            length: `"own"` leaves vectors as the model gives them, for a model that was imported
                without normalisation; the lengths of others are one in any case.
            advance: Told how many texts are done.
            progress: Whether to show how many, in a notebook or on the terminal.
        """
        check_dimensions(dimensions, self.output_size)
        if length not in LENGTHS:
            raise ConfigError(f"length must be 'one' or 'own', got {length!r:.40}")

        def cut(vectors: Floats) -> Floats:
            if length == "own":
                return vectors[:, :dimensions]
            of_one = of_length_one(vectors) if self._has_own_lengths else vectors
            return prefix_of(of_one, dimensions)

        return matrix_of(
            texts,
            lambda some: cut(self._chunk(some)),
            dimensions or self.output_size,
            chunk=self.chunk,
            advance=advance,
            progress=progress,
        )

    def similarity(
        self,
        texts: Texts | Floats,
        others: Texts | Floats,
        *,
        dimensions: int | None = None,
    ) -> Floats:
        """The cosine of every text with every other one: [n, m].

        Args:
            texts: Texts, or what `encode` gave for them.
            others: Likewise.
            dimensions: How many numbers of each vector to compare; by default those of the vectors
                that are given, or all.
        """
        check_dimensions(dimensions, self.output_size)
        given = (texts, others)
        stored = [
            None
            if (numbers := numbers_of(each)) is None
            else listed_vectors(numbers, dimensions or 1, self.output_size)
            for each in given
        ]
        widths = {each.shape[1] for each in stored if each is not None}
        if dimensions is None and len(widths) > 1:
            message = "vectors of {} numbers do not fit those of {}; name dimensions"
            raise ConfigError(message.format(*sorted(widths)))
        width = dimensions or (widths.pop() if widths else None)
        first, second = (
            self.encode(each, dimensions=width) if own is None else of_length_one(own[:, :width])
            for each, own in zip(given, stored, strict=True)
        )
        cosines: Floats = first @ second.T
        return cosines

    def rank(
        self,
        query: str,
        documents: Texts,
        *,
        top_k: int | None = None,
        vectors: Floats | None = None,
        return_documents: bool = True,
    ) -> list[dict[str, Any]]:
        """Order documents by the cosine of their vectors with the query's, best first.

        Args:
            query: What is asked.
            documents: The candidates.
            top_k: How many to return, at least 1; all by default.
            vectors: What `encode` gave for the documents, where it is stored; the query's vector is
                cut to their width.
            return_documents: Whether each hit has its `text`.

        Returns:
            Dicts with `corpus_id`, `score` and `text`, as sentence-transformers spells them.
        """
        if top_k is not None:
            top_k = whole_number(top_k, "top_k")
        query, documents = one_text(query, "the query"), listed_texts(documents)
        stored = (
            self.encode(documents)
            if vectors is None
            else listed_vectors(vectors, 1, self.output_size)
        )
        if len(stored) != len(documents):
            raise ValueError(f"{len(stored)} vectors for {len(documents)} documents")
        scores = stored @ self.encode([query], dimensions=stored.shape[1])[0]
        return best_documents(scores, documents, top_k, return_documents=return_documents)

    def num_cut(self, texts: Texts) -> int:
        """How many of the texts are longer than the model's limit, and are cut to it."""
        # A token has at least one character, so that most texts need no second look.
        sure = self.max_tokens - (2 if self.pipeline.config.boundaries else 0)
        long = [text for text in listed_texts(texts) if len(text) > sure]
        return sum(lost > 0 for lost in self.pipeline.encode_ids_with_cuts(long)[1])

    def _chunk(self, texts: Sequence[str]) -> Floats:
        """Vectors of a few texts: equal ones once, in an order that does not depend on theirs."""
        if len(texts) == 1:
            return self.backend.vectors(self.pipeline.encode_ids(texts))
        sentences = [tuple(ids) for ids in self._ids(texts)]
        distinct = sorted(set(sentences), key=lambda ids: (len(ids), ids))
        places = {sentence: place for place, sentence in enumerate(distinct)}
        found: Floats = self.backend.vectors(distinct)[[places[each] for each in sentences]]
        return found

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of a few texts, several parts of them at a time."""
        parts = [texts[start : start + PART] for start in range(0, len(texts), PART)]
        found = self.backend.beside(self.pipeline.encode_ids, parts)
        return [ids for part in found for ids in part]


def check_dimensions(dimensions: object, size: int) -> None:
    """Refuse a width that vectors of this size cannot be cut to; None is the whole."""
    if dimensions is None:
        return
    is_whole = isinstance(dimensions, (int, np.integer)) and not isinstance(dimensions, bool)
    if not (is_whole and dimensions in range(1, size + 1)):
        raise ConfigError(
            f"dimensions must be a whole number from 1 to {size}, got {dimensions!r:.40}"
        )


def check_longest(bundle: Bundle, pipeline: TextPipeline) -> None:
    """Refuse a pipeline that lets through more tokens than the model has positions for."""
    settings = bundle.config.model["config"]
    known = reading_settings(settings).get("max_length")
    if settings.get("body") == "transformer":
        known = POSITIONS
    if known is None:
        return
    if type(known) is not int or pipeline.config.max_tokens > known:
        raise BundleError(
            f"{bundle.path / 'config.json'}: text.max_tokens is {pipeline.config.max_tokens}, but "
            f"the model has {known!r:.40} positions"
        )


def load_sentence_encoder(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> SentenceEncoder:
    """Open a bundle of sentence vectors; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    check_kind(bundle, "sentence-encoder")
    check_task(bundle)
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.encode.onnx import OnnxEncodeBackend

        return SentenceEncoder(bundle, OnnxEncodeBackend(bundle, threads))
    with needs_torch():
        from softquery.runtime.encode.torch import TorchEncodeBackend
    return SentenceEncoder(bundle, TorchEncodeBackend(bundle, device, threads))
