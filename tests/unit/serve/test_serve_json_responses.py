"""Responses of JSON: the same bytes in parts, and large ones not in the event loop."""

import asyncio
import json
import random
import threading

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from softquery.serve import json_responses
from softquery.serve.json_responses import LARGE, Json, is_large


def sent(response):
    """The headers and the body of a response."""
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(response({"type": "http"}, None, send))
    start, body = messages
    return {name.decode(): value.decode() for name, value in start["headers"]}, body["body"]


def whole(content):
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )


LARGE_ANSWERS = {
    "numbers": list(range(3 * LARGE)),
    "matrices": {"hits": [{"weights": [[0.25] * 300] * 90, "a": "b"}, {}, {"weights": []}]},
    "small objects": {"answers": [{"index": n, "tags": ["a", None]} for n in range(LARGE)]},
    "long texts": ['b\ud83d密"\\' * LARGE] * 5,
    "many names": {f"n{n}": [n, True] for n in range(LARGE)},
    "a tuple": ({"a": (1, 2)},) * LARGE,
}


@pytest.mark.parametrize("content", LARGE_ANSWERS.values(), ids=LARGE_ANSWERS)
def test_parts_make_the_same_answer(content):
    headers, body = sent(Json(content))
    assert body == whole(content)
    assert headers["content-length"] == str(len(body))
    assert headers["content-type"] == "application/json"


def test_random_values_make_the_same_answer(monkeypatch):
    monkeypatch.setattr(json_responses, "LARGE", 300)
    draw = random.Random(1)

    def value(depth):
        if depth == 0 or draw.random() < 0.2:
            return draw.choice([1, 0.5, None, True, "a", "密" * draw.randrange(900), {}, []])
        if draw.random() < 0.5:
            return [value(depth - 1) for _ in range(draw.randrange(12))]
        return {str(n): value(depth - 1) for n in range(draw.randrange(12))}

    for _ in range(300):
        content = value(4)
        assert b"".join(json_responses._parts(content)) == whole(content)


@pytest.mark.parametrize("content", LARGE_ANSWERS.values(), ids=LARGE_ANSWERS)
def test_a_large_answer_is_serialised_elsewhere_and_no_part_of_it_is_large(content, monkeypatch):
    """Python's serialiser lets no other thread run until it has ended."""
    threads, sizes, dumped = set(), [], json_responses._dumped

    def watched(part):
        threads.add(threading.current_thread())
        if not isinstance(part, str):  # a text cannot be cut
            sizes.append(is_large(part))
        return dumped(part)

    monkeypatch.setattr(json_responses, "_dumped", watched)
    sent(Json(content))
    assert threading.main_thread() not in threads
    assert not any(sizes)


def test_a_small_answer_needs_no_thread(monkeypatch):
    monkeypatch.setattr(asyncio, "to_thread", None)
    headers, body = sent(Json({"a": np.float32(0.5), "b": np.zeros(2)}, 201, {"x-a": "b"}))
    assert body == b'{"a":0.5,"b":[0.0,0.0]}'
    assert headers["x-a"] == "b"
    assert sent(Json(lambda: [1]))[1] == b"[1]"


def test_a_large_answer_is_made_elsewhere_too():
    made = []

    def content():
        made.append(threading.current_thread())
        return [1]

    assert sent(Json(content, size=LARGE + 1))[1] == b"[1]"
    assert made[0] is not threading.main_thread()


def test_what_json_cannot_hold_is_an_error():
    with pytest.raises(ValueError, match="Out of range float"):
        sent(Json([float("nan")] * 2 * LARGE))


def test_numbers_of_numpy_and_halves_of_characters_are_written():
    _, found = sent(Json({"score": np.float32(0.5), "row": np.arange(2), "text": "\ud800ü"}))
    assert found == b'{"score":0.5,"row":[0,1],"text":"\\ud800\xc3\xbc"}'
    assert json.loads(found)["text"] == "\ud800ü"
