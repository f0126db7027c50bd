"""HTTP connections with limits on all that clients send besides bodies.

uvicorn bounds neither the time nor the size of what is not a body: the head of a request, trailers,
extensions of chunks, requests that are sent before earlier ones are answered, answers that a client
does not take. Here all of them are bounded.
"""

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    HttpProtocol: Any = object
else:
    HttpProtocol = HttpToolsProtocol

CHECK_SECONDS = 10.0
"""Seconds between two checks of whether a client sends its head and takes its answer."""
LARGEST_HEAD = 65_536
"""The most bytes of a request's head, of its trailers, or of what stands between two chunks."""
LONGEST_LENGTH = 20
"""The most digits of a `Content-Length`."""
MOST_PIPELINED = 32
"""The most requests that may wait on one connection until earlier ones are answered."""
FAREWELL_SECONDS = 1.0
"""Seconds for which an idle connection stays open when the server stops: a request may be on its
way, and is answered."""
PROBE_SECONDS = 0.25
"""Seconds between two looks at whether a client that has ended its side is still there."""
PROBE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""What is sent to such a client: an interim response, which clients of HTTP/1.1 pass over."""
BEGINNING = b"HTTP/1.1 "
"""What every answer begins with; a client of HTTP/1.0, which knows no interim responses, is sent
one byte of it at a time."""


class BadRequest(Exception):  # noqa: N818  (the parser turns it into a 400)
    """A head that is refused, or one too many requests on a connection."""


class BegunTransport:
    """The transport of an answer whose first bytes may be sent before the others are known.

    Args:
        transport: The transport of the connection.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._num_sent = 0

    def begin(self) -> None:
        """Send the next byte of the beginning."""
        self._transport.write(BEGINNING[self._num_sent : self._num_sent + 1])
        self._num_sent = min(self._num_sent + 1, len(BEGINNING))

    def write(self, data: bytes) -> None:
        """Send what has not been sent."""
        skipped, self._num_sent = self._num_sent, max(0, self._num_sent - len(data))
        self._transport.write(data[skipped:])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedProtocol(HttpProtocol):  # type: ignore[misc]
    """One connection, whose heads, trailers and waiting requests are bounded.

    A client may end its side of the connection after its request, and still gets the answer. One
    that closed the connection altogether looks the same until something is sent to it; so a client
    that ended its side is sent an interim response now and then while its request is computed, or,
    if it speaks HTTP/1.0, the first bytes of its answer, which are always the same.
    """

    check_seconds = CHECK_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to check the new connection."""
        super().connection_made(transport)
        self._size_beside_bodies = 0
        self._was_waiting = False
        self._num_unsent = 0
        self._in_trailers = False
        self._running: Any = None
        """The request that is being answered; `cycle` is the one that was read last."""
        self._next_probe: asyncio.TimerHandle | None = None
        self._farewell: asyncio.TimerHandle | None = None
        self._is_last = False
        """Whether the server is stopping, so that no request follows the present one."""
        self._num_probes = 0
        self._next_check = self.loop.call_later(self.check_seconds, self._check)

    def data_received(self, data: bytes) -> None:
        """Read on, unless more than a head was sent since the last byte of a body."""
        self._size_beside_bodies += len(data)
        super().data_received(data)
        if self._size_beside_bodies > LARGEST_HEAD:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait already."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise BadRequest("too many requests wait on this connection")
        self._in_trailers = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; a trailer, which could pass for one, is not kept."""
        if self._in_trailers:
            return
        if name.lower() == b"content-length" and len(value) > LONGEST_LENGTH:
            raise BadRequest("Content-Length has too many digits")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head has ended; what comes now as a header is a trailer."""
        self._in_trailers = True
        self._size_beside_bodies = 0
        super().on_headers_complete()
        if self._is_last and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Hand on a part of a body."""
        self._size_beside_bodies = 0
        super().on_body(body)

    def eof_received(self) -> bool:
        """Whether the connection stays open for an answer, now that the client sends no more."""
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_complete:
            return False
        cycle.keep_alive = False
        self._next_probe = self.loop.call_later(PROBE_SECONDS, self._probe)
        return True

    def shutdown(self) -> None:
        """Close the connection after the request that is in progress or on its way."""
        self._is_last = True
        if self.cycle is None or self.cycle.response_complete:
            self._farewell = self.loop.call_later(FAREWELL_SECONDS, self._close_if_idle)
        else:
            self.cycle.keep_alive = False

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Stop all checks; tell also a request that others were sent behind."""
        self._next_check.cancel()
        for timer in (self._next_probe, self._farewell):
            if timer is not None:
                timer.cancel()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(error)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _awaits_head(self) -> bool:
        """Whether a head is due: no request is being answered, and the connection is not idle."""
        answered = self.cycle is None or self.cycle.response_complete
        return bool(answered and self.timeout_keep_alive_task is None)

    def _check(self) -> None:
        """Disconnect a client that neither sent a head nor took any of its answer for a while."""
        awaits_head, num_unsent = self._awaits_head(), self.transport.get_write_buffer_size()
        if 0 < self._num_unsent <= num_unsent:
            self.transport.abort()
            return
        if awaits_head and self._was_waiting:
            self.transport.close()
        self._was_waiting, self._num_unsent = awaits_head, num_unsent
        self._next_check = self.loop.call_later(self.check_seconds, self._check)

    def _probe(self) -> None:
        """Find out whether a client that has ended its side still waits for the answer."""
        connected = self.transport.get_extra_info("socket")
        if connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
            return
        self._num_probes += 1
        if not self._running.response_started:
            self._send_probe(self._running)
        self._next_probe = self.loop.call_later(PROBE_SECONDS, self._probe)

    def _send_probe(self, running: Any) -> None:
        """Send something to which the client's system objects if nobody is there to read it."""
        if running.scope["http_version"] == "1.1":
            self.transport.write(PROBE)
        elif self._num_probes & (self._num_probes - 1) == 0:
            # The 1st, 2nd, 4th, 8th … time: there are nine bytes for all the time of a request.
            if not isinstance(running.transport, BegunTransport):
                running.transport = BegunTransport(running.transport)
            running.transport.begin()
