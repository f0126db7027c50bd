"""A search by any of its stages: what it finds, in which order, and what the scores are."""

from itertools import combinations

import numpy as np
import pytest
from test_search_steps import in_steps, many_rows

from softquery.errors import ConfigError
from softquery.files import Row
from softquery.search import STAGES, Index, IndexSettings, compare_stages, evaluate_index
from softquery.search.query import retrieval
from softquery.search.query.filters import allowed_rows
from softquery.search.query.retrieval import FUSION, recall
from softquery.search.query.stages import checked_stages

SUBSETS = [each for count in (1, 2, 3) for each in combinations(STAGES, count)]
QUERY = "w1 w2 w3 w4"


@pytest.fixture(params=["int8", "none"])
def large(request, model, tmp_path):
    settings = IndexSettings(encodings=request.param, min_score=0.4)
    index = Index.build(
        many_rows(), tmp_path / "large.sq", model=model, settings=settings, threads=1
    )
    index.add([{"id": "new", "question": "w1 w2 w3"}])  # a second segment
    return index


def scores(result):
    return [(hit["id"], hit["score"]) for hit in result.hits + result.others]


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
@pytest.mark.parametrize(
    "options",
    [{}, {"top_k": 40, "candidates": 90}, {"where": {"kind": "odd"}, "explain": True}],
)
def test_steps_find_what_a_search_finds(large, stages, options):
    found = large.find(QUERY, stages=stages, **options)
    again = in_steps(large, QUERY, stages=stages, **options)
    assert (found.hits, found.others, found.stages) == (again.hits, again.others, again.stages)
    assert found.stages == stages
    assert set(found.seconds) - {"read", "explain"} == {*stages, "total"}
    order = [hit["score"] for hit in found.hits + found.others]
    assert order == sorted(order, reverse=True)


def test_all_stages_are_the_default(large):
    expected = large.find(QUERY)
    assert expected.stages == STAGES
    assert scores(large.find(QUERY, stages=["rerank", "words", "vectors", "words"])) == scores(
        expected
    )


def test_scores_are_those_of_the_stages(large):
    def ranked(*stages):
        return dict(scores(large.find(QUERY, stages=stages, top_k=200, candidates=200)))

    words, vectors, both = ranked("words"), ranked("vectors"), ranked("words", "vectors")
    vector = large.models.vector(QUERY)
    for segment in large.segments:
        cosines = segment.vectors.stored.astype(np.float32) @ vector
        for key, cosine in zip(segment.ids, cosines.tolist(), strict=True):
            assert vectors[key] == pytest.approx(cosine, abs=2e-3)
    assert min(words.values()) > 0
    assert len(words) < len(vectors) == len(both) == len(large)
    ranks = [{key: rank for rank, key in enumerate(each, 1)} for each in (words, vectors)]
    for key, score in both.items():
        parts = [1 / (FUSION + each[key]) for each in ranks if key in each]
        assert score == pytest.approx(sum(parts) * (FUSION + 1) / 2)
    assert all(0 <= score <= 1 for score in ranked("rerank").values())


def test_rerank_alone_compares_every_row(large):
    found = large.find(QUERY, stages=["rerank"], candidates=3, top_k=200)
    assert len(scores(found)) == len(large)
    questions = {row["id"]: row["question"] for row in large.rows()}
    best, score = scores(found)[0]
    stored = large.find(QUERY, stages=["vectors"], top_k=200, candidates=200)
    assert {key for key, _ in scores(stored)} == set(questions)
    direct = large.matcher.rank(QUERY, list(questions.values()))
    assert score == pytest.approx(direct[0]["score"], abs=0.02)  # stored ones are rounded
    odd = large.find(QUERY, stages=["rerank"], where={"kind": "odd"}, top_k=200)
    assert {hit["kind"] for hit in odd.hits + odd.others} == {"odd"}
    assert best in questions


def test_rerank_alone_has_a_limit(large, monkeypatch):
    monkeypatch.setattr(retrieval, "MOST_CANDIDATES", 60)
    message = "rerank alone compares every row, here 91, and may compare 60; name words or vectors"
    with pytest.raises(ConfigError, match=message):
        large.find(QUERY, stages=["rerank"])
    assert large.find(QUERY, stages=["rerank"], where={"kind": "odd"}, min_score=0.0).hits


def test_without_rerank_nothing_is_compared_and_the_threshold_is_not_applied(large, monkeypatch):
    expected = [large.search(QUERY, stages=each) for each in SUBSETS if "rerank" not in each]
    monkeypatch.setattr(type(large.matcher), "compare", None)
    found = [large.search(QUERY, stages=each) for each in SUBSETS if "rerank" not in each]
    assert found == expected
    assert [len(hits) for hits in found] == [5, 5, 5]
    best = found[0][0]["score"]
    assert best > 1  # BM25 is no probability
    assert len(large.search(QUERY, stages=["words"], min_score=best)) == 1
    assert large.search(QUERY, stages=["words"], min_score=best + 1) == []
    with pytest.raises(ConfigError, match="min_score must be a number, got nan"):
        large.search(QUERY, stages=["words"], min_score=float("nan"))


