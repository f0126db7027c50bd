"""Full queues, slow clients, clients that leave, keys, and the end of a server."""

import http.client
import json
import logging
import re
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from one_step import OneStepSearch
from serving import Process, in_thread, wait_for

from softquery.errors import SoftqueryError
from softquery.search import SearchResult
from softquery.serve import Limits, Settings, serve
from softquery.serve.catalogue import Catalogue, served_index
from softquery.serve.keys import add_key, remove_key
from softquery.serve.protocol import BoundedProtocol

SOUND = {"query": "a question", "texts": ["a text", "another"]}
SEARCH = {"query": "a question"}


class SlowIndex:
    """Answers when it is let go: the one way to hold a server's threads for a known time."""

    def __init__(self):
        self.go = threading.Event()
        self.asked = []
        self.refreshed = 0

    def steps(self, query, **options):
        return OneStepSearch(lambda: self.find(query, **options))

    def find(self, query, *, top_k, **options):
        self.asked.append(query)
        assert self.go.wait(30)
        given = {name: value for name, value in options.items() if value}
        return SearchResult(
            query, [{"question": query, "answer": "yes", "score": 0.9, **given}], []
        )

    def refresh(self):
        self.refreshed += 1


@pytest.fixture
def slow():
    return SlowIndex()


@pytest.fixture
def held(catalogue, slow):
    """A server of one thread, which an index can hold."""
    with in_thread(*holding(catalogue, slow, timeout=60.0)) as client:
        yield client
        slow.go.set()


@pytest.fixture
def hasty(catalogue, slow):
    """A server of one thread that gives no request more than a second."""
    with in_thread(*holding(catalogue, slow, timeout=1.0)) as client:
        yield client
        slow.go.set()


def holding(catalogue, slow, *, timeout):
    both = Catalogue(catalogue.models, [served_index("slow", slow)])
    limits = Limits(queue=4, timeout=timeout)
    return Settings(models=("match-en",), threads=1, limits=limits), both


def background(pool, client, body, path="/v1/search"):
    return pool.submit(client.ask, path, body)


def test_a_full_queue_refuses_at_once_and_recovers(held, slow):
    with ThreadPoolExecutor(8) as pool:
        waiting = [background(pool, held, SEARCH) for _ in range(4)]
        wait_for(lambda: slow.asked)
        wait_for(lambda: "softquery_requests_inside 4.0" in held.ask("/metrics").body.decode())
        for path, body in (("/rerank", SOUND), ("/v1/match", {}), ("/v2/rerank", SOUND)):
            began = time.monotonic()
            reply = held.ask(path, body)
            assert reply.status == 429
            assert 1 <= int(reply.headers["retry-after"]) <= 60
            assert "try again in" in reply.body.decode()
            assert time.monotonic() - began < 2
        assert held.ask("/health").status == 200
        slow.go.set()
        assert [each.result().status for each in waiting] == [200] * 4
    assert held.ask("/rerank", SOUND).status == 200


def test_a_request_that_takes_too_long_is_refused_and_frees_its_room(hasty, slow):
    reply = hasty.ask("/v1/search", SEARCH)
    assert reply.status == 503
    assert "not answered within 1 s" in reply.body.decode()
    assert int(reply.headers["retry-after"]) >= 1
    slow.go.set()
    wait_for(lambda: hasty.ask("/rerank", SOUND).status == 200)
    assert "softquery_requests_inside 0.0" in hasty.ask("/metrics").body.decode()


def test_a_client_that_leaves_is_not_computed_for(held, slow):
    with ThreadPoolExecutor(2) as pool:
        first = background(pool, held, {"query": "first"})
        wait_for(lambda: slow.asked == ["first"])
        raw = json.dumps({"query": "gone"}).encode()
        head = b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", held.port)) as leaving:
            leaving.sendall(head + b"Content-Length: %d\r\n\r\n" % len(raw) + raw)
            wait_for(lambda: "requests_inside 2.0" in held.ask("/metrics").body.decode())
        wait_for(lambda: "requests_inside 1.0" in held.ask("/metrics").body.decode())
        slow.go.set()
        assert first.result().status == 200
    assert held.ask("/v1/search", {"query": "last"}).status == 200
    assert slow.asked == ["first", "last"]


