"""Odd indexes and odd queries have the results that docs/index-rows.md tells."""

import pytest

from softquery.errors import ConfigError, InputError
from softquery.search import Index

THREE = [
    {"id": "password", "question": "How do I reset my password?", "answer": "Choose Forgot."},
    {"id": "delivery", "question": "How long does delivery take?", "answer": "Two days."},
    {"id": "cards", "question": "Which cards do you accept?", "answer": "All."},
]
SCRIPTS = [
    {"id": "latin", "question": "How do I pay?"},
    {"id": "cyrillic", "question": "Как мне заплатить?"},
    {"id": "arabic", "question": "كيف أدفع؟"},
    {"id": "devanagari", "question": "मैं भुगतान कैसे करूँ?"},
    {"id": "greek", "question": "Πώς πληρώνω;"},
]
SUBSETS = [["words"], ["vectors"], ["words", "vectors"], ["words", "vectors", "rerank"]]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return Index.build(THREE, tmp_path_factory.mktemp("odd") / "three.sq", threads=1)


def test_three_rows_are_enough(three):
    (hit,) = three.search("I forgot my password")
    assert hit["id"] == "password"
    assert three.search("What is the capital of France?") == []
    assert len(three.find("What is the capital of France?", top_k=9).nearest) == 3


def test_one_row_is_enough(tmp_path):
    index = Index.build(THREE[:1], tmp_path / "one.sq", threads=1)
    assert index.find("I forgot my password", min_score=0.0).hits[0]["id"] == "password"
    assert index.duplicates() == []


def test_one_row_twice(tmp_path):
    """Without ids it is one row; with two ids it is two, and neither is a rival of the other."""
    index = Index.build([{"question": "How do I pay?"}] * 2, tmp_path / "same.sq", threads=1)
    assert (len(index), len(index.last_changes.repeats)) == (1, 1)
    rows = [{"id": key, "question": "How do I pay?", "answer": "By card."} for key in "ab"]
    index = Index.build(rows, tmp_path / "twice.sq", threads=1)
    hits = index.search("How can I pay?", min_score=0.0)
    assert {hit["id"] for hit in hits} == {"a", "b"}
    assert hits[0]["score"] == hits[1]["score"]
    (pair,) = index.duplicates()
    assert (pair.is_exact, {pair.first, pair.second}) == (True, {"a", "b"})


def test_rows_in_five_scripts(tmp_path):
    """They are refused with a way out; with a matcher named, words still find every row."""
    with pytest.raises(InputError, match=r"1 row is in .*, and an index has one matcher"):
        Index.build(SCRIPTS, tmp_path / "refused.sq", threads=1)
    index = Index.build(SCRIPTS, tmp_path / "five.sq", model="match-en", threads=1)
    assert sum(index.last_changes.unread.values()) == 4
    for row in SCRIPTS:
        found = index.find(row["question"], min_score=0.0, stages=["words"])
        assert found.hits[0]["id"] == row["id"]
        assert index.find(row["question"], min_score=0.0).hits


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
@pytest.mark.parametrize("query", ["a", "x", "?", "中", "0", "👍", "👩‍👩‍👧‍👦🇪🇺", "\u200b.", "́"])
def test_a_query_of_one_mark_finds_no_good_answer(query, stages, three):
    found = three.find(query, stages=stages)
    assert found.hits == []
    assert all(0 <= row["score"] <= 1 for row in found.nearest)


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
def test_a_query_of_ten_thousand_words_is_cut_and_answered(stages, three):
    long = "How do I reset my password? " + "password " * 10_000
    found = three.find(long, stages=stages, min_score=0.0)
    assert found.hits[0]["id"] == "password"
    assert three.steps(long, stages=stages).is_truncated
    noise = " ".join(f"word{number}" for number in range(10_000))
    assert three.search(noise, stages=stages) == []


def test_a_query_of_nothing_is_refused(three):
    for query in ("", " ", "\n\t"):
        with pytest.raises(ConfigError, match="the query is empty"):
            three.search(query)
    with pytest.raises(ConfigError, match="query 2: the query is empty"):
        three.search_many(["a", " "])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no rows|are no queries|no rows"),
        ([{"query": "a"}], "a log needs at least 20 different queries"),
        ([{"query": "a", "doc": "none such"}] * 20, "neither an id nor a question"),
        ([{"query": f"q{n}", "doc": "cards"} for n in range(5)], "20"),
        ([{"query": f"q{n}", "doc": ""} for n in range(30)], "answer"),
        ([{"query": "q", "doc": "cards", "relevance": "much"}] * 20, "relevance"),
        ([{"text": "q", "doc": "cards"}], "query"),
    ],
    ids=range(7),
)
def test_a_wrong_tune_file_is_refused_and_changes_nothing(rows, message, three):
    before = three.manifest
    with pytest.raises(InputError, match=message):
        three.tune(rows, force=True)
    assert Index.open(three.path, threads=1).manifest == before
