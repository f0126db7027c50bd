"""LangChain's own chains, stores and calls over softquery's parts."""

import asyncio

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason='needs "softquery[langchain]"')

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import softquery
from softquery.errors import BundleError, ConfigError
from softquery.integrations.langchain import IndexRetriever, SoftqueryEmbeddings, SoftqueryReranker

TEXTS = ["Nobody eats.", "Someone is eating.", "It is raining in Oslo."]
QUERY = "A man is eating."


@pytest.fixture(scope="module")
def embeddings():
    return SoftqueryEmbeddings("embed-en", threads=1)


def documents():
    return [Document(page_content=text, metadata={"n": n}) for n, text in enumerate(TEXTS)]


def test_vectors_are_those_of_the_model(embeddings):
    own = softquery.load("embed-en", threads=1).encode(TEXTS)
    assert np.array_equal(np.array(embeddings.embed_documents(TEXTS), dtype=np.float32), own)
    assert embeddings.embed_query(TEXTS[1]) == own[1].tolist()
    assert embeddings.embed_documents([]) == []
    assert asyncio.run(embeddings.aembed_query(TEXTS[1])) == own[1].tolist()


def test_a_vector_store_of_langchain_finds_by_them(embeddings):
    store = InMemoryVectorStore(SoftqueryEmbeddings("embed-en", dimensions=128, threads=1))
    store.add_documents(documents())
    found = store.similarity_search_with_score(QUERY, k=2)
    assert found[0][0].page_content == TEXTS[1]
    assert found[0][1] > found[1][1]


def test_the_retriever_is_a_runnable(faq):
    retriever = IndexRetriever(index=str(faq), top_k=2, threads=1)
    own = softquery.Index.open(faq, threads=1).search("I forgot my password", top_k=2)
    found = retriever.invoke("I forgot my password")
    assert [(each.id, each.metadata) for each in found] == [(hit["id"], hit) for hit in own]
    assert [each.page_content for each in found] == [hit["answer"] for hit in own]
    assert asyncio.run(retriever.ainvoke("I forgot my password")) == found
    assert retriever.batch(["I forgot my password"]) == [found]
    chain = retriever | RunnableLambda(lambda given: [each.metadata["id"] for each in given])
    assert chain.invoke("I forgot my password") == [hit["id"] for hit in own]


def test_no_good_answer_is_no_document(faq):
    retriever = IndexRetriever(index=softquery.Index.open(faq, threads=1))
    assert retriever.invoke("Who won the football match yesterday?") == []
    anything = IndexRetriever(index=retriever.index, min_score=0.0, top_k=1, content="question")
    assert len(anything.invoke("Who won the football match yesterday?")) == 1


def test_the_retriever_filters(faq):
    retriever = IndexRetriever(index=str(faq), where={"category": "orders"}, min_score=0.0)
    found = retriever.invoke("how do I cancel it?")
    assert {each.metadata["category"] for each in found} == {"orders"}


def test_the_reranker_orders_and_scores():
    given = documents()
    kept = SoftqueryReranker(top_k=2, threads=1).compress_documents(given, QUERY)
    own = softquery.load("match-en", threads=1).rank(QUERY, TEXTS, top_k=2)
    assert [each.metadata["n"] for each in kept] == [hit["corpus_id"] for hit in own]
    assert [each.metadata["relevance_score"] for each in kept] == [hit["score"] for hit in own]
    assert "relevance_score" not in given[1].metadata
    reranker = SoftqueryReranker(model="embed-en", min_score=0.5, top_k=None, threads=1)
    assert [each.page_content for each in reranker.compress_documents(given, QUERY)][0] == TEXTS[1]
    assert len(reranker.compress_documents(given, QUERY)) < len(given)
    assert asyncio.run(reranker.acompress_documents([], QUERY)) == []


def test_mistakes_are_named(faq):
    with pytest.raises(ConfigError, match="^dimensions are for a sentence encoder"):
        SoftqueryEmbeddings("match-en", dimensions=8).embed_query("a")
    with pytest.raises(BundleError, match="^no model called 'nli-ne'"):
        SoftqueryEmbeddings("nli-ne")
    with pytest.raises(ConfigError, match="^IndexRetriever: does not rank texts$"):
        SoftqueryReranker(model=IndexRetriever(index=str(faq)))
    with pytest.raises(ConfigError, match="^index must be an Index or its folder, got 7$"):
        IndexRetriever(index=7)
    for refused in (IndexRetriever, SoftqueryReranker):
        with pytest.raises(ValueError, match="Extra inputs are not permitted"):
            refused(**({"index": faq} if refused is IndexRetriever else {}), k=3)
    with pytest.raises(ValueError, match="content"):
        IndexRetriever(index=str(faq), content="title")


def test_the_page(run_examples):
    assert run_examples("LangChain") >= 5
