"""Haystack's own pipelines and stores over softquery's components."""

import numpy as np
import pytest

pytest.importorskip("haystack", reason='needs "softquery[haystack]"')

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

import softquery
from softquery.errors import ConfigError, InputError
from softquery.integrations.haystack import (
    IndexDocumentRetriever,
    SoftqueryDocumentEmbedder,
    SoftqueryRanker,
    SoftqueryTextEmbedder,
)

TEXTS = ["Nobody eats.", "Someone is eating.", "It is raining in Oslo."]
QUERY = "A man is eating."
OURS = "softquery.integrations.haystack"
"""What Haystack must be told to trust when it reads YAML."""


def documents():
    return [Document(content=text, meta={"title": f"t{n}"}) for n, text in enumerate(TEXTS)]


def test_vectors_are_those_of_the_model():
    model = softquery.load("embed-en", threads=1)
    own = model.encode(TEXTS)
    given = documents()
    found = SoftqueryDocumentEmbedder(threads=1).run(given)["documents"]
    assert np.array_equal(np.array([each.embedding for each in found], dtype=np.float32), own)
    assert [each.embedding for each in given] == [None] * 3
    assert SoftqueryTextEmbedder(threads=1).run(TEXTS[1])["embedding"] == own[1].tolist()
    titled = SoftqueryDocumentEmbedder(meta_fields_to_embed=["title"], dimensions=64, threads=1)
    (first, *_) = titled.run(given)["documents"]
    assert first.embedding == model.encode(["t0\nNobody eats."], dimensions=64)[0].tolist()


def test_pipelines_write_find_and_rank_and_survive_yaml():
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    writing = Pipeline()
    writing.add_component("vectors", SoftqueryDocumentEmbedder(threads=1))
    writing.add_component("writer", DocumentWriter(store))
    writing.connect("vectors", "writer")
    writing.run({"vectors": {"documents": documents()}})

    asking = Pipeline()
    asking.add_component("vector", SoftqueryTextEmbedder(threads=1))
    asking.add_component("ranker", SoftqueryRanker(top_k=2, threads=1))
    again = Pipeline.loads(asking.dumps(), allowed_modules=[OURS])
    assert again.get_component("ranker").to_dict() == asking.get_component("ranker").to_dict()
    again.add_component("recall", InMemoryEmbeddingRetriever(store, top_k=3))
    again.connect("vector.embedding", "recall.query_embedding")
    again.connect("recall.documents", "ranker.documents")
    found = again.run({"vector": {"text": QUERY}, "ranker": {"query": QUERY}})["ranker"]
    own = softquery.load("match-en", threads=1).rank(QUERY, TEXTS, top_k=2)
    assert [each.content for each in found["documents"]] == [hit["text"] for hit in own]
    assert [each.score for each in found["documents"]] == pytest.approx(
        [hit["score"] for hit in own], abs=1e-6
    )


def test_the_ranker_keeps_what_reaches_the_threshold():
    given = documents()
    ranker = SoftqueryRanker("embed-en", score_threshold=0.5, threads=1)
    kept = ranker.run(QUERY, given)["documents"]
    assert kept[0].content == TEXTS[1]
    assert all(each.score >= 0.5 for each in kept)
    assert len(kept) < 3
    assert len(ranker.run(QUERY, given, top_k=1)["documents"]) == 1
    assert ranker.run(QUERY, [])["documents"] == []


def test_the_retriever_goes_through_a_pipeline_and_yaml(faq):
    pipeline = Pipeline()
    pipeline.add_component("faq", IndexDocumentRetriever(str(faq), top_k=2, threads=1))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[OURS])
    found = again.run({"faq": {"query": "I forgot my password"}})["faq"]["documents"]
    own = softquery.Index.open(faq, threads=1).search("I forgot my password", top_k=2)
    assert [(each.id, each.content, each.score) for each in found] == [
        (hit["id"], hit["answer"], hit["score"]) for hit in own
    ]
    assert found[0].meta["question"] == own[0]["question"]
    retriever = again.get_component("faq")
    assert retriever.run("Who won the football match yesterday?")["documents"] == []
    loose = IndexDocumentRetriever(str(faq), min_score=0.0, threads=1)
    found = loose.run("how do I cancel it?", where={"category": "orders"}, top_k=3)["documents"]
    assert [each.meta["category"] for each in found] == ["orders"] * 3


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="SoftqueryDocumentEmbedder takes documents$"):
        SoftqueryTextEmbedder().run(documents())
    with pytest.raises(TypeError, match="^expected a list of documents, got 'a man eats'$"):
        SoftqueryDocumentEmbedder().run("a man eats")
    with pytest.raises(InputError, match="^the documents, row 1: expected a Document, found 'a'$"):
        SoftqueryRanker().run(QUERY, ["a"])
    with pytest.raises(InputError, match="^the documents, row 2: has no text to rank$"):
        SoftqueryRanker(threads=1).run(QUERY, [Document(content="a"), Document(meta={"a": 1})])
    with pytest.raises(ConfigError, match="^expected a name or a folder as text, got Matcher"):
        SoftqueryRanker(softquery.load("match-en"))


def test_the_page(run_examples):
    assert run_examples("Haystack") >= 5
