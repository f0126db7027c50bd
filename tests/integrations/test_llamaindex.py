"""LlamaIndex's own indexes and query engines over softquery's parts."""

import asyncio

import numpy as np
import pytest

pytest.importorskip("llama_index.core", reason='needs "softquery[llamaindex]"')

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import softquery
from softquery.errors import ConfigError
from softquery.integrations.llamaindex import (
    IndexNodeRetriever,
    SoftqueryEmbedding,
    SoftqueryRerank,
)

TEXTS = ["Nobody eats.", "Someone is eating.", "It is raining in Oslo."]
QUERY = "A man is eating."


@pytest.fixture(scope="module")
def embedding():
    return SoftqueryEmbedding(threads=1)


def nodes():
    return [NodeWithScore(node=TextNode(text=text), score=0.5) for text in TEXTS]


def test_vectors_are_those_of_the_model(embedding):
    own = softquery.load("embed-en", threads=1).encode(TEXTS)
    found = embedding.get_text_embedding_batch(TEXTS)
    assert np.array_equal(np.array(found, dtype=np.float32), own)
    assert embedding.get_query_embedding(TEXTS[1]) == own[1].tolist()
    assert asyncio.run(embedding.aget_text_embedding_batch(TEXTS)) == found
    assert asyncio.run(embedding.aget_query_embedding(TEXTS[1])) == own[1].tolist()


def test_the_embedding_is_stored_and_made_again(embedding):
    stored = SoftqueryEmbedding(dimensions=128, threads=1).to_dict()
    assert (stored["class_name"], stored["model_name"]) == ("SoftqueryEmbedding", "embed-en")
    again = SoftqueryEmbedding.from_dict(stored)
    assert len(again.get_text_embedding("a")) == 128


def test_an_index_of_llamaindex_finds_and_reranks_by_them(embedding):
    index = VectorStoreIndex.from_documents(
        [Document(text=text) for text in TEXTS], embed_model=embedding
    )
    engine = index.as_query_engine(
        llm=MockLLM(),
        similarity_top_k=3,
        node_postprocessors=[SoftqueryRerank(top_n=2, threads=1)],
    )
    found = engine.query(QUERY).source_nodes
    own = softquery.load("match-en", threads=1).rank(QUERY, TEXTS, top_k=2)
    assert [each.node.get_content() for each in found] == [hit["text"] for hit in own]
    assert [each.score for each in found] == pytest.approx([hit["score"] for hit in own], abs=1e-6)


def test_the_postprocessor_changes_nothing_that_it_was_given():
    given = nodes()
    rerank = SoftqueryRerank(model="embed-en", top_n=1, threads=1)
    kept = rerank.postprocess_nodes(given, query_bundle=QueryBundle(QUERY))
    assert kept[0].node is given[1].node
    assert [each.score for each in given] == [0.5] * 3
    assert asyncio.run(rerank.apostprocess_nodes(given, query_str=QUERY)) == kept
    assert rerank.postprocess_nodes([], query_str=QUERY) == []
    with pytest.raises(ConfigError, match="^SoftqueryRerank needs the query: pass query_str$"):
        rerank.postprocess_nodes(given)


def test_the_retriever_feeds_a_query_engine(faq):
    retriever = IndexNodeRetriever(faq, top_k=2, threads=1)
    own = softquery.Index.open(faq, threads=1).search("I forgot my password", top_k=2)
    found = retriever.retrieve("I forgot my password")
    assert [(each.node.node_id, each.score) for each in found] == [
        (hit["id"], hit["score"]) for hit in own
    ]
    assert found[0].node.text == own[0]["answer"]
    assert found[0].node.metadata["question"] == own[0]["question"]
    awaited = asyncio.run(retriever.aretrieve("I forgot my password"))
    assert [each.node.node_id for each in awaited] == [hit["id"] for hit in own]
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answered = engine.query("I forgot my password")
    assert own[0]["answer"] in str(answered)
    assert retriever.retrieve("Who won the football match yesterday?") == []


def test_mistakes_are_named(faq):
    with pytest.raises(ConfigError, match="^index must be an Index or its folder, got 7$"):
        IndexNodeRetriever(7)
    with pytest.raises(ConfigError, match="content must be 'answer' or 'question', got 'title'"):
        IndexNodeRetriever(faq, content="title", threads=1, min_score=0.0).retrieve("pay")


def test_the_page(run_examples):
    assert run_examples("LlamaIndex") >= 5