def test_words_that_nobody_knows(large):
    assert large.search("nothing known", stages=["words"]) == []
    assert large.search("nothing known", stages=["words", "rerank"], min_score=0.0) == []


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (["words", "colours"], "no stage is called 'colours'; known: words, vectors, rerank"),
        ([], "stages names none; expected some of words, vectors, rerank"),
        ("words", "stages is 'words', expected a list of words, vectors, rerank"),
        (7, "stages is 7, expected a list"),
        ([7], "no stage is called 7"),
        ([["words"]], "no stage is called"),
    ],
)
def test_refusals(index, stages, said):
    for ask in (index.search, index.find, index.steps):
        with pytest.raises(ConfigError, match=said):
            ask("w1", stages=stages)


def test_a_stage_that_an_index_lacks(index, monkeypatch):
    monkeypatch.setattr(Index, "stages", ("words", "rerank"))
    assert index.find("w1").stages == ("words", "rerank")
    with pytest.raises(ConfigError, match="this index has no stage 'vectors'; it has words"):
        index.search("w1", stages=["vectors"])


def test_recall_says_what_each_list_is(large):
    masks = allowed_rows(large.segments, {})
    only = recall(large.segments, large.models, QUERY, 50, masks, checked_stages(["words"]))
    every = recall(large.segments, large.models, QUERY, 50, masks)
    assert only.by_words == every.by_words == only.scores
    assert only.by_vectors == {}
    assert set(only.seconds) == {"read", "words"}


def queries(index):
    return [
        Row({"query": row["question"], "doc": row["id"]}, number, "queries.tsv")
        for number, row in enumerate(index.rows(), 2)
    ]


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
def test_an_evaluation_by_some_stages(index, stages):
    evaluation = evaluate_index(index, queries(index), stages=stages)
    report = evaluation.report()
    assert report["used"] == list(stages)
    expected = {*stages, "hybrid"} if {"words", "vectors"} <= set(stages) else set(stages)
    assert set(report["stages"]) == expected
    assert report["mrr"] == report["stages"][evaluation.last]["mrr"]
    assert ("rerank" in stages) == (report["answers"]["min_score"] is not None)
    assert report["answers"]["answered"] == 1
    for each, query in zip(evaluation.ranked[evaluation.last], evaluation.queries, strict=True):
        best = index.search(query.query, stages=stages, min_score=0.0)
        assert [hit["id"] for hit in best] == each[: len(best)]


def test_stages_are_compared(index):
    done = []
    subsets = [("words",), ("words", "vectors", "rerank"), ("words",), ("rerank",)]
    comparison = compare_stages(index, queries(index), subsets, advance=done.append)
    report = comparison.report()
    assert done == list(range(1, 3 * len(index) + 1))
    assert [each["stages"] for each in report["compared"]] == [
        ["words"],
        ["words", "vectors", "rerank"],
        ["rerank"],
    ]
    assert report["compared"][0]["mrr"] == 1
    assert all(each["milliseconds_p50"] > 0 for each in report["compared"])
    assert report["recommended"] == ["words"]  # which finds all, and in the least time
    assert len(report["gains"]) == 2
    assert not any(gain["pays"] for gain in report["gains"])
    assert all(gain["mrr"] <= 0 for gain in report["gains"])


def test_a_slower_subset_that_is_surely_better_pays(index):
    found = compare_stages(index, queries(index), [("rerank",), ("words",)])
    slow, fast = found.evaluations
    slow.seconds["total"][:] = [0.001] * len(index)  # as if words took longer
    fast.seconds["total"][:] = [0.002] * len(index)
    (gain,) = found.gains()
    assert (gain.stages, gain.faster) == (("words",), ("rerank",))
    assert gain.pays
    assert gain.bounds.low > 0
    assert found.recommended() == ("words",)


def test_no_query_was_read_before_it_is_timed(index, monkeypatch):
    """Of several subsets, all but the first would find the queries in the matcher's cache."""
    read, encode = [], index.matcher.backend.encode

    def counted(sentences):
        read.extend(map(tuple, sentences))
        return encode(sentences)

    monkeypatch.setattr(index.matcher.backend, "encode", counted)
    rows = queries(index)
    asked = {tuple(each) for each in index.matcher.read([row.values["query"] for row in rows])[0]}
    compare_stages(index, rows, [("vectors",), ("words", "vectors")])
    assert all(read.count(each) >= 2 for each in asked)
