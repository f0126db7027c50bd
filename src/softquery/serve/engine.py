"""Requests of many clients as batches of bounded size, computed by a few threads.

A request is cut into pieces (a pair, a text), which is also when it is tokenised. A thread that is
free cuts waiting requests until their pieces fill the token budget, and computes these together;
nothing waits for company. Requests are served in the order in which they came. At most so many are
inside at once; the next one is refused on the spot, with a guess of when to come back.
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
"""Seconds that a refused client is asked to wait at most."""


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """A request as pieces that can be computed beside those of others."""

    pieces: Sequence[Any]
    costs: Sequence[int]
    """Tokens of each piece."""
    num_tokens: int = 0
    """Tokens that were read, each text counted once."""
    num_cut: int = 0
    """Texts that were longer than the model's limit."""


class BatchedSkill(Protocol):
    """One thing that a model can do. Both methods run in the engine's threads."""

    @property
    def name(self) -> str:
        """The model, for metrics."""

    def cut(self, request: Any) -> SplitRequest:
        """Read a request."""

    def answers(self, pieces: Sequence[Any]) -> Sequence[Any]:
        """Compute pieces of any requests together: one answer each."""


class Watcher(Protocol):
    """Is told how long things took."""

    def stage(self, stage: str, lane: str, seconds: float) -> None:
        """A stage of one request, or of one batch, is over."""

    def batch(self, lane: str, pieces: int, tokens: int) -> None:
        """A batch was put together."""


class Overloaded(SoftqueryError):  # noqa: N818  (it says what the server is, not what went wrong)
    """The queue is full.

    Args:
        retry_after: Seconds after which it is worth asking again.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"the server is at its limit; ask again in {retry_after} s")


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What a request got: one answer a piece, in order."""

    answers: list[Any]
    num_tokens: int
    num_cut: int


class QueuedRequest:
    """A request inside the engine."""

    def __init__(self, lane: BatchedSkill, request: Any) -> None:
        self.lane = lane
        self.request = request
        self.future: Future[EngineResult] = Future()
        self.came = time.perf_counter()
        self.cut = SplitRequest((), ())
        self.answers: list[Any] = []
        self.left = 0

    def fail(self, error: BaseException) -> None:
        """End with an error, unless it has ended already."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def finish(self) -> None:
        """End with the answers, unless nobody waits for them any more."""
        with suppress(InvalidStateError):
            self.future.set_result(
                EngineResult(self.answers, self.cut.num_tokens, self.cut.num_cut)
            )


Piece = tuple[QueuedRequest, int]
"""A job and the place of one of its pieces."""


class Engine:
    """Computes jobs. Safe from many threads.

    Args:
        threads: Batches that are computed at a time.
        batch_tokens: The budget of a batch; a piece that is larger is a batch by itself.
        max_jobs: Jobs that may be inside at once.
        watcher: Is told how long things took.
    """

    def __init__(self, *, threads: int, batch_tokens: int, max_jobs: int, watcher: Watcher) -> None:
        self.batch_tokens, self.max_jobs = batch_tokens, max_jobs
        self.num_jobs = 0
        self._watcher = watcher
        self._came: deque[QueuedRequest] = deque()
        self._ready: deque[Piece] = deque()
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

    def submit(self, lane: BatchedSkill, request: Any) -> "Future[EngineResult]":
        """Let a request in.

        Raises:
            Overloaded: There are as many inside as there may be.
        """
        job = QueuedRequest(lane, request)
        with self._changed:
            if not self._open:
                raise Overloaded(1)
            if self.num_jobs >= self.max_jobs:
                raise Overloaded(self.retry_after())
            self.num_jobs += 1
            self._came.append(job)
            self._changed.notify()
        job.future.add_done_callback(self._left)
        return job.future

    def retry_after(self) -> int:
        """Seconds after which what is inside now will be done, by how long jobs took of late."""
        seconds = self.num_jobs * self._seconds_each / len(self._threads)
        return min(LONGEST_RETRY, max(1, math.ceil(seconds)))

    def close(self, seconds: float = 10.0) -> None:
        """Finish what is inside, then end the threads."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _left(self, future: "Future[EngineResult]") -> None:
        with self._changed:
            self.num_jobs -= 1

    def _work(self) -> None:
        while self._wait():
            while (job := self._next_job()) is not None:
                self._cut(job)
            batch = self._next_batch()
            if batch:
                self._compute(batch)

    def _wait(self) -> bool:
        """Until there is something to do; False when there will be nothing any more."""
        with self._changed:
            while not self._came and not self._ready:
                if not self._open:
                    return False
                self._changed.wait()
            return True

    def _next_job(self) -> QueuedRequest | None:
        """A request to be cut, as long as a batch is not full without it."""
        with self._changed:
            if not self._came or self._ready_tokens >= self.batch_tokens:
                return None
            return self._came.popleft()

    def _cut(self, job: QueuedRequest) -> None:
        if job.future.cancelled():
            return None
        began = time.perf_counter()
        self._watcher.stage("wait", job.lane.name, began - job.came)
        try:
            job.cut = job.lane.cut(job.request)
        except Exception as error:
            return job.fail(error)
        job.left = len(job.cut.pieces)
        job.answers = [None] * job.left
        self._watcher.stage("tokenise", job.lane.name, time.perf_counter() - began)
        if not job.left:
            return job.finish()
        with self._changed:
            self._ready.extend((job, place) for place in range(job.left))
            self._ready_tokens += sum(job.cut.costs)
            self._changed.notify()
        return None

    def _next_batch(self) -> list[Piece]:
        """The oldest pieces that fit the budget, all for one lane; others keep their places."""
        batch: list[Piece] = []
        kept: list[Piece] = []
        tokens = 0
        with self._changed:
            while self._ready:
                job, place = self._ready.popleft()
                cost = job.cut.costs[place]
                if job.future.done():
                    self._ready_tokens -= cost
                    continue
                if batch and job.lane is not batch[0][0].lane:
                    kept.append((job, place))
                    continue
                if batch and tokens + cost > self.batch_tokens:
                    kept.append((job, place))
                    break
                batch.append((job, place))
                tokens += cost
            self._ready_tokens -= tokens
            self._ready.extendleft(reversed(kept))
            if self._ready:
                self._changed.notify()
        if batch:
            self._watcher.batch(batch[0][0].lane.name, len(batch), tokens)
        return batch

    def _compute(self, batch: list[Piece]) -> None:
        lane = batch[0][0].lane
        began = time.perf_counter()
        try:
            answers = lane.answers([job.cut.pieces[place] for job, place in batch])
        except Exception as error:
            return self._one_by_one(batch, error)
        seconds = time.perf_counter() - began
        self._watcher.stage("compute", lane.name, seconds)
        self._deliver(batch, answers, seconds)
        return None

    def _one_by_one(self, batch: list[Piece], error: Exception) -> None:
        """A request that cannot be computed must not take others with it."""
        jobs = dict.fromkeys(job for job, _ in batch)
        if len(jobs) == 1:
            return batch[0][0].fail(error)
        for job in jobs:
            self._compute([piece for piece in batch if piece[0] is job])
        return None

    def _deliver(self, batch: list[Piece], answers: Sequence[Any], seconds: float) -> None:
        ended: list[QueuedRequest] = []
        with self._changed:
            for (job, place), answer in zip(batch, answers, strict=True):
                job.answers[place] = answer
                job.left -= 1
                if not job.left:
                    ended.append(job)
            if ended:
                self._seconds_each += 0.1 * (seconds / len(ended) - self._seconds_each)
        for job in ended:
            job.finish()
