"""Bodies while they arrive: too slow, too large, and given up in favour of others."""

import asyncio
import json
import subprocess
import sys
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from softquery.serve import body_reading
from softquery.serve.body_reading import (
    ArrivingBodies,
    BodyReader,
    check_structure,
    without_strings,
)
from softquery.serve.faults import Fault, FaultKind


def reader(*parts, seconds=20.0, ends=True):
    """A reader of a body that comes in these parts, and then stops or ends."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if ends:
        messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive():
        await asyncio.sleep(0.001)
        return messages.pop(0) if messages else await asyncio.sleep(30)

    return BodyReader(receive, max_size=100, deadline=time.monotonic() + seconds)


def test_a_body_is_the_sum_of_its_parts():
    arriving = ArrivingBodies(1000)
    assert asyncio.run(reader(b"a", b"", b"bc").read(arriving)) == b"abc"
    assert arriving.size == 0


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (lambda: reader(b"a" * 101), FaultKind.TOO_LARGE),
        (lambda: reader(b"a", seconds=0.05, ends=False), FaultKind.TOO_SLOW),
    ],
)
def test_a_body_beyond_its_limits_is_refused(given, kind):
    arriving = ArrivingBodies(1000)
    with pytest.raises(Fault) as caught:
        asyncio.run(given().read(arriving))
    assert caught.value.kind is kind
    assert arriving.size == 0


def test_a_body_below_the_least_rate_is_refused(monkeypatch):
    monkeypatch.setattr(body_reading, "GRACE_SECONDS", 0.05)
    with pytest.raises(Fault, match="did not arrive in time"):
        asyncio.run(reader(b"a" * 10, ends=False).read(ArrivingBodies(1000)))


def test_the_oldest_body_makes_room_for_others():
    async def read_three():
        arriving = ArrivingBodies(150)
        stuck = asyncio.ensure_future(reader(b"a" * 90, ends=False).read(arriving))
        await asyncio.sleep(0.05)
        assert await reader(b"b" * 50).read(arriving) == b"b" * 50
        assert not stuck.done()
        assert await reader(b"c" * 70).read(arriving) == b"c" * 70
        with pytest.raises(Fault, match="did not arrive in time"):
            await stuck
        assert arriving.size == 0

    asyncio.run(read_three())


CHECKED = """
from softquery.serve.body_reading import check_structure
try:
    check_structure({body}, max_texts=1_000, max_tokens=300_000)
except Exception as fault:
    print(fault)
"""


@pytest.mark.parametrize(
    "body",
    [
        """b"[" * 10_001 + b'"' + b'\\\\"' * 995_000""",
        """b"[" * 10_001 + b'"' + b"\\\\" * 1_980_000""",
        """b"[" * 10_001 + b'"' * 1_980_001""",
        """b'"[' * 1_000_000""",
    ],
)
def test_strings_that_never_end_are_looked_through_once(body):
    """A pattern would look for the end of each again: for 20 seconds at a twentieth of the size."""
    program = [sys.executable, "-c", CHECKED.format(body=body)]
    found = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout == "the body has more values than a request may hold\n"


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (b"[1, 2]", b"[1, 2]"),
        (b'["[", "]"]', b"[, ]"),
        (rb'["\"[", "\\", ["\\\"["]]', b"[, , []]"),
        (rb'["a", "\"[', b"[, "),
        (rb'["a", "\\"[', b"[, ["),
        (b'["', b"["),
    ],
)
def test_what_stands_inside_strings_is_left_out(body, left):
    assert without_strings(body) == left


def test_a_long_text_full_of_brackets_is_no_structure():
    text = '[{,"\\\\' * 50_000
    body = json.dumps({"texts": [text]}).encode()
    check_structure(body, max_texts=10, max_tokens=10)


def test_structure_cannot_hide_in_another_encoding():
    """Python's parser also reads UTF-16, in which an escaped quote has other bytes."""
    body = json.dumps(['"', [[]] * 20_000]).encode("utf-16-le")
    with pytest.raises(Fault, match="more values than a request may hold"):
        check_structure(body, max_texts=1_000, max_tokens=300_000)
