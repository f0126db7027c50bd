"""Connections of hostile and of unusual clients, against a server as users start it."""

import http.client
import json
import os
import re
import signal
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from serving import Process, in_thread, is_up, wait_for

from softquery.serve import Limits, Settings
from softquery.serve.protocol import MOST_PIPELINED, BoundedProtocol

SOUND = {"query": "a question", "texts": ["a text", "another"]}
MEGABYTE = 1_000_000
POST = b"POST /rerank HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKED = POST + CHUNKS
RAW = json.dumps(SOUND).encode()
WHOLE = POST + b"Content-Length: %d\r\n\r\n" % len(RAW) + RAW
ONE_CHUNK = b"%x\r\n" % len(RAW) + RAW + b"\r\n"


@pytest.fixture(scope="module")
def running():
    """A server in a process of its own, so that its memory can be watched."""
    with Process("--model", "match-en", "--threads", 1) as process:
        process.port = process.client().port
        yield process


@pytest.fixture
def healthy(running):
    """The server's port; afterwards it must answer and have as much memory as before."""
    client = running.client()
    assert client.ask("/rerank", SOUND).status == 200
    before = resident(running.process.pid)
    yield running.port
    assert client.ask("/rerank", SOUND).status == 200
    assert resident(running.process.pid) - before < 30 * MEGABYTE


def resident(pid):
    """Bytes of memory of a process."""
    text = Path(f"/proc/{pid}/status").read_text() if os.path.exists("/proc") else "VmRSS: 0"
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def one_response(connection):
    """A whole response, which may come in several parts; the connection stays open."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65_536)
    head, _, body = found.partition(b"\r\n\r\n")
    (length,) = re.findall(rb"(?i)^content-length: (\d+)\r?$", head, re.MULTILINE)
    while len(body) < int(length):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def received(connection):
    """All that is sent until the server closes the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            found += data
    return found


