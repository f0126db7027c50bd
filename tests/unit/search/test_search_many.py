"""Several queries in one call: the same as one by one, to the bit."""

import pytest

from softquery.errors import ConfigError
from softquery.search import Index

QUERIES = ["w1 w41", "w5 and w6", "w1 w41", "nothing known", "w11 w51 w91 w3", "怎么退款"]


@pytest.fixture
def opened(index):
    return Index.open(index.path, model=index.matcher.bundle.path, threads=3)


def seen(result):
    return result.query, result.hits, result.others, result.stages, result.note


@pytest.mark.parametrize("stages", [None, ["words"], ["vectors", "rerank"], ["rerank"]])
@pytest.mark.parametrize("min_score", [None, 0.9])
def test_as_one_by_one(index, opened, stages, min_score):
    options = {"top_k": 4, "min_score": min_score, "stages": stages, "where": {"kind": "odd"}}
    one_by_one = [index.find(query, **options) for query in QUERIES]
    many = opened.search_many(iter(QUERIES), **options)
    assert list(map(seen, many)) == list(map(seen, one_by_one))


def test_alignments_too(index, opened):
    (found,) = opened.search_many(["w1 w41"], explain=True, top_k=2)
    assert found.hits == index.search("w1 w41", explain=True, top_k=2)
    assert "alignment" in found.hits[0]


def test_no_query_is_no_search(opened):
    assert opened.search_many([]) == []


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ("w1", "queries is 'w1', expected a list of texts"),
        (7, "queries is 7, expected a list of texts"),
        (["w1", " "], "query 2: the query is empty"),
        ([b"w1"], "query 1: the query is of type bytes, expected text"),
    ],
)
def test_what_is_no_list_of_queries_is_refused(opened, queries, message):
    with pytest.raises(ConfigError, match=message):
        opened.search_many(queries)


def test_without_a_good_answer_the_nearest_rows_are_told(index):
    found = index.find("w1 w41", min_score=1.0, top_k=3)
    assert (found.hits, found.nearest) == ([], found.others)
    assert len(found.nearest) == 3
    assert found.nearest[0]["score"] >= found.nearest[1]["score"]
    assert index.find("w1 w41", min_score=0.0).nearest == []
