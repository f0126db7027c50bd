"""Arguments of the wrong type are refused by name, before anything is computed or written."""

import math
from decimal import Decimal

import numpy as np
import pytest

from softquery import Index
from softquery.errors import ConfigError, InputError, SoftqueryError
from softquery.search import IndexSettings

NOT_TEXT = {
    "a number": 7,
    "zero": 0,
    "NaN": math.nan,
    "a float of numpy": np.float32(1.5),
    "a decimal": Decimal("1.5"),
    "bytes": b"how do I pay",
    "true": True,
    "an object": {"text": "w1"},
}


@pytest.mark.parametrize("value", NOT_TEXT.values(), ids=NOT_TEXT)
def test_a_question_is_a_text(value, model, index, tmp_path):
    rows = [{"question": "w1"}, {"question": value}]
    with pytest.raises(InputError, match=r"the data, row 2: question is .*, expected text"):
        Index.build(rows, tmp_path / "new.sq", model=model, threads=1)
    assert not (tmp_path / "new.sq").exists()
    with pytest.raises(InputError, match=r"the data, row 2: question is .*, expected text"):
        index.add(rows)


def test_a_renamed_question_is_a_text(model, tmp_path):
    with pytest.raises(InputError, match="row 1: question is a number"):
        Index.build(
            [{"title": 7}],
            tmp_path / "new.sq",
            model=model,
            columns={"question": "title"},
            threads=1,
        )


@pytest.mark.parametrize("column", ["id", "answer", "colour"])
@pytest.mark.parametrize(
    "value",
    [b"x", bytearray(b"x"), math.nan, np.float64("nan"), math.inf, Decimal("nan"), object()],
    ids=["bytes", "a bytearray", "NaN", "numpy's NaN", "infinity", "a decimal NaN", "an object"],
)
def test_other_columns_are_texts_numbers_or_lists(column, value, index):
    with pytest.raises(InputError, match=rf"the data, row 1: {column} is "):
        index.add([{"id": "1", "question": "w1", column: value}])


def test_other_columns_may_be_numbers(index):
    row = {"id": 41, "question": "w1", "answer": None, "price": 1.5, "tags": ["a"], "new": True}
    index.add([row])
    (found,) = (each for each in index.rows() if each["id"] == "41")
    assert found["price"] == "1.5"
    assert (found["tags"], found["new"], found["answer"]) == ('["a"]', "true", "")


@pytest.mark.parametrize("column", [7, b"colour", None])
def test_names_of_columns_are_texts(column, index):
    with pytest.raises(InputError, match="row 1: the column name .* is not a text"):
        index.add([{"question": "w1", column: "x"}])


def test_a_name_that_no_index_could_hold_is_refused_before_it_is_written(model, index, tmp_path):
    rows = [{"question": "w1", "col\0our": "red"}]
    with pytest.raises(InputError, match=r"row 1: the column name 'col\\x00our' holds a NUL"):
        index.add(rows)
    with pytest.raises(InputError, match="holds a NUL"):
        Index.build(rows, tmp_path / "new.sq", model=model, threads=1)
    assert not (tmp_path / "new.sq").exists()


@pytest.mark.parametrize(
    "where",
    [
        {"kind": b"even"},
        {"kind": [b"even"]},
        {"kind": ["even", 7]},
        {"kind": 7},
        {"kind": None},
        {"kind": math.nan},
        {"kind": {"a": "b"}},
        {b"kind": "even"},
        {7: "even"},
        ["kind"],
        "kind=even",
        b"kind",
    ],
    ids=repr,
)
def test_conditions_are_texts(where, index):
    with pytest.raises(ConfigError, match="^where"):
        index.search("w1", where=where)


@pytest.mark.parametrize("query", [b"w1", 7, math.nan, None, ["w1"]], ids=repr)
def test_a_query_is_a_text(query, index):
    with pytest.raises(ConfigError, match="the query is .*, expected text"):
        index.search(query)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top_k", 2.5),
        ("top_k", "3"),
        ("top_k", True),
        ("top_k", None),
        ("top_k", math.nan),
        ("candidates", 2.5),
        ("candidates", "3"),
        ("candidates", None),
        ("min_score", "0.5"),
        ("min_score", b"0"),
        ("min_score", True),
        ("min_score", math.nan),
    ],
)
def test_numbers_are_numbers(name, value, index):
    with pytest.raises(ConfigError, match=f"^{name} must be "):
        index.search("w1", **{name: value})


@pytest.mark.parametrize("ids", [[b"r1"], [7], [None], 7, b"r1", "r1", [math.nan]], ids=repr)
def test_ids_are_texts(ids, index):
    before = len(index)
    with pytest.raises((SoftqueryError, TypeError), match="ids"):
        index.delete(ids)
    assert len(index) == before


@pytest.mark.parametrize("value", ["0.5", b"0", True, math.nan, 2], ids=repr)
def test_a_threshold_is_a_number(value, index):
    with pytest.raises(ConfigError, match="min_score must be from 0 to 1"):
        index.set_min_score(value)
    with pytest.raises(ConfigError, match="min_score must be from 0 to 1"):
        IndexSettings(min_score=value)
    with pytest.raises(ConfigError, match="min_score must be from 0 to 1"):
        index.duplicates(min_score=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("vectors", 7), ("word_columns", (b"question",)), ("recall_weight", "1"),
     ("recall_weight", math.nan), ("encodings", b"int8")],
)  # fmt: skip
def test_settings_are_of_their_types(name, value):
    with pytest.raises(ConfigError, match=name):
        IndexSettings(**{name: value})
