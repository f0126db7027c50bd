"""Haystack: embedders of texts and documents, a ranker, and a retriever over an index.

As components they go into a `Pipeline`, are written to YAML, and open their model at `warm_up` or
when they are first run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from softquery.errors import ConfigError, InputError, MissingExtra
from softquery.integrations.given_models import (
    Content,
    Verb,
    document_of,
    open_index,
    open_model,
    vectors_of,
)

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise MissingExtra("haystack", needed_for="Haystack") from None

Where = dict[str, str | list[str]]


class _Component:
    """What the components share: settings that YAML can hold, and what they open by them."""

    threads: int | None

    def to_dict(self) -> dict[str, Any]:
        """The component as YAML holds it."""
        names = list(signature(type(self).__init__).parameters)[1:]
        return dict(default_to_dict(self, **{name: getattr(self, name) for name in names}))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component from what `to_dict` gave."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Open what the component needs, once."""
        if not hasattr(self, "_opened"):
            self._opened: Any = self._open()

    def _open(self) -> Any:
        raise TypeError(f"{type(self).__name__} opens nothing")


class _ModelComponent(_Component):
    """A component that needs a model."""

    _verb: Verb
    model: str

    def _open(self) -> Any:
        return open_model(self.model, self._verb, threads=self.threads)


@component
class SoftqueryTextEmbedder(_ModelComponent):
    """The vector of a query.

    Args:
        model: The name or the folder of a model that has `encode`.
        dimensions: How many numbers to keep; sentence encoders alone can cut.
        threads: Threads of one call; None for all cores.

    >>> len(SoftqueryTextEmbedder().run("a man eats")["embedding"])
    384
    """

    _verb = "encode"

    def __init__(
        self, model: str = "embed-en", dimensions: int | None = None, threads: int | None = None
    ) -> None:
        self.model, self.dimensions, self.threads = _name(model), dimensions, threads

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, list[float]]:
        """The vector of a text, as `embedding`."""
        if not isinstance(text, str):
            told = "SoftqueryDocumentEmbedder takes documents"
            raise TypeError(f"expected a text, got {text!r:.60}; {told}")
        self.warm_up()
        return {"embedding": vectors_of(self._opened, [text], dimensions=self.dimensions)[0]}


@component
class SoftqueryDocumentEmbedder(_ModelComponent):
    """Documents with their vectors, as they are written to a document store.

    Args:
        model: The name or the folder of a model that has `encode`.
        dimensions: How many numbers of each vector to keep; sentence encoders alone can cut.
        meta_fields_to_embed: Fields of `meta` that are put before the content.
        embedding_separator: What stands between them.
        threads: Threads of one call; None for all cores.
    """

    _verb = "encode"

    def __init__(
        self,
        model: str = "embed-en",
        dimensions: int | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
        threads: int | None = None,
    ) -> None:
        self.model, self.dimensions, self.threads = _name(model), dimensions, threads
        self.meta_fields_to_embed = meta_fields_to_embed or []
        self.embedding_separator = embedding_separator

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The same documents, each with its `embedding`; those that were given stay as they are."""
        _check_documents(documents)
        self.warm_up()
        texts = [self._text(each) for each in documents]
        vectors = vectors_of(self._opened, texts, dimensions=self.dimensions)
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(each, embedding=vector) for each, vector in pairs]}

    def _text(self, document: Document) -> str:
        fields = (document.meta.get(name) for name in self.meta_fields_to_embed)
        named = [str(each) for each in fields if each is not None]
        return self.embedding_separator.join([*named, document.content or ""])


@component
class SoftqueryRanker(_ModelComponent):
    """Documents ordered by how well they match a query, best first, with the model's scores.

    Args:
        model: The name or the folder of a model that has `rank`.
        top_k: The most documents to keep.
        score_threshold: The score that a document needs to be kept; None for any.
        threads: Threads of one call; None for all cores.

    >>> given = [Document(content="It rains."), Document(content="Someone eats.")]
    >>> SoftqueryRanker().run("A man is eating.", given)["documents"][0].content
    'Someone eats.'
    """

    _verb = "rank"

    def __init__(
        self,
        model: str = "match-en",
        top_k: int = 10,
        score_threshold: float | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.top_k, self.threads = _name(model), top_k, threads
        self.score_threshold = score_threshold

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The best documents.

        Raises:
            InputError: A document has no text.
        """
        self.warm_up()
        wanted = self.top_k if top_k is None else top_k
        ranked = self._opened.rank(
            query, _contents(documents), top_k=wanted, return_documents=False
        )
        least = self.score_threshold
        return {
            "documents": [
                replace(documents[each["corpus_id"]], score=each["score"])
                for each in ranked
                if least is None or each["score"] >= least
            ]
        }


@component
class IndexDocumentRetriever(_Component):
    """The rows of an index that answer a query, and none where no answer is good enough.

    Args:
        index: The folder of an index.
        top_k: The most documents.
        where: Columns that must have a value, or one of several.
        min_score: The score that a document needs; by default the index's own threshold.
        content: The column that becomes the content; all columns are `meta`.
        threads: Threads of one search; None for all cores.
    """

    def __init__(
        self,
        index: str,
        top_k: int = 10,
        where: Where | None = None,
        min_score: float | None = None,
        content: Content = "answer",
        threads: int | None = None,
    ) -> None:
        self.index, self.top_k, self.where = _name(index), top_k, where
        self.min_score, self.content, self.threads = min_score, content, threads

    def _open(self) -> Any:
        return open_index(self.index, threads=self.threads)

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self, query: str, top_k: int | None = None, where: Where | None = None
    ) -> dict[str, list[Document]]:
        """The rows that answer a query, as documents; `top_k` and `where` replace the own ones."""
        self.warm_up()
        hits = self._opened.search(
            query,
            top_k=self.top_k if top_k is None else top_k,
            where=self.where if where is None else where,
            min_score=self.min_score,
        )
        return {"documents": [self._document(hit) for hit in hits]}

    def _document(self, hit: Mapping[str, Any]) -> Document:
        text, meta = document_of(hit, self.content)
        return Document(id=hit["id"], content=text, meta=meta, score=meta.pop("score"))


def _name(given: Any) -> str:
    """What YAML can hold: a name or a folder, and no open model."""
    if not isinstance(given, str):
        raise ConfigError(f"expected a name or a folder as text, got {given!r:.60}")
    return given


def _check_documents(documents: object) -> None:
    """Refuse texts where documents are expected; Haystack itself checks connections alone."""
    if not isinstance(documents, list):
        raise TypeError(f"expected a list of documents, got {documents!r:.60}")
    for row, document in enumerate(documents, 1):
        if not isinstance(document, Document):
            message = f"expected a Document, found {document!r:.40}"
            raise InputError(message, source="the documents", row=row)


def _contents(documents: Sequence[Document]) -> list[str]:
    _check_documents(documents)
    for row, document in enumerate(documents, 1):
        if document.content is None:
            raise InputError("has no text to rank", source="the documents", row=row)
    return [str(document.content) for document in documents]
