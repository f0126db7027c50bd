"""TEI's addresses against what it publishes, and those for tokens against the models in process."""

import math
import zlib

import numpy as np
import pytest
from serving import in_thread
from tei_contract import ADDRESSES, ERROR_TYPES, INFO, MODEL_TYPES, STATUSES

import softquery
from softquery.serve import Limits, Settings
from softquery.serve.catalogue import Catalogue, served_index

TEXTS = ["How do I reset my password?", "", "a b"]
LONG = {"inputs": "password a " * 150, "model": "match-en"}
QUERY = "how can I reset the password"


@pytest.fixture(scope="module")
def index(shop):
    return softquery.Index.open(shop / "faq-en.sq", threads=1)


@pytest.fixture(scope="module")
def tei(catalogue, index):
    """A server for everything that TEI has an address for."""
    whole = Catalogue(catalogue.models, (served_index("faq", index),))
    limits = Limits(max_text=2_000, max_texts=20)
    with in_thread(Settings(models=("match-en",), threads=2, limits=limits), whole) as running:
        yield running


@pytest.fixture(scope="module")
def document(tei):
    return tei.ask("/openapi.json").json()


def resolved(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def alternatives(document, schema):
    schema = resolved(document, schema)
    found = schema.get("anyOf", schema.get("oneOf"))
    return (
        [schema] if found is None else [each for s in found for each in alternatives(document, s)]
    )


def spelt(document, schema, depth=0):
    """A schema in the notation of the contract."""
    names = {"string": "text", "number": "number", "integer": "whole", "boolean": "yes"}
    found, nullable = set(), False
    for each in alternatives(document, schema):
        kind = each.get("type")
        if kind == "null":
            nullable = True
        elif kind == "array":
            found.add(f"[{spelt(document, each['items'])}]")
        elif kind == "object":
            parts = sorted(each.get("properties", {}).items())
            found.add("{" + ", ".join(f"{n}: {spelt(document, s)}" for n, s in parts) + "}")
        else:
            found.add(names[kind])
    return " | ".join(sorted(found)) + "?" * nullable


def bodies(document, path):
    body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return alternatives(document, body["schema"])


@pytest.mark.parametrize("path", ADDRESSES)
def test_the_document_says_what_theirs_says(document, path):
    wanted, found = ADDRESSES[path], bodies(document, path)
    fitting = [each for each in found if set(each["required"]) == set(wanted.needs)]
    assert fitting, [each["required"] for each in found]
    fields = {name for each in fitting for name in each["properties"]}
    assert {*wanted.needs, *wanted.takes} - fields == set()
    for name, kind in wanted.needs.items():
        ours = {
            kind
            for each in fitting
            for kind in spelt(document, each["properties"][name]).split(" | ")
        }
        assert ours >= set(kind.split(" | "))
    responses = document["paths"][path]["post"]["responses"]
    answer = responses["200"]["content"]["application/json"]["schema"]
    given = {spelt(document, each) for each in alternatives(document, answer)}
    assert set(wanted.answers.split(" | ")) <= given
    assert {str(status) for status in wanted.refuses} <= set(responses)


def test_refusals_have_their_shape_and_their_types(document):
    for path in ADDRESSES:
        for status, response in document["paths"][path]["post"]["responses"].items():
            if status == "200":
                continue
            schema = resolved(document, response["content"]["application/json"]["schema"])
            assert set(schema["required"]) == {"error", "error_type"}
            assert set(schema["properties"]["error_type"]["enum"]) == ERROR_TYPES


def test_information_has_what_theirs_has(tei, document):
    answer = document["paths"]["/info"]["get"]["responses"]["200"]["content"]["application/json"]
    schema = resolved(document, answer["schema"])
    assert set(INFO) <= set(schema["required"])
    types = {"text": str, "whole": int, "yes": bool, "object": dict}
    for path, wanted in (("/info", "reranker"), ("/models/elmo-en/info", "embedding")):
        found = tei.ask(path).json()
        assert {name: type(found[name]) for name in INFO} == {n: types[k] for n, k in INFO.items()}
        assert {name: set(facts) for name, facts in found["model_type"].items()} == {
            wanted: MODEL_TYPES[wanted]
        }


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("/embed", {"inputs": ["a"] * 21}, 413, "Validation"),
        ("/embed_all", {"inputs": ["a"] * 21}, 413, "Validation"),
        ("/embed_sparse", {"inputs": "a" * 2001}, 413, "Validation"),
        ("/rerank", {"query": "a", "texts": ["a"] * 21}, 413, "Validation"),
        ("/embed", {**LONG, "truncate": False}, 413, "Validation"),
        ("/decode", {"ids": [[1]] * 21}, 413, "Validation"),
        ("/decode", {"ids": [2_000_000_000]}, 422, "Tokenizer"),
        ("/embed_all", {"texts": "a"}, 422, "Validation"),
        ("/tokenize", {"inputs": [[1, 2]]}, 422, "Validation"),
        ("/embed_sparse", {"inputs": "a", "model": "match-en"}, 424, "Backend"),
        ("/embed_all", {"inputs": "a", "model": "match-en"}, 424, "Backend"),
        ("/rerank", {"query": "a", "texts": ["a"], "model": "elmo-en"}, 424, "Backend"),
        ("/tokenize", {"inputs": "a", "model": "nobody"}, 404, "Validation"),
    ],
)
def test_refusals_are_theirs(tei, path, body, status, kind):
    reply = tei.ask(path, body)
    assert (reply.status, reply.json()["error_type"]) == (status, kind)
    assert set(reply.json()) == {"error", "error_type"}
    assert status not in STATUSES.values() or kind == "Validation" or STATUSES[kind] == status