def flooded(port, beginning, line, size=64 * MEGABYTE):
    """How many bytes a server takes of something endless before it closes the connection."""
    block, sent = line * (65_536 // len(line) + 1), 0
    with connected(port) as connection:
        try:
            connection.sendall(beginning)
            while sent < size:
                connection.sendall(block)
                sent += len(block)
        except (BrokenPipeError, ConnectionResetError):
            pass
    return sent


@pytest.mark.parametrize(
    ("beginning", "line"),
    [
        (CHUNKED + ONE_CHUNK + b"0\r\n", b"X-Trailer: " + b"a" * 1000 + b"\r\n"),
        (CHUNKED + ONE_CHUNK + b"0\r\n", b"a: b\r\n"),
        (CHUNKED + ONE_CHUNK + b"0\r\nX-Trailer: ", b"a"),
        (CHUNKED + ONE_CHUNK + b"0\r\n", b"a"),
        (CHUNKED + b"5;extension=", b"a"),
        (CHUNKED + b"5", b";a=b"),
        (CHUNKED + ONE_CHUNK + b"0;extension=", b"a"),
        (b"GET / HTTP/1.1\r\n", b"X-Header: " + b"a" * 1000 + b"\r\n"),
        (b"GET / HTTP/1.1\r\nX-Header: ", b"a"),
        (b"GET /", b"a"),
        (b"", b"\r\n"),
        (POST + b"Transfer-Encoding: chunked\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"a"),
    ],
    ids=[
        "trailers", "short trailers", "one trailer", "the name of a trailer",
        "an extension of a chunk", "many extensions", "an extension of the last chunk",
        "headers", "one header", "the address", "empty lines", "bytes after an upgrade",
    ],
)  # fmt: skip
def test_what_never_ends_is_cut_off(healthy, beginning, line):
    assert flooded(healthy, beginning, line) < 16 * MEGABYTE  # what the two sockets buffer


def test_trailers_are_taken_and_not_mistaken_for_headers(healthy):
    plain = CHUNKED.replace(b"application/json", b"text/plain") + ONE_CHUNK + b"0\r\n"
    trailer = b"Content-Type: application/json\r\nX-Checksum: 1\r\n\r\n"
    with connected(healthy) as connection:
        connection.sendall(CHUNKED + ONE_CHUNK + b"0\r\n" + trailer)
        assert one_response(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(plain + trailer)
        assert one_response(connection).startswith(b"HTTP/1.1 422")


def test_many_tiny_chunks_are_a_body(healthy):
    texts = json.dumps({**SOUND, "texts": ["a text"] * 900}).encode()
    with connected(healthy) as connection:
        connection.sendall(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in texts))
        connection.sendall(b"0\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")


def test_requests_may_be_sent_before_earlier_ones_are_answered(healthy):
    with connected(healthy) as connection:
        connection.sendall(WHOLE * 9 + WHOLE.replace(b"Host: a", b"Host: a\r\nConnection: close"))
        assert received(connection).count(b"HTTP/1.1 200") == 10


def test_but_not_without_end(healthy):
    get = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with connected(healthy) as connection:
        connection.sendall(get * (3 * MOST_PIPELINED))
        assert b"HTTP/1.1 400" in received(connection)
    assert flooded(healthy, WHOLE, get) < 16 * MEGABYTE


@pytest.mark.parametrize(
    ("title", "raw", "status"),
    [
        ("zeros", POST + b"Content-Length: " + b"0" * 4400 + b"2\r\n\r\n{}", 400),
        ("zeros of a GET", HEALTH + b"Content-Length: " + b"0" * 4400 + b"\r\n\r\n", 400),
        ("a sign", POST + b"Content-Length: +2\r\n\r\n{}", 400),
        ("hexadecimal", POST + b"Content-Length: 0x2\r\n\r\n{}", 400),
        ("two lengths", POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        ("above 2^64", POST + b"Content-Length: 18446744073709551617\r\n\r\n{}", 400),
        ("ten gigabytes", POST + b"Content-Length: 9999999999\r\n\r\n{}", 413),
        ("length and chunks", POST + b"Content-Length: 2\r\n" + CHUNKS + b"0\r\n\r\n", 400),
        ("no coding", POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        ("two codings", POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        ("a space", POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
        ("a huge chunk", CHUNKED + b"ffffffffffffffffff\r\n", 400),
        ("a negative chunk", CHUNKED + b"-1\r\n", 400),
        ("HTTP/1.0", WHOLE.replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
        ("kept alive", WHOLE.replace(b"1.1\r\n", b"1.0\r\nConnection: keep-alive\r\n", 1), 200),
        ("HTTP/9.9", b"GET /health HTTP/9.9\r\nHost: a\r\n\r\n", 400),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_heads_of_all_kinds_are_answered_and_the_connection_closed(healthy, title, raw, status):
    with connected(healthy) as connection:
        connection.sendall(raw)
        answer = received(connection)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"%d" % status], title


@pytest.mark.parametrize("raw", [WHOLE, CHUNKED + ONE_CHUNK + b"0\r\n\r\n", WHOLE * 3])
def test_a_client_that_sends_no_more_is_answered(healthy, raw):
    with connected(healthy) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = received(connection)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200"] * raw.count(b"POST")
    assert b"connection: close" in answer


@pytest.mark.parametrize("version", [10, 11], ids=["HTTP/1.0", "HTTP/1.1"])
def test_a_client_that_sends_no_more_and_waits_long_is_answered(running, monkeypatch, version):
    """An interim response finds out whether it is still there; http.client passes it over.

    HTTP/1.0 has none; there the beginning of the answer does.
    """
    texts = [f"{'a cat sat ' * 80}{number}" for number in range(200)]
    monkeypatch.setattr(http.client.HTTPConnection, "_http_vsn", version)
    monkeypatch.setattr(http.client.HTTPConnection, "_http_vsn_str", f"HTTP/1.{version % 10}")
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    kind = {"content-type": "application/json"}
    connection.request("POST", "/rerank", json.dumps({"query": "a cat", "texts": texts}), kind)
    connection.sock.shutdown(socket.SHUT_WR)
    answer = connection.getresponse()
    assert (answer.status, len(json.loads(answer.read()))) == (200, 200)
    connection.close()


class Impatient(BoundedProtocol):
    check_seconds = 0.3


def test_an_answer_that_is_not_taken_is_not_kept(catalogue):
    with in_thread(Settings(models=("match-en",)), catalogue, Impatient) as client:
        body = json.dumps({"inputs": [f"text {number}" for number in range(1000)]}).encode()
        head = b"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect(("127.0.0.1", client.port))
            connection.sendall(request * 3)
            wait_for(lambda: '{route="/embed",status="200"}' in metrics(client))
            time.sleep(3 * Impatient.check_seconds)
            assert len(received(connection)) < 3 * 1000 * 400 * len("0.12345678")


def metrics(client):
    return client.ask("/metrics").body.decode()


def test_bodies_that_never_end_take_no_place_in_the_queue(catalogue):
    """Nor do they keep others from being answered; all are given up after a while."""
    limits = Limits(queue=4, timeout=2.0)
    with in_thread(Settings(models=("match-en",), limits=limits), catalogue) as client:
        waiting = [socket.create_connection(("127.0.0.1", client.port), 20) for _ in range(12)]
        for each in waiting:
            each.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        assert [client.ask("/rerank", SOUND).status for _ in range(8)] == [200] * 8
        assert {each.recv(12) for each in waiting} == {b"HTTP/1.1 408"}
        for each in waiting:
            each.close()


def test_workers_end_with_the_process_that_started_them():
    with Process("--model", "match-en", "--threads", 1, "--workers", 2) as running:
        client = running.client()
        workers = children(running.process.pid)
        assert len(workers) >= 2
        running.process.send_signal(signal.SIGKILL)
        running.process.wait(20)
        try:
            wait_for(lambda: not any(map(is_alive, workers)), 20)
            assert not is_up(client)
        finally:
            for pid in filter(is_alive, workers):
                os.kill(pid, signal.SIGKILL)


def children(pid):
    """The processes that a process has started."""
    return [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if int(stat.read_text().rpartition(")")[2].split()[1]) == pid
    ]


def is_alive(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
