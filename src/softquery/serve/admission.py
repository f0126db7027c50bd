"""Admission control: what every request passes before any dialect sees it.

In this order: who asks (a key), whether there is room (the queue), how much is sent (bytes, time),
what the holder of the key may ask, and again whether there is room, which a request takes when its
body is complete. A refusal costs
next to nothing. The log line and the metrics of a request, which are the same for all addresses,
are written here as well. If a client disconnects, its request is no longer computed.
"""

import asyncio
import json
import logging
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from softquery.serve.body_reading import (
    ArrivingBodies,
    BodyReader,
    Message,
    Receive,
    check_structure,
    too_large,
)
from softquery.serve.faults import Dialect, Fault, FaultKind, not_allowed_yet, overloaded
from softquery.serve.keys import KeyRing, bearer
from softquery.serve.operation.ended_request import EndedRequest
from softquery.serve.operation.server_state import ServerState
from softquery.serve.service import REQUEST
from softquery.serve.settings import Limits
from softquery.serve.telemetry import LOGGER, log

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/health", "/ready", "/docs", "/openapi.json", "/"})
"""Addresses that may be read without a key; they reveal nothing about a model or an index."""
OPEN_FOLDER = "/page/"
UNLOGGED = ("/health", "/ready", "/metrics")
"""Addresses that machines ask every few seconds."""
TRACE_HEADERS = (b"traceparent", b"tracestate")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""The policy of responses that bring none of their own, as pages do."""
LARGE_BODIES = 64
"""Bodies of the largest size that may arrive at once; smaller ones may be more."""
LONGEST_LENGTH = 20
"""The most digits of a `Content-Length` that is worth reading as a number."""
LONGEST_QUOTE = 2_000
"""Bytes of a body that a log line may hold, if it may hold any."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class AdmissionControl:
    """An ASGI application around another one, which admits, refuses and logs requests.

    Args:
        app: Answers the requests that are admitted.
        limits: How much one request may ask, and how many may be in progress.
        state: Counts requests, and knows what the holder of each key has used.
        keys: The keys that are accepted; None if none is needed.
        dialects: The dialect of each address.
        retry_after: Says after how many seconds a refused client should try again.
        slow: Seconds from which a request is logged with what took how long.
        log_text: Whether the log may hold what users wrote.
    """

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        state: ServerState,
        keys: KeyRing | None,
        dialects: Mapping[str, Dialect],
        retry_after: Callable[[], int],
        slow: float | None = None,
        log_text: bool = False,
    ) -> None:
        self.app, self.limits, self.keys = app, limits, keys
        self.state, self.metrics, self.slow = state, state.metrics, slow
        self.dialects, self.retry_after, self.log_text = dialects, retry_after, log_text
        self.num_in_progress = 0
        self.arriving = ArrivingBodies(LARGE_BODIES * limits.max_body)
        self._logged_problem: str | None = None

    def log_key_problem(self, problem: str | None) -> None:
        """Log once what is wrong with the file of keys."""
        if problem is not None and problem != self._logged_problem:
            event = "the file of keys is invalid; the keys that were read last stay valid"
            log(logging.ERROR, event, {"reason": problem})
        self._logged_problem = problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; events of the server's life go to the application."""
        if scope["type"] == "http":
            await HttpRequest(self, scope, receive, send).run()
        elif scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


