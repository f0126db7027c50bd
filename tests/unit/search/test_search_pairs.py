"""A matcher that reads both sentences as one reranks as well: it reads pairs."""

import numpy as np
import pytest

from softquery import load
from softquery.errors import BundleError
from softquery.files import Row
from softquery.search import Index, IndexSettings, compare_stages, evaluate_index

ROWS = [
    {"id": f"r{number}", "question": f"a cat eats {number} fish", "answer": str(number)}
    for number in range(9)
]
QUERY = "the cat eats 3 fish"


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A matcher of random weights that reads both sentences as one."""
    pytest.importorskip("torch")
    from bert_head_cases import CASES

    folder = tmp_path_factory.mktemp("pairs") / "ours"
    next(case for case in CASES if case.kind == "matcher").write(folder)
    return folder


@pytest.fixture(scope="module")
def faq(cross_encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs") / "faq.sq"
    settings = IndexSettings(min_score=0.0)
    return Index.build(ROWS, folder, model=cross_encoder, settings=settings, threads=1)


def test_it_stores_no_encodings_and_takes_the_shipped_encoder(faq):
    settings = faq.manifest.settings
    assert (settings.vectors, settings.encodings, settings.score) == ("embed-en", "none", "fused")
    assert all(segment.encodings is None for segment in faq.segments)


def test_scores_are_those_of_the_pairs(faq, cross_encoder):
    hits = faq.search(QUERY, stages=["rerank"], top_k=9)
    matcher = load(cross_encoder)
    pairs = [(QUERY, hit["question"]) for hit in hits]
    expected = matcher.probabilities(pairs)[:, matcher.column()]
    np.testing.assert_allclose([hit["score"] for hit in hits], expected, atol=1e-5)
    assert len(hits) == 9


@pytest.mark.parametrize(
    "stages", [None, ["words", "rerank"], ["vectors", "rerank"], ["words", "vectors"]], ids=str
)
def test_any_stages_go_with_it(stages, faq):
    found = faq.find(QUERY, stages=stages, top_k=3)
    assert len(found.hits) == 3
    steps = faq.steps(QUERY, stages=stages, top_k=3)
    for _ in steps.recall():
        pass
    for step in steps.comparisons():
        step.run()
    steps.alignments()
    assert [hit["id"] for hit in steps.result().hits] == [hit["id"] for hit in found.hits]


def test_evaluate_compares_what_pays(faq):
    rows = [Row({"query": f"cat eats {n} fish", "doc": f"r{n}"}, 1, "q") for n in range(9)]
    assert 0 < evaluate_index(faq, rows).metrics()["mrr"] <= 1
    subsets = [("words",), ("words", "vectors"), ("words", "vectors", "rerank")]
    report = compare_stages(faq, rows, subsets).report()
    assert len(report["compared"]) == 3
    assert tuple(report["recommended"]) in subsets


def test_rows_are_changed_and_the_index_is_opened_and_served(faq, cross_encoder):
    from softquery.serve.catalogue import open_index
    from softquery.serve.indexes.index_summary import index_summary

    opened = Index.open(faq.path, threads=1)
    opened.add([{"id": "dog", "question": "a dog sleeps"}])
    assert opened.search("a dog sleeps", stages=["words"])[0]["id"] == "dog"
    served = open_index("faq", str(faq.path), matchers=[])
    assert index_summary(served.model)["explains"] is False
    opened.delete(["dog"])
    assert len(Index.rebuild(faq.path, threads=1)) == 9


def test_what_it_cannot_do_is_refused(faq, cross_encoder, tmp_path):
    settings = IndexSettings(encodings="int8")
    with pytest.raises(BundleError, match="reads both sentences as one, so that no encoding can"):
        Index.build(ROWS, tmp_path / "faq.sq", model=cross_encoder, settings=settings)
    with pytest.raises(BundleError, match="aligns no words"):
        faq.search(QUERY, explain=True)
