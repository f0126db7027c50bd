"""Bodies: what is wrong with very many values is said of the first one."""

import json

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from pydantic import ValidationError

from softquery.serve.body_reading import check_structure
from softquery.serve.dialects.own import GenerateBody, MatchBody, ReadBody, SearchBody, TokensBody
from softquery.serve.dialects.tei import RerankBody
from softquery.serve.faults import Fault

MANY = 2_000


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (TokensBody, {"texts": [1] * MANY}),
        (TokensBody, {"texts": [[1] * MANY]}),
        (TokensBody, {"texts": [[]] * MANY}),
        (MatchBody, {"pairs": [{}] * MANY}),
        (ReadBody, {"questions": [{"question": 1}] * MANY}),
        (GenerateBody, {"texts": ["a"], "ban": [1] * MANY}),
        (GenerateBody, {"texts": ["a"], "rules": ["none"] * MANY}),
        (RerankBody, {"query": "a", "texts": [None] * MANY}),
        (SearchBody, {"query": "a", "where": {str(name): 1 for name in range(MANY)}}),
        (SearchBody, {"query": "a", "where": {"a": [1] * MANY}}),
    ],
)
def test_the_first_fault_of_a_list_is_enough(body, fields):
    with pytest.raises(ValidationError) as caught:
        body.model_validate(fields)
    assert caught.value.error_count() <= 4


def test_an_object_of_few_names_is_taken():
    assert SearchBody(query="a", where={"a": ["b"], "c": "d"}).where == {"a": ["b"], "c": "d"}


@pytest.mark.parametrize(
    "body",
    [
        [[]] * 20_000,
        [{}] * 20_000,
        [1] * 400_000,
        {"texts": ["[]"], "unknown": [[]] * 20_000},
    ],
)
def test_bodies_of_very_many_values_are_refused(body):
    with pytest.raises(Fault, match="more values than a request may hold"):
        check_structure(json.dumps(body).encode(), max_texts=1_000, max_tokens=300_000)


@pytest.mark.parametrize(
    "body",
    [
        {"texts": ["[{" * 10_000, "," * 400_000, '\\"[' * 20_000]},
        {"texts": [["a"] * 299_000]},
        {"pairs": [{"sentence1": "a", "sentence2": "b"}] * 1_000},
        {"inputs": [["a", "b"]] * 1_000},
    ],
)
def test_texts_may_hold_what_they_like(body):
    check_structure(json.dumps(body).encode(), max_texts=1_000, max_tokens=300_000)