class HttpRequest:
    """One request from its head to its log line."""

    def __init__(
        self, admission: AdmissionControl, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.admission, self.scope, self.receive, self._send = admission, scope, receive, send
        self.began = time.perf_counter()
        self.headers = {name: value for name, value in reversed(scope["headers"])}
        self.status = 0
        given = self._header(b"x-request-id")
        self.id = given if given and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        self.known: dict[str, Any] = {"deadline": time.monotonic() + admission.limits.timeout}

    async def run(self) -> None:
        """Admit the request or refuse it; then log it."""
        try:
            self._check_key()
            if self.scope["method"] in ("GET", "HEAD", "OPTIONS"):
                REQUEST.set(self.known)
                await self.admission.app(self.scope, self.receive, self._send_with_headers)
            else:
                self._check_room()
                self._check_length()
                self._check_allowance()
                await self._answer_in_room(await self._body())
        except Fault as fault:
            await self._refuse(fault)
        except ConnectionResetError:
            self.known["gone"] = True
        except Exception:
            await self._fail()
        finally:
            self._end()

    def _check_key(self) -> None:
        ring, path = self.admission.keys, self.scope["path"]
        reads = self.scope["method"] in ("GET", "HEAD")
        if ring is None or self.scope["method"] == "OPTIONS":
            return
        if reads and (path in OPEN or path.startswith(OPEN_FOLDER)):
            return
        holder = ring.holder(bearer(self._header(b"authorization")))
        self.admission.log_key_problem(ring.problem)
        if holder is None:
            message = "the key is missing or unknown; send a valid one as Authorization: Bearer KEY"
            raise Fault(FaultKind.UNAUTHORIZED, message, headers={"WWW-Authenticate": "Bearer"})
        self.known["key"] = holder

    def _check_room(self) -> None:
        if self.admission.num_in_progress >= self.admission.limits.queue:
            raise overloaded(self.admission.retry_after())

    def _check_allowance(self) -> None:
        """Refuse what the holder of the key may not ask yet."""
        name, ring = self.known.get("key"), self.admission.keys
        if name is None or ring is None:
            return
        seconds, amount = self.admission.state.usage.wait_for(name, ring.allowance(name))
        if amount is not None:
            raise not_allowed_yet(amount, max(1, math.ceil(seconds)))

    def _check_length(self) -> None:
        """Refuse a body that says itself that it is too large."""
        digits = (self._header(b"content-length") or "").lstrip("0")
        most = self.admission.limits.max_body
        if digits.isdecimal() and (len(digits) > LONGEST_LENGTH or int(digits) > most):
            raise too_large(most)

    async def _body(self) -> bytes:
        """The complete body, unless it is too large or arrives too slowly."""
        limits, deadline = self.admission.limits, self.known["deadline"]
        reader = BodyReader(self.receive, max_size=limits.max_body, deadline=deadline)
        body = await reader.read(self.admission.arriving)
        self.known.update(bytes=len(body), body_read=time.perf_counter())
        check_structure(body, max_texts=limits.max_texts, max_tokens=limits.max_tokens)
        self.admission.metrics.observe_stage("read", "", time.perf_counter() - self.began)
        if self.admission.log_text:
            self.known["body"] = body[:LONGEST_QUOTE].decode("utf-8", "replace")
        return body

    async def _answer_in_room(self, body: bytes) -> None:
        """Take a place in the queue, and leave it when the request is answered."""
        self._check_room()
        self.admission.num_in_progress += 1
        self.admission.metrics.in_progress.inc()
        try:
            await self._answer(body)
        finally:
            self.admission.num_in_progress -= 1
            self.admission.metrics.in_progress.dec()

    async def _answer(self, body: bytes) -> None:
        """Answer the request, for as long as the client stays connected."""
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
        await self.admission.app(self.scope, receive, self._send_with_headers)

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
        dialect = self.admission.dialects.get(self.scope["path"], Dialect.OPENAI)
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
        """Log an unexpected error; the client learns only under which id it was logged."""
        LOGGER.error("internal error", exc_info=True, extra={"fields": {"id": self.id}})
        if not self.status:
            await self._refuse(
                Fault(FaultKind.INTERNAL, f"internal error; the server logged it as {self.id}")
            )

    def _header(self, name: bytes) -> str | None:
        found = self.headers.get(name)
        return None if found is None else found.decode("latin-1")

    def _end(self) -> None:
        """Write the metrics, the log lines and the trace of the request, and what its key used."""
        now = time.perf_counter()
        admission, known, path = self.admission, self.known, self.scope["path"]
        route = path if path in admission.dialects or path in OPEN else "other"
        status = self.status or 499
        admission.metrics.observe_request(route, status, now - self.began)
        if "computed" in known:
            seconds = now - known["computed"]
            admission.metrics.observe_stage("answer", known.get("model", ""), seconds)
        if "key" in known and admission.keys is not None and "tokens" in known:
            allowance = admission.keys.allowance(known["key"])
            admission.state.usage.add_tokens(known["key"], allowance, known["tokens"])
        if path in UNLOGGED and status == 200:
            return
        shown = path if admission.log_text else route  # an unknown path may hold anything
        ended = EndedRequest(
            id=self.id,
            method=self.scope["method"],
            path=shown[:200],
            route=route,
            status=status,
            began=self.began,
            ended=now,
            known=known,
        )
        ended.log(slow=admission.slow)
        if admission.state.tracing is not None:
            headers = {name.decode("latin-1"): self._header(name) or "" for name in TRACE_HEADERS}
            admission.state.tracing.record(ended.trace(headers))
