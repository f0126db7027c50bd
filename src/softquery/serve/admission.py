"""What every request passes before any dialect sees it.

In this order: who asks (a key), whether there is room (the queue), how much is sent (bytes, time).
A refusal costs next to nothing: no body is read that will not be answered. Behind it stand the log
line and the numbers, which are the same for all addresses. A client that hangs up is no longer
computed for.
"""

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from softquery.serve.faults import Dialect, Fault, FaultKind, overloaded
from softquery.serve.keys import KeyRing, bearer
from softquery.serve.metrics import Metrics
from softquery.serve.request_log import LOGGER, log
from softquery.serve.service import REQUEST
from softquery.serve.settings import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/health", "/docs", "/openapi.json", "/"})
"""Addresses that need no key when they are read; nothing of a model or an index is told there."""
OPEN_FOLDER = "/page/"
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""Of answers that say nothing else; pages bring their own."""
LONGEST_QUOTE = 2_000
"""Bytes of a body that a log line may hold, where it may hold any."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class AdmissionControl:
    """An ASGI application around another one.

    Args:
        app: Answers what is let in.
        limits: What one request may ask, and how many may be inside.
        metrics: The numbers.
        keys: Who may ask; None for everybody.
        dialects: Whose habits each address follows.
        retry_after: Says when it is worth coming back.
        log_text: Whether the log may hold what users wrote.
    """

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        metrics: Metrics,
        keys: KeyRing | None,
        dialects: Mapping[str, Dialect],
        retry_after: Callable[[], int],
        log_text: bool = False,
    ) -> None:
        self.app, self.limits, self.metrics, self.keys = app, limits, metrics, keys
        self.dialects, self.retry_after, self.log_text = dialects, retry_after, log_text
        self.num_inside = 0
        self._told: str | None = None

    def tell_of_keys(self, problem: str | None) -> None:
        """Log what is wrong with the file of keys, once."""
        if problem is not None and problem != self._told:
            said = "the file of keys is broken; the last good one holds"
            log(logging.ERROR, said, {"reason": problem})
        self._told = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass on what is none."""
        if scope["type"] == "http":
            await GuardedRequest(self, scope, receive, send).run()
        elif scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


class GuardedRequest:
    """One request on its way through the gate."""

    def __init__(self, gate: AdmissionControl, scope: Scope, receive: Receive, send: Send) -> None:
        self.gate, self.scope, self.receive, self._send = gate, scope, receive, send
        self.began = time.perf_counter()
        self.headers = {name: value for name, value in reversed(scope["headers"])}
        self.status = 0
        given = self._header(b"x-request-id")
        self.id = given if given and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        self.known: dict[str, Any] = {"deadline": time.monotonic() + gate.limits.timeout}

    async def run(self) -> None:
        """Let the request in, or say why not; then write it down."""
        takes_room = self.scope["method"] not in ("GET", "HEAD", "OPTIONS")
        self.gate.num_inside += takes_room
        self.gate.metrics.inside.inc(takes_room)
        try:
            self._check_key()
            if takes_room:
                self._check_room()
                await self._answer(await self._body())
            else:
                REQUEST.set(self.known)
                await self.gate.app(self.scope, self.receive, self._send_with_headers)
        except Fault as fault:
            await self._refuse(fault)
        except ConnectionResetError:
            self.known["gone"] = True
        except Exception:
            await self._fail()
        finally:
            self.gate.num_inside -= takes_room
            self.gate.metrics.inside.dec(takes_room)
            self._write_down()

    def _check_key(self) -> None:
        ring, path = self.gate.keys, self.scope["path"]
        reads = self.scope["method"] in ("GET", "HEAD")
        if ring is None or self.scope["method"] == "OPTIONS":
            return
        if reads and (path in OPEN or path.startswith(OPEN_FOLDER)):
            return
        holder = ring.holder(bearer(self._header(b"authorization")))
        self.gate.tell_of_keys(ring.problem)
        if holder is None:
            said = "a key is needed: Authorization: Bearer KEY"
            raise Fault(FaultKind.UNAUTHORIZED, said, headers={"WWW-Authenticate": "Bearer"})
        self.known["key"] = holder

    def _check_room(self) -> None:
        if self.gate.num_inside > self.gate.limits.queue:
            raise overloaded(self.gate.retry_after())
        length = self._header(b"content-length")
        if length is not None and length.isdecimal() and int(length) > self.gate.limits.max_body:
            raise self._too_large()

    async def _body(self) -> bytes:
        """All of the body, within its size and its time."""
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            left = self.known["deadline"] - time.monotonic()
            try:
                message = await asyncio.wait_for(self.receive(), max(0.001, left))
            except asyncio.TimeoutError:
                raise Fault(FaultKind.TOO_SLOW, "the request took too long to arrive") from None
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > self.gate.limits.max_body:
                raise self._too_large()
        self.gate.metrics.stage("read", "", time.perf_counter() - self.began)
        body = b"".join(parts)
        if self.gate.log_text:
            self.known["body"] = body[:LONGEST_QUOTE].decode("utf-8", "replace")
        return body

    def _too_large(self) -> Fault:
        most = self.gate.limits.max_body
        return Fault(
            FaultKind.TOO_LARGE,
            f"the body is larger than {most:,} bytes",
            headers={"Connection": "close"},
        )

    async def _answer(self, body: bytes) -> None:
        """Compute as long as the client is there."""
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        gone = asyncio.ensure_future(self.receive())

        async def receive() -> Message:
            return waiting.pop() if waiting else await asyncio.shield(gone)

        REQUEST.set(self.known)
        answer = asyncio.ensure_future(self._run_app(receive))
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done() and not self.status:
            answer.cancel()
            self.known["gone"] = True
        gone.cancel()
        try:
            await answer
        except asyncio.CancelledError:
            if not self.known.get("gone"):
                raise

    async def _run_app(self, receive: Receive) -> None:
        await self.gate.app(self.scope, receive, self._send_with_headers)

    async def _send_with_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            headers += [*HEADERS, (b"x-request-id", self.id.encode())]
            if POLICY[0] not in names:
                headers.append(POLICY)
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await self._send(message)

    async def _refuse(self, fault: Fault) -> None:
        dialect = self.gate.dialects.get(self.scope["path"], Dialect.OPENAI)
        body = json.dumps(fault.body(dialect)).encode()
        headers = {"Content-Type": "application/json", **fault.headers}
        await self._send_with_headers(
            {
                "type": "http.response.start",
                "status": fault.status(dialect),
                "headers": [
                    *((name.lower().encode(), value.encode()) for name, value in headers.items()),
                    (b"content-length", str(len(body)).encode()),
                ],
            }
        )
        await self._send_with_headers({"type": "http.response.body", "body": body})

    async def _fail(self) -> None:
        """A fault of ours: the client learns no more than that, the log where it happened."""
        LOGGER.error("a fault of the server's", exc_info=True, extra={"fields": {"id": self.id}})
        if not self.status:
            await self._refuse(
                Fault(FaultKind.INTERNAL, f"a fault of the server's, logged as {self.id}")
            )

    def _header(self, name: bytes) -> str | None:
        found = self.headers.get(name)
        return None if found is None else found.decode("latin-1")

    def _write_down(self) -> None:
        now = time.perf_counter()
        path = self.scope["path"]
        route = path if path in self.gate.dialects or path in OPEN else "other"
        status = self.status or 499
        self.gate.metrics.request(route, status, now - self.began)
        if "computed" in self.known:
            answered = now - self.known.pop("computed")
            self.gate.metrics.stage("answer", self.known.get("model", ""), answered)
        if path in ("/health", "/metrics") and status == 200:
            return
        shown = path if self.gate.log_text else route  # an unknown path may be anything
        level = logging.INFO if status < 500 else logging.ERROR
        kept = {key: value for key, value in self.known.items() if key != "deadline"}
        log(
            level,
            "request",
            {
                "id": self.id,
                "method": self.scope["method"],
                "path": shown[:200],
                "status": status,
                "seconds": round(now - self.began, 6),
                **kept,
            },
        )
