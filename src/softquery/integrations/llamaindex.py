"""LlamaIndex: an embedding, a node postprocessor, and a retriever over an index."""

from collections.abc import Mapping
from typing import Any

from softquery.errors import ConfigError, MissingExtra
from softquery.integrations.given_models import (
    Content,
    document_of,
    open_index,
    open_model,
    vectors_of,
)

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
except ImportError:
    raise MissingExtra("llamaindex", needed_for="LlamaIndex") from None


class SoftqueryEmbedding(BaseEmbedding):  # type: ignore[misc]
    """Vectors of texts for LlamaIndex: `Settings.embed_model = SoftqueryEmbedding()`.

    Attributes:
        model_name: The name or the folder of a model that has `encode`.
        dimensions: How many numbers of each vector to keep; sentence encoders alone can cut.
        threads: Threads of one call; None for all cores.

    >>> len(SoftqueryEmbedding(dimensions=128).get_text_embedding("a man eats"))
    128
    """

    model_name: str = "embed-en"
    dimensions: int | None = None
    threads: int | None = None
    _opened: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Open the model, so that a wrong name is refused at once."""
        super().model_post_init(context)
        self._opened = open_model(self.model_name, "encode", threads=self.threads)

    @classmethod
    def class_name(cls) -> str:
        """What it is called where it is stored."""
        return cls.__name__

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return vectors_of(self._opened, texts, dimensions=self.dimensions)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class SoftqueryRerank(BaseNodePostprocessor):  # type: ignore[misc]
    """Keeps the nodes that match the query best, best first, with the matcher's scores.

    Attributes:
        model: The name or the folder of a model that has `rank`.
        top_n: The most nodes to keep, as LlamaIndex's own rerankers call it.
        threads: Threads of one call; None for all cores.
    """

    model: str = "match-en"
    top_n: int = 5
    threads: int | None = None
    _opened: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Open the model, so that a wrong name is refused at once."""
        super().model_post_init(context)
        self._opened = open_model(self.model, "rank", threads=self.threads)

    @classmethod
    def class_name(cls) -> str:
        """What it is called where it is stored."""
        return cls.__name__

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ConfigError(f"{self.class_name()} needs the query: pass query_str")
        texts = [each.node.get_content(metadata_mode=MetadataMode.EMBED) for each in nodes]
        ranked = self._opened.rank(
            query_bundle.query_str, texts, top_k=self.top_n, return_documents=False
        )
        return [
            NodeWithScore(node=nodes[each["corpus_id"]].node, score=each["score"])
            for each in ranked
        ]


class IndexNodeRetriever(BaseRetriever):  # type: ignore[misc]
    """The rows of an index that answer a query, and none where no answer is good enough.

    Args:
        index: An `Index`, or its folder.
        top_k: The most nodes.
        where: Columns that must have a value, or one of several.
        min_score: The score that a node needs; by default the index's own threshold.
        content: The column that becomes the text; all columns are metadata.
        threads: Threads of one search, for an index that is opened here.
    """

    def __init__(
        self,
        index: Any,
        *,
        top_k: int = 5,
        where: Mapping[str, str | list[str]] | None = None,
        min_score: float | None = None,
        content: Content = "answer",
        threads: int | None = None,
    ) -> None:
        self.top_k = top_k
        self.where = where
        self.min_score = min_score
        self.content = content
        self._opened = open_index(index, threads=threads)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        found = self._opened.search(
            query, top_k=self.top_k, where=self.where, min_score=self.min_score
        )
        return [self._node(hit) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        found = await self._opened.asearch(
            query, top_k=self.top_k, where=self.where, min_score=self.min_score
        )
        return [self._node(hit) for hit in found]

    def _node(self, hit: Mapping[str, Any]) -> NodeWithScore:
        text, metadata = document_of(hit, self.content)
        score = metadata.pop("score")
        return NodeWithScore(
            node=TextNode(text=text, id_=hit["id"], metadata=metadata), score=score
        )