def test_an_address_that_nothing_can_answer_says_so(catalogue):
    only = Catalogue([each for each in catalogue.models if each.name == "elmo-en"])
    with in_thread(Settings(models=("elmo-en",), threads=1), only) as running:
        for path in ("/rerank", "/predict", "/tokenize", "/decode", "/embed_sparse"):
            reply = running.ask(path, {"inputs": "a"})
            assert (reply.status, reply.json()["error_type"]) == (424, "Backend"), path
        assert running.ask("/embed_all", {"inputs": "a"}).status == 200


def test_tokens_stand_where_they_are_said_to_stand(tei):
    found = tei.ask("/tokenize", {"inputs": TEXTS, "model": "match-en"}).json()
    pipeline = softquery.load("match-en", threads=1).pipeline
    for text, tokens in zip(TEXTS, found, strict=True):
        assert [each["id"] for each in tokens] == pipeline.encode_ids([text])[0]
        plain = [each for each in tokens if not each["special"]]
        assert [text[each["start"] : each["stop"]] for each in plain] == [
            each["text"] for each in plain
        ]
        marks = [each for each in tokens if each["special"]]
        assert len(marks) == (2 if pipeline.config.boundaries else 0)
        assert all(each["start"] is each["stop"] is None for each in marks)
    bare = {"inputs": TEXTS[0], "add_special_tokens": False, "model": "match-en"}
    (tokens,) = tei.ask("/tokenize", bare).json()
    assert [each["id"] for each in tokens] == pipeline.encode_whole([TEXTS[0]])[0]


def test_a_long_text_is_shown_whole(tei):
    pipeline = softquery.load("match-en", threads=1).pipeline
    (tokens,) = tei.ask("/tokenize", LONG).json()
    assert len(tokens) > pipeline.config.max_tokens
    assert sum(each["text"] == "password" for each in tokens) == 150


def test_tokens_become_text_again(tei):
    pipeline = softquery.load("match-en", threads=1).pipeline
    ids = pipeline.encode_ids(["Reset my password."])[0]
    one = tei.ask("/decode", {"ids": ids, "model": "match-en"}).json()
    assert one == [pipeline.decode(ids)] == ["reset my password."]
    assert tei.ask("/decode", {"ids": [ids, ids], "model": "match-en"}).json() == one * 2
    shown = {"ids": ids, "skip_special_tokens": False, "model": "match-en"}
    (whole,) = tei.ask("/decode", shown).json()
    assert len(whole) > len(one[0])
    assert one[0] in whole


def test_every_token_has_its_vector(tei):
    reply = tei.ask("/embed_all", {"inputs": TEXTS, "model": "elmo-en"})
    own = softquery.load("elmo-en", threads=1).embed(TEXTS, layers="mix")
    assert reply.status == 200
    for found, wanted in zip(reply.json(), own, strict=True):
        assert np.allclose(np.reshape(found, wanted[0].shape), wanted[0], atol=1e-6)


def test_too_many_vectors_are_refused_before_they_are_computed(tei):
    reply = tei.ask("/embed_all", {"inputs": ["a " * 999] * 20})
    assert reply.status in (200, 413)
    assert len(reply.body) < 60_000_000


def test_products_of_sparse_vectors_are_bm25(tei, index):
    rows = [row["question"] for row in index.rows()][:12]
    query, *found = [
        {each["index"]: each["value"] for each in weights}
        for weights in tei.ask("/embed_sparse", {"inputs": [QUERY, *rows]}).json()
    ]
    total = sum(len(segment) for segment in index.segments)
    cut = index.models.query_words
    for row, weights in zip(rows, found, strict=True):
        wanted = 0.0
        for word in set(cut(QUERY).words) & set(cut(row).words):
            times = cut(row).words.count(word), cut(QUERY).words.count(word)
            with_word = sum(each.words.num_rows_with(word) for each in index.segments)
            common = with_word + 1000 * cut(word).usual[word]
            rare = math.log(1 + (total + 1000 - common + 0.5) / (common + 0.5))
            wanted += rare * math.prod(2.2 * each / (1.2 + each) for each in times)
        product = sum(value * weights.get(place, 0.0) for place, value in query.items())
        assert product == pytest.approx(wanted, abs=1e-4)
    best = max(range(len(rows)), key=lambda row: sum(
        value * found[row].get(place, 0.0) for place, value in query.items()
    ))  # fmt: skip
    assert "password" in rows[best]
    assert zlib.crc32(b"password") in query
    assert list(query) == sorted(query)
