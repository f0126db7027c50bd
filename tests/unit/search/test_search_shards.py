"""Several indexes in folders that are searched as one."""

import pytest

from softquery.errors import InputError
from softquery.search import Index, IndexSettings, evaluate_index, open_index
from softquery.search.any_index import can_be_index

SETTINGS = IndexSettings(min_score=0.0)


@pytest.fixture
def shards(rows, model, tmp_path):
    for place in (0, 1):
        part = rows[6 * place : 6 * place + 6]
        folder = tmp_path / f"part-{place}.sq"
        Index.build(part, folder, model=model, settings=SETTINGS, threads=1)
    return str(tmp_path / "part-*.sq")


def test_hits_and_scores_are_those_of_one_index(shards, index, rows, model):
    # What grows by an addition has a second segment, as two shards have one each.
    whole = Index.build(
        rows[:6], index.path.parent / "whole.sq", model=model, settings=SETTINGS, threads=1
    )
    whole.add(rows[6:])
    together = open_index(shards, threads=1)
    assert len(together) == 12
    assert [row["id"] for row in together.rows()] == [row["id"] for row in whole.rows()]
    for stages in (None, ["words"], ["vectors"], ["words", "vectors"], ["rerank"]):
        for query in ("w3", "w1 w41 w49", "w8 w50 w2"):
            expected = whole.search(query, stages=stages, top_k=12)
            assert together.search(query, stages=stages, top_k=12) == expected
    found = together.search("w3 w4", where={"kind": "odd"}, top_k=12)
    assert {hit["kind"] for hit in found} == {"odd"}


def test_a_shard_that_appears_or_changes_is_searched_after_refresh(shards, model, tmp_path):
    together = open_index(shards, threads=1)
    assert not together.refresh()
    Index.build(
        [{"id": "new", "question": "zebra"}],
        tmp_path / "part-2.sq",
        model=model,
        settings=SETTINGS,
        threads=1,
    )
    Index.open(tmp_path / "part-0.sq", threads=1).delete(["r0"])
    assert together.search("zebra", stages=["words"]) == []
    assert together.refresh()
    assert [hit["id"] for hit in together.search("zebra", stages=["words"])] == ["new"]
    assert len(together) == 12
    assert [path.name for path in together.shards] == ["part-0.sq", "part-1.sq", "part-2.sq"]


def test_shards_are_evaluated(shards):
    from softquery.files import Row

    queries = [Row({"query": "w3 w43", "doc": "r3"}, 2, "q.tsv")]
    report = evaluate_index(open_index(shards, threads=1), queries).report()
    assert report["recall@1"] == 1.0


def test_shards_that_do_not_go_together_are_refused(shards, siamese, model, tmp_path):
    Index.open(tmp_path / "part-1.sq", threads=1).set_min_score(0.5)
    with pytest.raises(InputError, match=r"part-1\.sq: has other settings than .*part-0"):
        open_index(shards)
    rows = [{"question": "a b"}]
    Index.build(rows, tmp_path / "part-0b.sq", model=siamese, settings=SETTINGS, threads=1)
    with pytest.raises(InputError, match=r"part-0b\.sq: was made with another model than .*part-0"):
        open_index(str(tmp_path / "part-0*.sq"))
    with pytest.raises(InputError, match="no index has such a name"):
        open_index(str(tmp_path / "other-*.sq"))


def test_what_is_an_address_of_an_index(shards, tmp_path):
    assert can_be_index(shards)
    assert can_be_index(tmp_path / "part-0.sq")
    assert can_be_index("postgresql:///shop#faq")
    assert not can_be_index("match-en")


def test_shards_with_different_columns_are_summed_up(shards, model, tmp_path):
    from softquery.serve.indexes.index_summary import index_summary

    rows = [
        {"id": f"c{place}", "question": f"w{place} w90", "city": "Oslo" if place % 2 else "Rome"}
        for place in range(9)
    ]
    Index.build(rows, tmp_path / "part-2.sq", model=model, settings=SETTINGS, threads=1)
    found = index_summary(open_index(shards, threads=1))
    assert found["rows"] == 21
    assert found["filters"] == {"kind": ["even", "odd"], "city": ["Oslo", "Rome"]}
