"""What an index and its answers say of themselves, in a line and in a notebook; and frames."""

from xml.etree import ElementTree

import pytest

from foreign_tables import STREAMS, TABLES
from softquery.search import Index

QUERIES = ["w1 w41", "w5 w45"]
every = pytest.mark.parametrize("make", {**TABLES, **STREAMS}.values(), ids=[*TABLES, *STREAMS])


def test_an_index_says_where_it_is_and_what_it_holds(index):
    model = index.matcher.bundle.path.name
    assert repr(index) == f"Index({str(index.path)!r}, {len(index):,} rows, model={model!r})"


def test_a_result_is_a_line_with_the_best_hit(index):
    found = index.find("w1 w41", min_score=0, top_k=2)
    best = found.hits[0]
    shown = f"best {best['score']:.3f}: {best['question']!r}"
    assert repr(found) == f"SearchResult('w1 w41', 2 hits, {shown})"
    assert repr(index.find("w1 w41", min_score=1)) == "SearchResult('w1 w41', no good answer)"


def test_hits_are_a_table_in_a_notebook(index):
    found = index.find("w1 w41", min_score=0, top_k=3)
    table = ElementTree.fromstring(found._repr_html_())
    cells = [[cell.text for cell in row] for row in table.find("tbody")]
    assert cells == [[f"{h['score']:.3f}", h["question"], h["answer"] or None] for h in found.hits]


def test_without_a_good_answer_the_nearest_are_grey(index):
    found = index.find("w1 w41", min_score=1, top_k=3)
    table = ElementTree.fromstring(found._repr_html_())
    assert table.find("caption").text == "w1 w41: no good answer; nearest questions"
    rows = table.find("tbody")
    assert [row[1].text for row in rows] == [hit["question"] for hit in found.nearest]
    assert all("opacity" in row.attrib["style"] for row in rows)


@every
def test_rows_come_from_tables(rows, model, make, tmp_path):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["answer"][1] = None
    built = Index.build(make(columns), tmp_path / "faq.sq", model=model)
    kept = [{**row, "answer": row["answer"] or ""} for row in zip_rows(columns)]
    assert list(built.rows()) == kept
    more = make({"question": ["w30 w70"], "answer": ["more"]})
    assert built.add(more).added == 1


def zip_rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@every
def test_queries_come_from_tables(index, make):
    found = index.search_many(make({"number": [1, 2], "query": QUERIES}), top_k=1)
    assert [each.query for each in found] == QUERIES
    assert [each.hits for each in found] == [index.search(query, top_k=1) for query in QUERIES]
