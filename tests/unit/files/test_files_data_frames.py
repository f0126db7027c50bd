"""Tables of other packages, read by what they offer."""

import pytest

from foreign_tables import STREAMS, TABLES, PlainFrame
from softquery.errors import InputError
from softquery.files import read_rows
from softquery.files.data_frames import column_names, is_table, plain_values, table_columns

COLUMNS = {"question": ["how?", "where?"], "answer": ["so", None], "n": [1, 2]}
every = pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)


@every
def test_columns_are_plain_values(make):
    table = make(COLUMNS)
    assert is_table(table)
    assert column_names(table) == list(COLUMNS)
    assert table_columns(table, ["question", "n"], instead="") == [["how?", "where?"], [1, 2]]


@pytest.mark.parametrize("make", {**TABLES, **STREAMS}.values(), ids=[*TABLES, *STREAMS])
def test_rows_are_those_of_a_list(make):
    read = read_rows(make(COLUMNS), columns=["question"], optional=["answer", "n"])
    assert [row.values for row in read] == [
        {"question": "how?", "answer": "so", "n": "1"},
        {"question": "where?", "answer": "", "n": "2"},
    ]


@every
def test_a_missing_column_is_named_with_those_that_are_there(make):
    table = make(COLUMNS)
    message = rf'^the {type(table).__name__}: no column "text"; found: question, answer, n; do so$'
    with pytest.raises(InputError, match=message):
        table_columns(table, ["text"], instead="do so")


def test_of_two_columns_with_a_name_none_is_chosen():
    twice = type("Twice", (PlainFrame,), {"columns": ["text", "text"]})({"text": ["a"]})
    with pytest.raises(InputError, match='^the Twice: 2 columns are called "text"$'):
        table_columns(twice, ["text"], instead="")


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="^the dict: columns differ in length: 1, 2 rows$"):
        table_columns({"a": ["x"], "b": ["y", "z"]}, ["a", "b"], instead="")


def test_several_tables_are_not_one():
    with pytest.raises(InputError, match='holds several tables; choose one, such as \\["train"\\]'):
        table_columns({"train": {"text": ["a"]}}, ["text"], instead="")


def test_a_plan_is_not_computed():
    lazy = pytest.importorskip("polars").LazyFrame({"text": ["a"]})
    with pytest.raises(InputError, match=r"has not been computed yet; write \.collect\(\)$"):
        table_columns(lazy, ["text"], instead="")


@pytest.mark.parametrize("given", ["ab", b"ab", ["a"], ("a",), 7, None, {"a": "b"}, {}, {1}])
def test_what_is_no_table(given):
    assert not is_table(given)


def test_values_of_arrays_are_plain():
    pyarrow = pytest.importorskip("pyarrow")
    assert plain_values(pyarrow.array(["a", None])) == ["a", None]
    assert plain_values(pyarrow.chunked_array([["a"], ["b"]])) == ["a", "b"]
    assert plain_values(word for word in ("a", "b")) == ["a", "b"]
