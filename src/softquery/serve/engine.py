"""Requests of many clients become batches of bounded size, which a few threads compute.

A request is split into items (a pair, a text), and tokenised at the same time. A free thread splits
waiting requests until their items fill the token budget, and computes these together; it never
waits for further requests. Requests are served in the order of their arrival. The number of
requests in progress is bounded; the next one is refused at once, with an estimate of when to retry.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from softquery.errors import SoftqueryError

LONGEST_RETRY = 60
"""The most seconds that a refused client is asked to wait."""


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """A request as items that can be computed together with those of other requests."""

    items: Sequence[Any]
    costs: Sequence[int]
    """Tokens of each item."""
    num_tokens: int = 0
    """Tokens that were read, each text counted once."""
    num_truncated: int = 0
    """Texts that were longer than the model's limit."""


class BatchHandler(Protocol):
    """One verb of one model. Both methods run in the engine's threads."""

    @property
    def name(self) -> str:
        """The name of the model, for metrics."""

    def split(self, request: Any) -> SplitRequest:
        """Tokenise a request and split it into items."""

    def compute(self, items: Sequence[Any]) -> Sequence[Any]:
        """Compute a batch of items, which may come from several requests: one answer per item."""


class EngineObserver(Protocol):
    """Learns how long stages took and how large batches were."""

    def observe_stage(self, stage: str, model: str, seconds: float) -> None:
        """A stage of one request, or of one batch, has ended."""

    def observe_batch(self, model: str, num_items: int, num_tokens: int) -> None:
        """A batch was put together."""


class Overloaded(SoftqueryError):  # noqa: N818  (it says what the server is, not what went wrong)
    """The queue is full.

    Args:
        retry_after: Seconds after which it is worth asking again.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"the queue is full; try again in {retry_after} s")


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of a request: one answer per item, in order."""

    answers: list[Any]
    num_tokens: int
    num_truncated: int


