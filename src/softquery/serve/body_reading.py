"""Bodies of requests while they arrive: bounded in size, in time, in rate, and all together.

A request takes no place in the queue before its body is complete. What incomplete bodies take is
memory; where they take too much of it, the one that has been arriving longest is given up, which is
never that of a client that sends at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from softquery.serve.faults import Fault, FaultKind

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

TEXTS_TIMES = 10
"""Lists and objects of a body for each text that a request may hold; real ones have two."""
LEAST_RATE = 1_000
"""Bytes per second that a body must have on the whole, after its first seconds."""
GRACE_SECONDS = 5.0
"""Seconds in which nothing needs to have arrived."""


class BodyReader:
    """Reads one body.

    Args:
        receive: Gives the messages of the request.
        max_size: The most bytes.
        deadline: When the body must be complete, by `time.monotonic`.
    """

    def __init__(self, receive: Receive, *, max_size: int, deadline: float) -> None:
        self.receive, self.max_size, self.deadline = receive, max_size, deadline
        self.body = bytearray()
        self._began = time.monotonic()
        self._next: asyncio.Future[Message] | None = None
        self._is_given_up = False

    async def read(self, arriving: "ArrivingBodies") -> bytes:
        """The complete body.

        Raises:
            Fault: The body is too large, arrives too slowly, or had to make room for others.
            ConnectionResetError: The client disconnected.
        """
        arriving.add(self)
        try:
            while await self._read_part(arriving):
                pass
            return bytes(self.body)
        finally:
            arriving.discard(self)

    def give_up(self) -> None:
        """End reading: the memory is needed for others."""
        self._is_given_up = True
        if self._next is not None:
            self._next.cancel()

    async def _read_part(self, arriving: "ArrivingBodies") -> bool:
        """Read what has arrived; whether more will come."""
        message = await self._message()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        part = message.get("body", b"")
        self.body += part
        arriving.grow(len(part))
        if len(self.body) > self.max_size:
            raise too_large(self.max_size)
        return bool(message.get("more_body", False))

    async def _message(self) -> Message:
        if self._is_given_up:
            raise _too_slow()
        self._next = asyncio.ensure_future(self.receive())
        try:
            return await asyncio.wait_for(self._next, max(0.001, self._end() - time.monotonic()))
        except asyncio.TimeoutError:
            raise _too_slow() from None
        except asyncio.CancelledError:
            if self._is_given_up:
                raise _too_slow() from None
            raise

    def _end(self) -> float:
        """Until when the next part is waited for."""
        return min(self.deadline, self._began + GRACE_SECONDS + len(self.body) / LEAST_RATE)


class ArrivingBodies:
    """All bodies that are incomplete.

    Args:
        max_size: The most bytes that all of them may take together.
    """

    def __init__(self, max_size: int) -> None:
        self.size, self.max_size = 0, max_size
        self._readers: dict[BodyReader, None] = {}

    def add(self, reader: BodyReader) -> None:
        """A body begins to arrive."""
        self._readers[reader] = None

    def grow(self, size: int) -> None:
        """Some bytes have arrived; give up the oldest bodies if that is too much."""
        self.size += size
        while self.size > self.max_size:
            oldest = next(iter(self._readers))
            self.discard(oldest)
            oldest.give_up()

    def discard(self, reader: BodyReader) -> None:
        """A body is complete, or was given up."""
        if reader in self._readers:
            del self._readers[reader]
            self.size -= len(reader.body)


def check_structure(body: bytes, *, max_texts: int, max_tokens: int) -> None:
    """Refuse JSON of so many small values that to parse it would take seconds.

    >>> check_structure(b'{"texts": ["[[[[,,,,"]}', max_texts=1, max_tokens=1)
    >>> check_structure(b"[" * 12, max_texts=1, max_tokens=1)
    Traceback (most recent call last):
    softquery.serve.faults.Fault: the body has more values than a request may hold

    Args:
        body: The body, JSON or not.
        max_texts: Texts that a request may hold.
        max_tokens: Words that texts may be cut into.
    """
    most_nodes = TEXTS_TIMES * max_texts

    def is_small(text: bytes) -> bool:
        num_nodes = text.count(b"[") + text.count(b"{")
        return num_nodes <= most_nodes and text.count(b",") <= max_tokens + most_nodes

    # What stands inside strings is no structure; to leave it out costs more than to count it.
    # JSON in UTF-8 has no zero bytes; in UTF-16, which has, strings would be looked for in vain.
    if not is_small(body) and (b"\0" in body or not is_small(without_strings(body))):
        raise Fault(FaultKind.VALIDATION, "the body has more values than a request may hold")


def without_strings(body: bytes) -> bytes:
    r"""JSON without what stands inside its strings; one that never ends reaches to the end.

    Escaped signs are left out first, then every second part between quotes is a string. Each step
    reads the body once: a pattern that looks for the end of a string reads on to the end of the
    body for every quote that has none.

    >>> without_strings(rb'["a,\\", "\",", [1, 2], "[[')
    b'[, , [1, 2], '
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(plain.split(b'"')[::2])


def too_large(most: int) -> Fault:
    """The refusal of a body of more bytes than a server takes."""
    return Fault(
        FaultKind.TOO_LARGE,
        f"the body is larger than {most:,} bytes",
        headers={"Connection": "close"},
    )


def _too_slow() -> Fault:
    return Fault(
        FaultKind.TOO_SLOW, "the body did not arrive in time", headers={"Connection": "close"}
    )
