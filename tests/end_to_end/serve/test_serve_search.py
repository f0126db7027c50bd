"""Indexes behind the server: what they find in process is what clients get."""

import random
import re
import shutil
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from mutating import SEARCHES, mutated
from serving import Process, in_thread, wait_for
from test_serve_document import run_schemathesis

from softquery.errors import InputError, StoreError
from softquery.search import Index
from softquery.serve import Limits, Settings
from softquery.serve.catalogue import open_catalogue

ENGLISH, CHINESE = "How can I get a new password?", "忘记密码了怎么办"


@pytest.fixture(scope="module")
def settings(shop):
    return Settings(
        models=("match-en",),
        indexes=(str(shop / "faq-en.sq"), f"chinese={shop / 'faq-zh.sq'}"),
        threads=2,
        limits=Limits(max_texts=80),
    )


@pytest.fixture(scope="module")
def catalogue_of_shop(settings):
    return open_catalogue(settings)


@pytest.fixture(scope="module")
def asked(settings, catalogue_of_shop):
    with in_thread(settings, catalogue_of_shop) as client:
        yield client


def test_hits_are_those_of_the_index(asked, shop):
    found = asked.ask("/v1/search", {"query": ENGLISH, "top_k": 3}).json()
    assert (found["index"], found["query"]) == ("faq-en", ENGLISH)
    expected = Index.open(shop / "faq-en.sq", threads=1).search(ENGLISH, top_k=3)
    assert [hit["id"] for hit in found["hits"]] == [hit["id"] for hit in expected]
    for hit, known in zip(found["hits"], expected, strict=True):
        assert hit == {**known, "score": pytest.approx(known["score"], abs=1e-6)}
    assert found["hits"][0]["id"] == "account-01"
    assert found["hits"][0]["category"] == "account"


def test_an_index_is_asked_by_its_name(asked):
    found = asked.ask("/v1/search", {"query": CHINESE, "index": "chinese", "top_k": 1}).json()
    assert [hit["id"] for hit in found["hits"]] == ["account-01"]
    reply = asked.ask("/v1/search", {"query": CHINESE, "index": "faq-zh"})
    assert reply.status == 404
    assert "known: faq-en, chinese" in reply.json()["error"]["message"]


def test_no_good_answer(asked):
    foreign = {"query": "How tall is the Eiffel tower?"}
    assert asked.ask("/v1/search", {**foreign, "min_score": 0.5}).json()["hits"] == []
    assert asked.ask("/v1/search", {**foreign, "min_score": 0}).json()["hits"] != []
    assert asked.ask("/v1/search", {"query": ENGLISH, "min_score": 1}).json()["hits"] == []
    assert asked.ask("/v1/search", {"query": " \t"}).json()["hits"] == []


def test_without_a_good_answer_the_nearest_rows_are_told(asked):
    found = asked.ask("/v1/search", {"query": ENGLISH, "min_score": 1, "top_k": 3}).json()
    best = asked.ask("/v1/search", {"query": ENGLISH, "min_score": 0, "top_k": 3}).json()
    assert (found["nearest"], found["note"]) == (best["hits"], None)
    assert (found["hits"], best["nearest"]) == ([], [])


def test_a_query_in_another_language_is_told_so(asked):
    found = asked.ask("/v1/search", {"query": CHINESE}).json()
    assert found["note"] == (
        "the query is in Chinese, which match-en and embed-en do not read; scores mean little"
    )
    assert asked.ask("/v1/search", {"query": CHINESE, "index": "chinese"}).json()["note"] is None


@pytest.mark.parametrize("explain", [False, True])
def test_several_queries_get_what_each_of_them_gets(asked, explain):
    queries = [ENGLISH, " ", "How tall is the Eiffel tower?", CHINESE, ENGLISH]
    options = {"candidates": 16, "top_k": 3, "explain": explain}
    many = asked.ask("/v1/search", {"query": queries, **options}).json()
    single = [asked.ask("/v1/search", {"query": query, **options}).json() for query in queries]
    assert {each.pop("index") for each in single} == {many["index"]} == {"faq-en"}
    assert many["results"] == single