class QueuedRequest:
    """A request that waits in the engine or is being computed."""

    def __init__(self, handler: BatchHandler, request: Any) -> None:
        self.handler = handler
        self.request = request
        self.future: Future[EngineResult] = Future()
        self.arrived = time.perf_counter()
        self.split = SplitRequest((), ())
        self.answers: list[Any] = []
        self.num_open = 0
        """Items that are not answered yet."""

    def fail(self, error: BaseException) -> None:
        """End with an error, unless the request has ended already."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def finish(self) -> None:
        """End with the answers, unless the client has left."""
        split = self.split
        with suppress(InvalidStateError):
            self.future.set_result(
                EngineResult(self.answers, split.num_tokens, split.num_truncated)
            )


QueuedItem = tuple[QueuedRequest, int]
"""A request, and the place of one of its items."""


class Engine:
    """Computes requests in batches. Safe to use from many threads.

    Args:
        threads: Batches that are computed at a time.
        batch_tokens: The token budget of a batch; a larger item is a batch of its own.
        max_requests: The most requests that may be in progress.
        observer: Learns how long stages took.
    """

    def __init__(
        self, *, threads: int, batch_tokens: int, max_requests: int, observer: EngineObserver
    ) -> None:
        self.batch_tokens, self.max_requests = batch_tokens, max_requests
        self.num_requests = 0
        self._observer = observer
        self._arrived: deque[QueuedRequest] = deque()
        self._ready: deque[QueuedItem] = deque()
        self._ready_tokens = 0
        self._seconds_each = 0.01
        self._open = True
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"softquery-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, handler: BatchHandler, request: Any) -> "Future[EngineResult]":
        """Put a request into the queue.

        Raises:
            Overloaded: As many requests are in progress as there may be.
        """
        queued = QueuedRequest(handler, request)
        with self._changed:
            if not self._open:
                raise Overloaded(1)
            if self.num_requests >= self.max_requests:
                raise Overloaded(self.retry_after())
            self.num_requests += 1
            self._arrived.append(queued)
            self._changed.notify()
        queued.future.add_done_callback(self._forget)
        return queued.future

    def retry_after(self) -> int:
        """Seconds until the present requests will be done, by how long recent ones took."""
        seconds = self.num_requests * self._seconds_each / len(self._threads)
        return min(LONGEST_RETRY, max(1, math.ceil(seconds)))

    def close(self, seconds: float = 10.0) -> None:
        """Finish the requests in progress, then end the threads."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _forget(self, future: "Future[EngineResult]") -> None:
        with self._changed:
            self.num_requests -= 1

    def _work(self) -> None:
        while self._wait():
            while (queued := self._next_request()) is not None:
                self._split(queued)
            batch = self._next_batch()
            if batch:
                self._compute(batch)

    def _wait(self) -> bool:
        """Wait for work; False if the engine is closed and has none left."""
        with self._changed:
            while not self._arrived and not self._ready:
                if not self._open:
                    return False
                self._changed.wait()
            return True

    def _next_request(self) -> QueuedRequest | None:
        """A request to be split, unless a batch is full without it."""
        with self._changed:
            if not self._arrived or self._ready_tokens >= self.batch_tokens:
                return None
            return self._arrived.popleft()

    def _split(self, queued: QueuedRequest) -> None:
        if queued.future.cancelled():
            return None
        began = time.perf_counter()
        self._observer.observe_stage("wait", queued.handler.name, began - queued.arrived)
        try:
            queued.split = queued.handler.split(queued.request)
        except Exception as error:
            return queued.fail(error)
        queued.num_open = len(queued.split.items)
        queued.answers = [None] * queued.num_open
        self._observer.observe_stage("tokenise", queued.handler.name, time.perf_counter() - began)
        if not queued.num_open:
            return queued.finish()
        with self._changed:
            self._ready.extend((queued, place) for place in range(queued.num_open))
            self._ready_tokens += sum(queued.split.costs)
            self._changed.notify()
        return None

    def _next_batch(self) -> list[QueuedItem]:
        """The oldest items of one handler that fit the budget; all others keep their places."""
        batch: list[QueuedItem] = []
        kept: list[QueuedItem] = []
        tokens = 0
        with self._changed:
            while self._ready:
                queued, place = self._ready.popleft()
                cost = queued.split.costs[place]
                if queued.future.done():
                    self._ready_tokens -= cost
                    continue
                if batch and queued.handler is not batch[0][0].handler:
                    kept.append((queued, place))
                    continue
                if batch and tokens + cost > self.batch_tokens:
                    kept.append((queued, place))
                    break
                batch.append((queued, place))
                tokens += cost
            self._ready_tokens -= tokens
            self._ready.extendleft(reversed(kept))
            if self._ready:
                self._changed.notify()
        if batch:
            self._observer.observe_batch(batch[0][0].handler.name, len(batch), tokens)
        return batch

    def _compute(self, batch: list[QueuedItem]) -> None:
        handler = batch[0][0].handler
        began = time.perf_counter()
        try:
            answers = handler.compute([queued.split.items[place] for queued, place in batch])
        except Exception as error:
            return self._compute_separately(batch, error)
        seconds = time.perf_counter() - began
        self._observer.observe_stage("compute", handler.name, seconds)
        self._deliver(batch, answers, seconds)
        return None

    def _compute_separately(self, batch: list[QueuedItem], error: Exception) -> None:
        """Compute each request of a failed batch by itself, so that only the bad one fails."""
        requests = dict.fromkeys(queued for queued, _ in batch)
        if len(requests) == 1:
            return batch[0][0].fail(error)
        for queued in requests:
            self._compute([item for item in batch if item[0] is queued])
        return None

    def _deliver(self, batch: list[QueuedItem], answers: Sequence[Any], seconds: float) -> None:
        ended: list[QueuedRequest] = []
        with self._changed:
            for (queued, place), answer in zip(batch, answers, strict=True):
                queued.answers[place] = answer
                queued.num_open -= 1
                if not queued.num_open:
                    ended.append(queued)
            if ended:
                self._seconds_each += 0.1 * (seconds / len(ended) - self._seconds_each)
        for queued in ended:
            queued.finish()
