"""Clients that search for as much as they may: others are answered, and the server stays small."""

import random
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")
pytest.importorskip("usearch", reason="an index needs the extra [search]")

from serving import Process
from test_serve_connections import MEGABYTE, resident

from softquery.search import Index

SECONDS = 60
WORDS = ("password", "account", "locked", "email", "order", "parcel", "refund", "address", "card")
GREEDY = {"index": "long", "query": "password account locked email " * 600, "min_score": 0}
SMALL = {"text_1": "a dog", "text_2": "a cat"}


@pytest.fixture(scope="module")
def long_index(tmp_path_factory):
    """Fifteen hundred questions of sixty words."""
    draw = random.Random(1)
    rows = [{"question": " ".join(draw.choices(WORDS, k=60))} for _ in range(1500)]
    place = tmp_path_factory.mktemp("greedy") / "long.sq"
    Index.build(rows, place, model="match-en")
    return place


def test_greedy_searches_harm_nobody(long_index):
    """Six of them kept a small request waiting into its 503, and took 440 MB."""
    with Process("--model", "match-en", "--index", long_index, "--threads", 2) as process:
        client = process.client()
        assert client.ask("/v1/search", {**GREEDY, "candidates": 20}).status == 200
        refused = client.ask("/v1/search", {**GREEDY, "candidates": 1000})
        assert refused.status == 413, refused.body
        before, end = resident(process.process.pid), time.monotonic() + SECONDS
        statuses = set()

        def ask():
            while time.monotonic() < end:
                reply = client.ask("/v1/search", {**GREEDY, "candidates": 300, "top_k": 100})
                statuses.add(reply.status)

        greedy = [threading.Thread(target=ask) for _ in range(6)]
        for each in greedy:
            each.start()
        waited = []
        while time.monotonic() < end:
            began = time.monotonic()
            assert client.ask("/v1/score", SMALL).status == 200
            waited.append(time.monotonic() - began)
            assert client.ask("/health").status == 200
        for each in greedy:
            each.join()
        assert statuses == {200}
        assert len(waited) > SECONDS  # each of them took less than a second
        assert resident(process.process.pid) - before < 200 * MEGABYTE
