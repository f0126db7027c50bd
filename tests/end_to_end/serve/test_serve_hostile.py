"""Hostile requests get what the table says, and the server goes on as before."""

import json
import random
import re
import socket
from collections import Counter
from pathlib import Path

import pytest
from hostile_serve import CASES
from mutating import mutated

ROOT = Path(__file__).resolve().parents[3]
SOUND = {"query": "a question", "texts": ["a text", "another"]}


def message(reply):
    body = reply.json()
    if isinstance(body.get("error"), str):
        return body["error"]
    return body["error"]["message"] if "error" in body else body["message"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(client, case):
    reply = case.send(client)
    assert reply.status == case.status, reply.body[:300]
    assert reply.headers["content-type"] == "application/json"
    if case.status != 200:
        assert case.said in message(reply)
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert client.ask("/rerank", SOUND).status == 200


def test_the_page_shows_these_cases():
    page = (ROOT / "docs" / "errors" / "serve.md").read_text(encoding="utf-8")
    section = page.partition("## What it withstands")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.*?) \|$", section, re.MULTILINE)
    shown = [(title, int(status)) for title, status, _ in rows]
    assert shown == [(case.title, case.status) for case in CASES]
    for (_, _, said), case in zip(rows, CASES, strict=True):
        assert case.said in said.replace("`", "")


def test_mutated_bodies_never_break_the_server(client):
    draw = random.Random(7)
    statuses = Counter()
    for _ in range(500):
        path, body = mutated(draw)
        reply = client.ask(path, body)
        statuses[reply.status] += 1
        assert reply.status < 500, (path, body, reply.body)
        json.loads(reply.body)
    assert statuses[200] > 50
    assert statuses[400] > 50
    assert statuses[422] > 100


RAW = [
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    b"POST /rerank HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /rerank HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\r\n" * 1000,
]


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_what_is_no_http_is_cut_off(client, raw):
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(64)
    assert not answer.startswith(b"HTTP/1.1 5")
    assert client.ask("/rerank", SOUND).status == 200