def test_several_queries_share_what_one_request_may_compare(asked):
    body = {"query": [ENGLISH] * 3}
    assert len(asked.ask("/v1/search", body).json()["results"]) == 3
    reply = asked.ask("/v1/search", {**body, "candidates": 27})
    assert reply.status == 400
    said = reply.json()["error"]["message"]
    assert said == "27 candidates for each of 3 queries; one request may compare 80"
    assert asked.ask("/v1/search", {"query": []}).status == 400
    assert "81 texts" in asked.ask("/v1/search", {"query": ["a"] * 81}).json()["error"]["message"]


def test_filters(asked):
    body = {"query": ENGLISH, "min_score": 0, "top_k": 100, "candidates": 80}
    chosen = ["orders", "delivery"]
    hits = asked.ask("/v1/search", {**body, "where": {"category": chosen}}).json()["hits"]
    assert {hit["category"] for hit in hits} <= set(chosen)
    assert hits
    one = asked.ask("/v1/search", {**body, "where": {"id": "account-02"}}).json()["hits"]
    assert [hit["id"] for hit in one] == ["account-02"]
    reply = asked.ask("/v1/search", {**body, "where": {"colour": "red"}})
    assert reply.status == 400
    assert reply.json()["error"]["message"].startswith("no column 'colour' to filter by; found: id")


def test_alignments(asked):
    hit = asked.ask("/v1/search", {"query": ENGLISH, "explain": True}).json()["hits"][0]
    why = hit["alignment"]
    assert why["reasons"]["answer"] == "1"
    assert len(why["reasons"]["words"]) == 2
    assert (why["first"], why["second"]) == (ENGLISH, hit["question"])
    assert len(why["first_to_second"]) == len(why["first_tokens"])
    for row in why["first_to_second"]:
        assert len(row) == len(why["second_tokens"])
        assert sum(row) == pytest.approx(1, abs=1e-3)
    assert "alignment" not in asked.ask("/v1/search", {"query": ENGLISH}).json()["hits"][0]


@pytest.mark.parametrize(
    "stages",
    [["words"], ["vectors"], ["vectors", "words"], ["words", "rerank"], ["vectors", "rerank"]],
    ids=",".join,
)
def test_stages(asked, catalogue_of_shop, stages):
    found = asked.ask("/v1/search", {"query": ENGLISH, "stages": stages, "explain": True}).json()
    (english, _) = catalogue_of_shop.indexes
    expected = english.model.find(ENGLISH, stages=stages, explain=True)
    assert found["stages"] == sorted(stages, key=("words", "vectors", "rerank").index)
    assert found["hits"] == expected.hits
    assert found["hits"]
    assert asked.ask("/v1/search", {"query": ENGLISH}).json()["stages"] == [
        "words",
        "vectors",
        "rerank",
    ]
    assert asked.ask("/v1/search", {"query": " ", "stages": stages}).json()["hits"] == []


def test_rerank_alone_compares_all_rows_if_that_many_may_be(settings, catalogue_of_shop):
    many = replace(settings, limits=Limits(max_texts=1000))
    (english, _) = catalogue_of_shop.indexes
    with in_thread(many, catalogue_of_shop) as client:
        found = client.ask("/v1/search", {"query": ENGLISH, "stages": ["rerank"]}).json()
    assert found["hits"] == english.model.search(ENGLISH, stages=["rerank"])


def test_a_rebuilt_index_is_served_as_it_was(shop, tmp_path):
    place = shutil.copytree(shop / "faq-en.sq", tmp_path / "faq.sq")
    with in_thread(Settings(indexes=(str(place),))) as client:
        before = client.ask("/v1/search", {"query": ENGLISH}).json()
        Index.rebuild(place, model="nli-en", threads=1)
        for _ in range(3):
            time.sleep(0.6)
            assert client.ask("/v1/search", {"query": ENGLISH}).json() == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a", "top_k": 101}, "top_k"),
        ({"query": "a", "min_score": 1.5}, "min_score must be from 0 to 1, got 1.5"),
        ({"query": "a", "min_score": -1, "stages": ["words"]}, "min_score"),
        ({"query": "a", "stages": []}, "stages"),
        ({"query": "a", "stages": "words"}, "stages"),
        ({"query": "a", "stages": ["words", "colours"]}, "stages"),
        (
            {"query": "a", "stages": ["rerank"]},
            "rows; one request may compare 80; name words or vectors as well",
        ),
        ({"query": "a", "where": ["category"]}, "where"),
        ({"query": "a", "candidates": 81}, "81 candidates; one request may compare 80"),
        ({"query": "a" * 20_001}, "longer than 20,000 characters"),
        ({"query": "a", "where": {"id": ["x"] * 81}}, "where: 81 values; one request may hold 80"),
        ({"query": "a", "where": {"id": "x" * 20_001}}, "longer than 20,000 characters"),
    ],
)
def test_bad_bodies(asked, body, said):
    reply = asked.ask("/v1/search", body)
    assert reply.status == 400
    assert said in reply.json()["error"]["message"]


