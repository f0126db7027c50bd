"""Large requests: read in slices, bounded by a budget of tokens, and no burden to small ones."""

import json
import socket
from contextlib import contextmanager

import pytest
from serving import in_thread, wait_for

from softquery.runtime import load_matcher
from softquery.serve import Limits, Settings
from softquery.serve.catalogue import Catalogue, open_model

DOTS = "." * 20_000
SMALL = {"query": "a question", "texts": ["a text", "another"]}
GREEDY = {"texts": [DOTS] * 10}


@pytest.fixture(scope="module")
def tagging(catalogue):
    """A matcher, and a tagger that takes many seconds for what a request may ask."""
    return Catalogue([*catalogue.models, open_model("tagger-en", "tagger-en")])


@pytest.fixture
def shared(tagging):
    with in_thread(Settings(models=("x",), threads=1), tagging) as client:
        yield client


def test_a_large_ranking_is_that_of_the_matcher(shared):
    """Its texts are read in many slices; the query counts once."""
    texts = [f"{'the cat sat on a mat ' * 20} {number}" for number in range(150)]
    body = {"query": "the cat sat", "texts": texts, "raw_scores": False}
    found = {each["index"]: each["score"] for each in shared.ask("/rerank", body).json()}
    matcher = load_matcher("match-en", threads=1)
    assert len(found) == 150
    for each in matcher.rank(body["query"], texts):
        assert found[each["corpus_id"]] == pytest.approx(each["score"], abs=1e-5)
    used = shared.ask("/v1/score", {"text_1": "the cat sat", "text_2": texts}).json()["usage"]
    assert used["prompt_tokens"] == sum(map(len, matcher.read(["the cat sat", *texts])[0]))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tag", {"texts": [DOTS] * 95}),
        ("/v1/tag", {"texts": [["a"] * 305_000]}),
        ("/embed", {"inputs": ["a b " * 250] * 900, "model": "elmo-en"}),
        ("/v2/rerank", {"query": "a " * 300, "documents": ["a " * 300] * 900}),
    ],
)
def test_a_request_beyond_the_token_budget_is_refused(shared, path, body):
    reply = shared.ask(path, body)
    assert reply.status == 413, reply.body[:200]
    assert b"more than 300,000 tokens to compute" in reply.body


@contextmanager
def greedy(client, version=b"1.1"):
    """A client that asks for minutes of work and waits, until the block ends and it leaves."""
    raw = json.dumps(GREEDY).encode()
    head = b"POST /v1/tag HTTP/%s\r\nHost: a\r\nContent-Type: application/json\r\n" % version
    with socket.create_connection(("127.0.0.1", client.port)) as waiting:
        waiting.sendall(head + b"Content-Length: %d\r\n\r\n" % len(raw) + raw)
        wait_for(lambda: computed(client, "tagger-en"))
        yield


def test_small_requests_are_answered_while_a_large_one_is_computed(shared):
    with greedy(shared):
        assert [shared.ask("/rerank", SMALL).status for _ in range(5)] == [200] * 5
        assert "requests_inside 1.0" in shared.ask("/metrics").body.decode()


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_the_work_of_a_client_that_left_is_dropped_while_it_is_computed(shared, version):
    with greedy(shared, version):
        pass
    assert_computing_ends(shared, seconds=5)  # the request itself has thirty


def test_the_work_of_a_request_that_timed_out_is_dropped(tagging):
    limits = Limits(timeout=1.0)
    with in_thread(Settings(models=("x",), threads=1, limits=limits), tagging) as client:
        assert client.ask("/v1/tag", GREEDY).status == 503
        assert_computing_ends(client)


def computed(client, model):
    """Batches that a model has computed."""
    text = client.ask("/metrics").body.decode()
    start = f'softquery_batch_tokens_count{{model="{model}"}} '
    return sum(float(line.removeprefix(start)) for line in text.splitlines() if start in line)


def assert_computing_ends(client, seconds=30):
    """The small request waits for the batch in progress; after it, nothing of the large one."""
    wait_for(lambda: "requests_inside 0.0" in client.ask("/metrics").body.decode(), seconds)
    assert client.ask("/rerank", SMALL).status == 200
    before = computed(client, "tagger-en")
    for _ in range(5):
        assert client.ask("/rerank", SMALL).status == 200
    assert computed(client, "tagger-en") == before
