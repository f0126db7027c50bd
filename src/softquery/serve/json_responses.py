"""Responses of JSON, which never keep the event loop for long.

A large response is serialised in a thread. That alone does not help: Python's serialiser lets no
other thread run before it has ended. So it is given one small part after the other.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

LARGE = 20_000
"""Responses of more numbers are serialised in a thread, so that other requests are not blocked."""
CHARACTERS = 16
"""Characters of a text that take as long as a number."""


class Json(Response):
    """A response of JSON that keeps text readable and accepts lone surrogates.

    Args:
        content: Plain values, or a function that makes them.
        status_code: The status.
        headers: Additional headers.
        size: How many values the function makes; more than `LARGE` are made in a thread.
    """

    media_type = "application/json"

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        size: int = 0,
    ) -> None:
        super().__init__(None, status_code, headers)
        self.content, self.size = content, size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serialise the content, and send it."""
        content = self.content
        if callable(content) and self.size <= LARGE:
            content = content()
        if callable(content) or is_large(content):
            self.body = await asyncio.to_thread(_in_parts, content)
        else:
            self.body = _dumped(content)
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


class RawJson(Response):
    """A response of JSON that is serialised already."""

    media_type = "application/json"


def is_large(content: Any, most: int = LARGE) -> bool:
    """Whether there are more values than so many; no more than these are looked at.

    >>> is_large([[1, 2], {"a": "b" * 40}], 8), is_large([[1, 2], {"a": "b" * 40}], 7)
    (False, True)
    """
    left, waiting = most, [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            left -= len(value) // CHARACTERS
        elif isinstance(value, np.ndarray):
            left -= value.size
        elif isinstance(value, (list, tuple, dict)):
            if len(value) > left:
                return True
            if isinstance(value, dict):
                waiting += value.values()
            elif value and isinstance(value[0], (float, int)):  # a list of numbers
                left -= len(value)
            else:
                waiting += value
        left -= 1
        if left < 0:
            return True
    return False


def _in_parts(content: Any) -> bytes:
    return b"".join(_parts(content() if callable(content) else content))


def _parts(content: Any) -> Iterator[bytes]:
    """A value as JSON in small parts: after each of them, other threads get their turn.

    >>> b"".join(_parts({"a": [list(range(30_000))], "b": {}}))[:20]
    b'{"a":[[0,1,2,3,4,5,6'
    """
    if not isinstance(content, (list, tuple, dict)) or not is_large(content):
        yield _dumped(content)
    elif isinstance(content, dict):
        for number, (name, value) in enumerate(content.items()):
            yield (b"," if number else b"{") + _dumped(name) + b":"
            yield from _parts(value)
        yield b"}"
    else:
        yield b"["
        some = max(1, LARGE // 100)
        for start in range(0, len(content), some):
            yield from _listed(content[start : start + some], is_first=start == 0)
        yield b"]"


def _listed(values: Sequence[Any], *, is_first: bool) -> Iterator[bytes]:
    """Items of a list without its brackets: together if they are small."""
    if not is_large(values):
        yield (b"" if is_first else b",") + _dumped(values)[1:-1]
        return
    for number, value in enumerate(values):
        if number or not is_first:
            yield b","
        yield from _parts(value)


def _dumped(content: Any) -> bytes:
    """A value as JSON; a lone surrogate becomes its JSON escape."""
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
    )
    return text.encode("utf-8", "backslashreplace")


def _plain(value: Any) -> Any:
    """Numpy's numbers and arrays, which hits of an index may hold, as plain values."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


async def vectors_as_json(vectors: Sequence[NDArray[np.float32]]) -> list[bytes]:
    """Each vector as JSON, to eight digits."""
    if sum(map(len, vectors)) <= LARGE:
        return _vectors_as_json(vectors)
    return await asyncio.to_thread(_vectors_as_json, vectors)


def _vectors_as_json(vectors: Sequence[NDArray[np.float32]]) -> list[bytes]:
    # One at a time: in between, other threads get their turn.
    return [
        json.dumps(vector.astype(np.float64).round(8).tolist(), separators=(",", ":")).encode()
        for vector in vectors
    ]