LONG = "password account locked email " * 600


def test_a_search_beyond_the_token_budget_is_refused(settings, catalogue_of_shop):
    """Every row that is compared costs the tokens of the query and its own."""
    small = replace(settings, limits=Limits(max_tokens=2_600))
    with in_thread(small, catalogue_of_shop) as client:
        reply = client.ask("/v1/search", {"query": LONG})
        assert reply.status == 413
        assert reply.json()["error"]["message"].startswith("more than 2,600 tokens to compute")
        assert client.ask("/v1/search", {"query": LONG, "candidates": 5, "top_k": 1}).status == 200
        explained = {"query": LONG, "candidates": 9, "top_k": 9, "min_score": 0, "explain": True}
        reply = client.ask("/v1/search", explained)
        assert reply.status == 413
        said = reply.json()["error"]["message"]
        assert re.fullmatch(
            r"the alignments would have [\d,]+ weights, and those of one request may have 2,600; "
            "send a shorter query or a smaller top_k",
            said,
        )


def test_a_large_search_is_computed_in_units(asked, catalogue_of_shop):
    before = num_batches(asked)
    found = asked.ask("/v1/search", {"query": LONG, "candidates": 80, "min_score": 0, "top_k": 80})
    assert num_batches(asked) >= before + 4
    (english, _) = catalogue_of_shop.indexes
    hits = english.model.search(LONG, candidates=80, min_score=0, top_k=80)
    assert found.json()["hits"] == hits


def num_batches(client):
    text = client.ask("/metrics").body.decode()
    counts = re.findall(r'softquery_batch_tokens_count{model="faq-en"} (\S+)', text)
    return sum(map(float, counts))  # nothing is counted before the first search


def test_models_and_indexes_share_a_matcher(catalogue_of_shop):
    (model,), (english, chinese) = catalogue_of_shop.models, catalogue_of_shop.indexes
    assert english.model.matcher is model.model
    assert chinese.model.matcher is not model.model


def test_info_lists_what_is_served(asked):
    found = asked.ask("/info").json()["indexes"]
    assert [each["name"] for each in found] == ["faq-en", "chinese"]
    assert [each["language"] for each in found] == ["en", "zh"]
    assert found[0]["rows"] >= 150
    assert found[0]["columns"][:3] == ["id", "question", "answer"]
    assert found[0]["min_score"] == 0.1
    assert found[0]["explains"] is True


def test_the_document_knows_searches(asked):
    document = asked.ask("/openapi.json").json()
    assert "/v1/search" in document["paths"]
    body = document["components"]["schemas"]["SearchBody"]["properties"]
    assert body["candidates"]["maximum"] == 80
    one, several = body["query"]["anyOf"]
    assert (one["maxLength"], several["maxItems"]) == (20_000, 80)
    assert body["top_k"]["maximum"] == 100


def test_schemathesis_finds_nothing(asked, tmp_path):
    words = ["--include-path=/v1/search", "--phases=coverage,fuzzing", "--max-examples=20"]
    result = run_schemathesis(asked.url, tmp_path, *words)
    assert result.returncode == 0, re.sub(r"(.)\1{30,}", r"\1…", result.stdout)[-6000:]


def test_mutated_bodies_never_break_the_server(asked):
    draw = random.Random(7)
    statuses = Counter()
    for _ in range(300):
        path, body = mutated(draw, SEARCHES)
        reply = asked.ask(path, body)
        statuses[reply.status] += 1
        assert reply.status < 500, (path, body, reply.body)
    assert statuses[200] > 50
    assert statuses[400] > 50


def test_every_stage_is_timed(asked):
    asked.ask("/v1/search", {"query": ENGLISH, "explain": True})
    text = asked.ask("/metrics").body.decode()
    for stage in ("read", "vectors", "words", "rerank", "explain", "total"):
        (count,) = re.findall(
            rf'^softquery_stage_seconds_count{{model="faq-en",stage="search {stage}"}} (\S+)',
            text,
            re.MULTILINE,
        )
        assert float(count) >= 1