def test_a_body_that_never_ends_is_not_waited_for(hasty):
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as slowly:
        slowly.sendall(b"POST /rerank HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        answer = slowly.recv(400)
    assert answer.startswith(b"HTTP/1.1 408")
    wait_for(lambda: hasty.ask("/rerank", SOUND).status == 200)


class Impatient(BoundedProtocol):
    check_seconds = 0.3


def flood(client):
    """Ten megabytes of headers."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as endless:
        endless.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(10_000):
            endless.sendall(b"X-Header: " + b"a" * 1000 + b"\r\n")


def test_heads_are_waited_for_neither_for_ever_nor_at_any_size(catalogue):
    with in_thread(Settings(models=("match-en",)), catalogue, Impatient) as client:
        for sent in (b"", b"POST /rerank HT"):
            with socket.create_connection(("127.0.0.1", client.port), timeout=20) as slowly:
                slowly.sendall(sent)
                while slowly.recv(4096):
                    pass
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe|aborted"):
            flood(client)
        kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        for _ in range(2):
            kept.request("GET", "/health")
            assert kept.getresponse().read() == b'{"status":"ok"}'
            time.sleep(0.7)
        kept.close()


def test_search_answers_as_the_index_does(held, slow):
    slow.go.set()
    found = held.ask("/v1/search", {"query": "a cat sleeps", "top_k": 1}).json()
    hit = {"question": "a cat sleeps", "answer": "yes", "score": 0.9, "candidates": 50}
    stages = ["words", "vectors", "rerank"]
    told = {"hits": [hit], "nearest": [], "note": None}
    assert found == {"index": "slow", "query": "a cat sleeps", "stages": stages, **told}
    options = {"where": {"kind": ["a", "b"]}, "min_score": 0.5, "explain": True}
    assert held.ask("/v1/search", {"query": "a", **options}).json()["hits"][0]["where"] == {
        "kind": ["a", "b"]
    }
    assert slow.refreshed == 1
    assert held.ask("/v1/search", {"query": "a", "index": "none"}).status == 404
    assert held.ask("/v1/search", {"query": "a", "top_k": 0}).status == 400


def test_keys_are_asked_for_and_rotated(catalogue, tmp_path):
    file = tmp_path / "keys.txt"
    key = add_key(file, "ada")
    settings = Settings(models=("match-en",), keys=str(file))
    with in_thread(settings, catalogue) as client:
        for path, body in (("/rerank", SOUND), ("/info", None), ("/metrics", None), ("/", SOUND)):
            reply = client.ask(path, body)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert client.ask(path, body, authorization="Bearer sq-wrong").status == 401
            assert client.ask(path, body, authorization=f"Basic {key}").status == 401
            assert client.ask(path, body, authorization=f"Bearer {key}").status == 200
        for path in ("/health", "/", "/docs", "/openapi.json", "/page/page.js"):
            assert client.ask(path).status == 200
        other = add_key(file, "grace")
        assert client.ask("/rerank", SOUND, authorization=f"bearer {other}").status == 200
        remove_key(file, "ada")
        assert client.ask("/rerank", SOUND, authorization=f"Bearer {key}").status == 401
        assert client.ask("/rerank", SOUND, authorization=f"Bearer {other}").status == 200
        file.write_text("broken")
        assert client.ask("/rerank", SOUND, authorization=f"Bearer {other}").status == 200
        described = client.ask("/openapi.json").json()
        assert described["paths"]["/rerank"]["post"]["security"] == [{"bearer": []}]
        assert "security" not in described["paths"]["/health"]["get"]


def test_cors_is_off_until_an_origin_is_named(client, catalogue):
    origin = {"origin": "https://example.org"}
    asked = {**origin, "access_control_request_method": "POST"}
    assert "access-control-allow-origin" not in client.ask("/rerank", SOUND, **origin).headers
    preflight = client.ask("/rerank", method="OPTIONS", **asked)
    assert "access-control-allow-origin" not in preflight.headers
    settings = Settings(models=("match-en",), cors=("https://example.org",))
    with in_thread(settings, catalogue) as open_client:
        reply = open_client.ask("/rerank", SOUND, **origin)
        assert reply.headers["access-control-allow-origin"] == "https://example.org"
        other = open_client.ask("/rerank", SOUND, origin="https://evil.example")
        assert "access-control-allow-origin" not in other.headers
        assert open_client.ask("/rerank", method="OPTIONS", **asked).status == 200


@pytest.mark.parametrize("log_text", [False, True])
def test_what_users_wrote_is_logged_only_when_asked(catalogue, caplog, log_text):
    secret = "an unheard-of secret"
    settings = Settings(models=("match-en",), log_text=log_text)
    with caplog.at_level(logging.INFO, "softquery.serve"), in_thread(settings, catalogue) as asked:
        asked.ask("/rerank", {"query": secret, "texts": [secret]})
        asked.ask("/rerank", {"query": 3, "texts": [secret]})
        asked.ask("/" + secret.replace(" ", "-"))
    logged = [record.fields for record in caplog.records if record.message == "request"]
    assert [line["status"] for line in logged] == [200, 422, 404]
    assert (secret in str(logged), "unheard-of-secret" in str(logged)) == (log_text, log_text)


def test_a_request_keeps_its_number(client):
    assert client.ask("/health", x_request_id="my-request.1").headers["x-request-id"] == (
        "my-request.1"
    )
    made = client.ask("/health", x_request_id="two words").headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", made)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_serves_drains_and_logs_no_text(workers):
    """As users run it: variables in place of options, JSON logs, and an end that loses nothing."""
    secret = "an unheard-of secret"
    words = ["--workers", workers, "--threads", 1, "--max-texts", 900]
    with Process(*words, SOFTQUERY_MODEL="match-en tiny=nli-en") as running:
        client = running.client()
        assert client.ask("/info").json()["limits"]["max_texts"] == 900
        assert client.ask("/v1/models").json()["data"][1]["id"] == "tiny"
        large = {"query": secret, "texts": [f"{secret} number {n}" for n in range(600)]}
        with ThreadPoolExecutor(6) as pool:
            waiting = [background(pool, client, large, "/rerank") for _ in range(6)]
            wait_for(lambda: inside(client) == 6)
            code = running.stop(signal.SIGTERM)
            replies = [each.result() for each in waiting]
        assert [reply.status for reply in replies] == [200] * 6
        assert {len(reply.json()) for reply in replies} == {600}
        assert code == 0
        assert not connects(client)
    assert secret not in "".join(running.said)
    answered = [line for line in running.events("request") if line["path"] == "/rerank"]
    assert [line["status"] for line in answered] == [200] * 6
    assert running.events("stopped")


def inside(client):
    """Requests inside all workers, or what came last where a worker is too busy to tell."""
    text = client.ask("/metrics").body.decode()
    return int(float(re.search(r"^softquery_requests_inside (\S+)", text, re.MULTILINE)[1]))


def connects(client):
    try:
        client.ask("/health")
    except OSError:
        return False
    return True


def test_what_cannot_be_served_is_one_line():
    with Process("--model", "none") as running:
        assert running.process.wait(60) == 2
    assert running.said[-1].startswith("softquery: no model called 'none'")
    assert [line for line in running.said if line.startswith("Traceback")] == []


def test_a_port_in_use_a_broken_key_file_and_a_missing_model_are_refused(tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("broken")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for fields, said in (
            ({"port": port}, f"cannot listen at 127.0.0.1:{port} \\(address already in use\\)"),
            ({"host": "no.such.host.invalid"}, "cannot listen at no.such.host.invalid:0"),
            ({"keys": str(keys)}, "row 1: expected a name and the SHA-256"),
            ({"models": (str(tmp_path / "none"),)}, "none: no such model folder"),
        ):
            with pytest.raises(SoftqueryError, match=said):
                serve(Settings(**{"models": ("match-en",), "port": 0, **fields}))
