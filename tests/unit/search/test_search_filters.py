"""Conditions by number and by date."""

from datetime import date

import pytest

from softquery.errors import ConfigError, InputError
from softquery.search.query.filters import parse_conditions, time_of

PRICES = ["5", "19.90", "20", "1e2", "nineteen", ""]
DATES = ["2026-01-01", "2026-01-31", "2026-01-31T15:00", "2026-02-01T00:30+01:00", "soon", ""]


@pytest.fixture(scope="module")
def shop(model, tmp_path_factory):
    from softquery.search import Index

    rows = [
        {"id": f"r{n}", "question": f"w{n}", "price": PRICES[n], "date": DATES[n]} for n in range(6)
    ]
    folder = tmp_path_factory.mktemp("filters") / "shop.sq"
    index = Index.build(rows[:4], folder, model=model, threads=1)
    index.add(rows[4:])
    index.add([{"id": "r6", "question": "w6"}])  # without the columns
    return index


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"price": {"<": 20}}, "r0 r1"),
        ({"price": {"<=": "20", ">": 5}}, "r1 r2"),
        ({"price": {">=": 20}}, "r2 r3"),
        ({"price": {"!=": "20"}}, "r0 r1 r3 r4 r5 r6"),
        ({"price": {"<": 20}, "id": ["r1", "r2"]}, "r1"),
        ({"date": {">=": "2026-01-31"}}, "r1 r2 r3"),
        ({"date": {"<=": "2026-01-31"}}, "r0 r1 r2 r3"),  # r3 is 23:30 of that day in UTC
        ({"date": {">": "2026-01-31"}}, ""),
        ({"date": {">": date(2026, 1, 30), "<": "2026-01-31T15:00"}}, "r1"),
    ],
    ids=str,
)
def test_rows_within_bounds_are_found(shop, where, expected):
    found = shop.find("w1", where=where, top_k=9, stages=["rerank"])
    assert sorted(row["id"] for row in (*found.hits, *found.others)) == expected.split()


def test_bounds_are_met_by_what_was_added_later(shop):
    assert shop.search("w1", where={"price": {">": 1000}}, min_score=0.0) == []
    shop.add([{"id": "r7", "question": "w7", "price": "2000"}])
    (hit,) = shop.search("w1", where={"price": {">": 1000}}, min_score=0.0)
    assert hit["id"] == "r7"
    shop.delete(["r7"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"price": {}}, "where: 'price' has no bounds"),
        ({"price": {"=<": 20}}, "where: 'price' has '=<', expected one of < <= > >= !="),
        ({"price": {"<": True}}, "where: 'price' < a value of type bool"),
        ({"price": {"<": None}}, "where: 'price' < a value of type NoneType"),
        ({"price": {"<": "cheap"}}, "number or a date such as 2026-01-31, got 'cheap'"),
        ({"price": {"<": float("nan")}}, "number or a date such as 2026-01-31, got 'nan'"),
    ],
    ids=str,
)
def test_bounds_that_cannot_be_met_are_refused(shop, where, message):
    with pytest.raises(ConfigError, match=message):
        shop.search("w1", where=where)


def test_a_column_without_a_number_is_named(shop):
    with pytest.raises(InputError, match="column 'question' holds nowhere a number to compare"):
        shop.search("w1", where={"question": {"<": 3}})
    with pytest.raises(InputError, match="column 'price' holds nowhere a date such as 2026-01-31"):
        shop.search("w1", where={"price": {"<": "2026-01-01"}})


def test_times_have_zones():
    assert (
        time_of("2026-01-01T01:00+01:00") == time_of("2026-01-01T00:00Z") == time_of("2026-01-01")
    )


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["price"], "takes column=value"),
        (["<20"], "takes column=value"),
        (["price<20", "price<30"], "names 'price' < twice"),
        (["price<20", "price=3"], "with = and with bounds"),
    ],
    ids=str,
)
def test_what_is_typed_wrongly_is_refused(typed, message):
    with pytest.raises(ConfigError, match=message):
        parse_conditions(typed)


def test_a_value_may_hold_operators():
    assert parse_conditions(["name=a<b=c"]) == {"name": ["a<b=c"]}