def test_many_at_once_get_their_own_answers(asked):
    queries = [f"How do I change my {thing}?" for thing in ("password", "address", "plan", "pen")]
    alone = [asked.ask("/v1/search", {"query": query}).json() for query in queries]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda q: asked.ask("/v1/search", {"query": q}).json(), queries * 8))
    assert found == alone * 8


def test_an_index_may_be_all_that_is_served(shop):
    settings = Settings(indexes=(str(shop / "faq-zh.sq"),))
    with in_thread(settings) as client:
        assert client.ask("/info").json()["model_id"] == "faq-zh"
        assert client.ask("/rerank", {"query": "a", "texts": ["b"]}).status == 424
        assert client.ask("/v1/search", {"query": CHINESE}).json()["hits"]


def test_changes_of_others_are_seen_and_damage_is_not(shop, tmp_path):
    place = tmp_path / "faq.sq"
    shutil.copytree(shop / "faq-en.sq", place)
    row = {"id": "new", "question": "Do you sell green elephants?", "answer": "No."}
    query = {"query": "Do you sell green elephants?", "top_k": 1}
    with in_thread(Settings(indexes=(str(place),))) as client:
        before = client.ask("/v1/search", query).json()["hits"]
        assert [hit["id"] for hit in before] != ["new"]
        Index.open(place, threads=1).add([row])
        wait_for(
            lambda: [hit["id"] for hit in client.ask("/v1/search", query).json()["hits"]] == ["new"]
        )
        (place / "manifest.json").write_text("{", encoding="utf-8")
        client.ask("/v1/search", query)
        wait_for(lambda: client.ask("/v1/search", query).status == 200, 3)
        assert [hit["id"] for hit in client.ask("/v1/search", query).json()["hits"]] == ["new"]


def test_a_database_that_is_gone_is_no_fault_of_the_client(asked, catalogue_of_shop, monkeypatch):
    index = catalogue_of_shop.indexes[0].model
    gone = StoreError("connection refused", source="postgresql://reader@db.example/shop#faq")

    def steps(*given, **options):
        raise gone

    monkeypatch.setattr(index, "steps", steps)
    refused = asked.ask("/v1/search", {"query": ENGLISH})
    assert refused.status == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "db.example" not in str(refused.json())
    monkeypatch.undo()
    assert asked.ask("/v1/search", {"query": ENGLISH}).status == 200


def test_a_damaged_index_is_refused_at_the_start(shop, tmp_path):
    place = tmp_path / "faq.sq"
    shutil.copytree(shop / "faq-en.sq", place)
    (cells,) = place.glob("segments/*/cells.bin")
    cells.write_bytes(cells.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"cells\.bin: is damaged"):
        open_catalogue(Settings(indexes=(str(place),)))


def test_workers_search_the_same_index(shop):
    words = ["--index", shop / "faq-en.sq", "--workers", 2, "--threads", 1]
    with Process(*words) as server:
        client = server.client()
        assert server.events("listening")[0]["indexes"] == ["faq-en"]
        found = [client.ask("/v1/search", {"query": ENGLISH}).json() for _ in range(6)]
        assert {each["hits"][0]["id"] for each in found} == {"account-01"}
        assert server.stop(signal.SIGTERM) == 0
        assert not any("password" in line for line in server.said)


def test_defaults_keep_a_small_limit_and_wishes_beyond_it_are_refused(settings, catalogue_of_shop):
    few = replace(settings, limits=Limits(max_texts=3))
    with in_thread(few, catalogue_of_shop) as client:
        found = client.ask("/v1/search", {"query": ENGLISH})
        assert found.status == 200, found.body
        assert 0 < len(found.json()["hits"]) <= 3
        many = client.ask("/v1/search", {"query": ENGLISH, "top_k": 100, "min_score": 0}).json()
        assert len(many["hits"]) == 3
        refused = client.ask("/v1/search", {"query": ENGLISH, "candidates": 4})
        assert refused.status == 400
        said = refused.json()["error"]["message"]
        assert said == "4 candidates; one request may compare 3"
        schemas = client.ask("/openapi.json").json()["components"]["schemas"]
        told = schemas["SearchBody"]["properties"]["candidates"]
        assert (told["maximum"], told["default"]) == (3, 3)
