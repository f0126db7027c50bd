"""Requests of many clients become batches of bounded size, which a few threads compute.

A request is split into items (a pair, a text, a part of a long text), and tokenised at the same
time, a slice after the other. A free thread asks whose turn it is (`fair_turns`), reads a slice of
that request, or computes its next items together with items of other requests to the same model; it
never waits for further requests. A request that was cancelled is no longer read or computed. The
number of requests in progress is bounded; the next one is refused at once, with an estimate of when
to retry.
"""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from softquery.errors import SoftqueryError
from softquery.serve.fair_turns import FairClock, Paces
from softquery.serve.queued_request import (
    BatchHandler,
    EngineResult,
    QueuedItem,
    QueuedRequest,
    RequestBatch,
)

LONGEST_RETRY = 60
"""The most seconds that a refused client is asked to wait."""
READING_SECONDS = 0.01
"""Seconds after which a thread that reads a request looks again whose turn it is."""


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


class Engine:
    """Computes requests in batches. Safe to use from many threads.

    Args:
        threads: Batches that are computed at a time.
        batch_tokens: The token budget of a batch; a larger item is a batch of its own.
        max_requests: The most requests that may be in progress.
        max_tokens: The token budget of a request.
        observer: Learns how long stages took.
    """

    def __init__(
        self,
        *,
        threads: int,
        batch_tokens: int,
        max_requests: int,
        max_tokens: int,
        observer: EngineObserver,
    ) -> None:
        self.batch_tokens, self.max_tokens = batch_tokens, max_tokens
        self.max_requests = max_requests
        self._observer = observer
        self._requests: dict[Future[EngineResult], QueuedRequest] = {}
        self._clock, self._paces = FairClock(), Paces()
        self._seconds_each = 0.01
        self._open = True
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"softquery-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def num_requests(self) -> int:
        """Requests in progress."""
        return len(self._requests)

    @property
    def is_full(self) -> bool:
        """Whether the next request would be refused."""
        return self.num_requests >= self.max_requests

    @property
    def is_alive(self) -> bool:
        """Whether every thread is there."""
        return all(thread.is_alive() for thread in self._threads)

    def submit(self, handler: BatchHandler, request: Any) -> "Future[EngineResult]":
        """Put a request into the queue.

        Raises:
            Overloaded: As many requests are in progress as there may be.
        """
        with self._changed:
            if not self._open:
                raise Overloaded(1)
            if self.is_full:
                raise Overloaded(self.retry_after())
            queued = QueuedRequest(handler, request, self._clock.new_turn())
            self._requests[queued.future] = queued
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
        """Drop a request that has ended, or that nobody waits for, with all that it still asks."""
        with self._changed:
            del self._requests[future]

    def _work(self) -> None:
        while (unit := self._next_unit()) is not None:
            if isinstance(unit, QueuedRequest):
                self._read(unit)
            else:
                self._compute(unit)

    def _next_unit(self) -> "QueuedRequest | RequestBatch | None":
        """A request to be read or a batch to be computed; None if the engine is closed and idle."""
        with self._changed:
            while (unit := self._choose()) is None:
                if not self._open:
                    return None
                self._changed.wait()
            if self._waiting():
                self._changed.notify()
            return unit

    def _waiting(self) -> list[QueuedRequest]:
        """Requests that a thread could do something for."""
        return [each for each in self._requests.values() if each.has_items or each.is_to_be_read]

    def _choose(self) -> "QueuedRequest | RequestBatch | None":
        """What the request whose turn it is needs, with others of its handler in the batch."""
        waiting = sorted(self._waiting(), key=lambda each: each.turn.place)
        if not waiting:
            return None
        first = waiting[0]
        budget, tokens = self._paces.unit(first.handler, self.batch_tokens), 0
        mates: list[QueuedRequest] = []
        for queued in waiting:
            if queued.handler is not first.handler:
                continue
            if tokens >= budget:
                break
            if queued.has_items:
                mates.append(queued)
                tokens += sum(queued.costs[queued.num_taken :])
            elif queued is first or queued.slices is None:  # a long one is read in its own turns
                queued.is_being_read = True
                return queued
        return self._batch(first.handler, mates, budget)

    def _batch(
        self, handler: BatchHandler, mates: list[QueuedRequest], budget: int
    ) -> RequestBatch:
        """The first items of these requests that fit the budget."""
        items: list[QueuedItem] = []
        costs: dict[QueuedRequest, int] = {}
        tokens = 0
        for queued in mates:
            while queued.has_items:
                cost = queued.costs[queued.num_taken]
                if items and tokens + cost > budget:
                    break
                items.append((queued, queued.num_taken))
                costs[queued] = costs.get(queued, 0) + cost
                queued.num_taken += 1
                tokens += cost
            if queued.has_items:
                break
        batch = RequestBatch(handler, items, costs, self._paces.seconds(handler, tokens))
        for queued, seconds in batch.shares(batch.seconds):
            queued.turn.seconds += seconds
        return batch

    def _read(self, queued: QueuedRequest) -> None:
        """Read a request, or the next part of a long one."""
        began = time.perf_counter()
        if queued.slices is None:
            queued.wait_seconds = began - queued.arrived
            self._observer.observe_stage("wait", queued.handler.name, queued.wait_seconds)
        try:
            is_read = queued.read(seconds=READING_SECONDS, max_tokens=self.max_tokens)
        except Exception as error:
            return queued.fail(error)
        seconds = time.perf_counter() - began
        queued.read_seconds += seconds
        if is_read:
            self._observer.observe_stage("tokenise", queued.handler.name, queued.read_seconds)
            if not queued.items:
                return self._finish(queued)
        with self._changed:
            self._clock.advance(seconds, self.num_requests)
            queued.turn.seconds += seconds
            queued.is_read, queued.is_being_read = is_read, False
        return None

    def _compute(self, batch: RequestBatch) -> None:
        self._observer.observe_batch(batch.handler.name, len(batch.items), batch.tokens)
        began = time.perf_counter()
        try:
            answers = batch.handler.compute([queued.items[place] for queued, place in batch.items])
        except Exception as error:
            return self._compute_separately(batch, error)
        seconds = time.perf_counter() - began
        self._observer.observe_stage("compute", batch.handler.name, seconds)
        self._deliver(batch, answers, seconds)
        return None

    def _compute_separately(self, batch: RequestBatch, error: Exception) -> None:
        """Compute each request of a failed batch by itself, so that only the bad one fails."""
        if len(batch.costs) == 1:
            (queued,) = batch.costs
            return queued.fail(error)
        for queued, expected in batch.shares(batch.seconds):
            items = [item for item in batch.items if item[0] is queued]
            self._compute(
                RequestBatch(batch.handler, items, {queued: batch.costs[queued]}, expected)
            )
        return None

    def _deliver(self, batch: RequestBatch, answers: Sequence[Any], seconds: float) -> None:
        ended: list[QueuedRequest] = []
        with self._changed:
            self._account(batch, seconds)
            for (queued, place), answer in zip(batch.items, answers, strict=True):
                queued.answers[place] = answer
                queued.num_open -= 1
                if not queued.num_open:
                    ended.append(queued)
            if ended:
                self._seconds_each += 0.1 * (seconds / len(ended) - self._seconds_each)
        for queued in ended:
            self._finish(queued)

    def _finish(self, queued: QueuedRequest) -> None:
        """End a request, or go on with the items that follow from its answers."""
        further = queued.finish()
        if further is not None:
            with self._changed:
                queued.add(further)

    def _account(self, batch: RequestBatch, seconds: float) -> None:
        """Correct the seconds that were estimated when the batch was put together."""
        for queued, difference in batch.shares(seconds - batch.seconds):
            queued.turn.seconds += difference
        for queued, share in batch.shares(seconds):
            queued.compute_seconds += share
        self._paces.learn(batch.handler, batch.tokens, seconds)
        self._clock.advance(seconds, self.num_requests)
