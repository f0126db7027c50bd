"""LangChain: embeddings, a retriever over an index, and a reranker of documents.

They stand wherever LangChain takes its own: in a vector store, in a chain, in a
`ContextualCompressionRetriever`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from softquery.errors import MissingExtra
from softquery.integrations.given_models import (
    Content,
    document_of,
    open_index,
    open_model,
    vectors_of,
)

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, PrivateAttr
except ImportError:
    raise MissingExtra("langchain", needed_for="LangChain") from None


class SoftqueryEmbeddings(Embeddings):  # type: ignore[misc]
    """Vectors of texts for LangChain's vector stores.

    Args:
        model: The name or the folder of a model that has `encode`, or the model itself.
        dimensions: How many numbers of each vector to keep; sentence encoders alone can cut.
        threads: Threads of one call; None for all cores.

    >>> len(SoftqueryEmbeddings("embed-en").embed_query("a man eats"))
    384
    """

    def __init__(
        self,
        model: Any = "embed-en",
        *,
        dimensions: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self._opened = open_model(model, "encode", threads=threads)

    def __repr__(self) -> str:
        cut = "" if self.dimensions is None else f", dimensions={self.dimensions}"
        return f"{type(self).__name__}({self.model!r}{cut})"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return vectors_of(self._opened, texts, dimensions=self.dimensions)

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text, which is the same as that of a document."""
        return self.embed_documents([text])[0]


class IndexRetriever(BaseRetriever):  # type: ignore[misc]
    """The rows of an index that answer a query, and none where no answer is good enough.

    Attributes:
        index: An `Index`, or its folder.
        top_k: The most documents.
        where: Columns that must have a value, or one of several.
        min_score: The score that a document needs; by default the index's own threshold.
        content: The column that becomes `page_content`; all columns and the score are `metadata`.
        threads: Threads of one search, for an index that is opened here.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    """An option of another name, such as LangChain's frequent `k`, is refused, not ignored."""

    index: Any
    top_k: int = 5
    where: dict[str, str | list[str]] | None = None
    min_score: float | None = None
    content: Content = "answer"
    threads: int | None = None
    _opened: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Open the index, so that a wrong folder is refused at once."""
        self._opened = open_index(self.index, threads=self.threads)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self._opened.search(
            query, top_k=self.top_k, where=self.where, min_score=self.min_score
        )
        return [self._document(hit) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = await self._opened.asearch(
            query, top_k=self.top_k, where=self.where, min_score=self.min_score
        )
        return [self._document(hit) for hit in found]

    def _document(self, hit: Mapping[str, Any]) -> Document:
        text, metadata = document_of(hit, self.content)
        return Document(page_content=text, metadata=metadata, id=hit["id"])


class SoftqueryReranker(BaseDocumentCompressor):  # type: ignore[misc]
    """Keeps the documents that match a query best, best first.

    Each gets `relevance_score` among its metadata; what was given is not changed.

    Attributes:
        model: The name or the folder of a model that has `rank`, or the model itself.
        top_k: The most documents to keep; None for all.
        min_score: The score that a document needs to be kept; None for any.
        threads: Threads of one call; None for all cores.

    >>> texts = [Document(page_content=text) for text in ("It rains.", "Someone eats.")]
    >>> kept = SoftqueryReranker(top_k=1).compress_documents(texts, "A man is eating.")
    >>> kept[0].page_content
    'Someone eats.'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    model: Any = "match-en"
    top_k: int | None = 5
    min_score: float | None = None
    threads: int | None = None
    _opened: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Open the model, so that a wrong name is refused at once."""
        self._opened = open_model(self.model, "rank", threads=self.threads)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """The best of some documents."""
        texts = [each.page_content for each in documents]
        ranked = self._opened.rank(query, texts, top_k=self.top_k, return_documents=False)
        return [
            _scored(documents[each["corpus_id"]], each["score"])
            for each in ranked
            if self.min_score is None or each["score"] >= self.min_score
        ]


def _scored(document: Document, score: float) -> Document:
    metadata = {**document.metadata, "relevance_score": score}
    return Document(page_content=document.page_content, metadata=metadata, id=document.id)
