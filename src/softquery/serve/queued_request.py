"""A request inside the engine: read slice by slice, computed item by item, answered at its end."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from softquery.errors import SoftqueryError
from softquery.serve.fair_turns import Turn


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """A slice of a request as items that can be computed together with those of other requests."""

    items: Sequence[Any]
    costs: Sequence[int]
    """Tokens of each item."""
    num_tokens: int = 0
    """Tokens that were read, each text counted once."""
    num_truncated: int = 0
    """Texts that were longer than the model's limit."""


def one_answer_per_item(request: Any, answers: list[Any]) -> list[Any]:
    """The `join` of handlers whose items are all that a request asks for."""
    return answers


class BatchHandler(Protocol):
    """One verb of one model. All methods run in the engine's threads."""

    @property
    def name(self) -> str:
        """The name of the model, for metrics."""

    def split(self, request: Any) -> Iterable[SplitRequest]:
        """Tokenise a request and split it into items, in slices that take a few milliseconds."""

    def compute(self, items: Sequence[Any]) -> Sequence[Any]:
        """Compute a batch of items, which may come from several requests: one answer per item."""

    def join(self, request: Any, answers: list[Any]) -> "list[Any] | SplitRequest":
        """The answers to a request from the answers to its items, or further items to compute."""


class TooManyTokens(SoftqueryError):  # noqa: N818  (it says what the request has)
    """A request would cost more tokens than one request may.

    Args:
        most: The token budget of a request.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most:,} tokens to compute, which is the most of one request")


class TooManyWeights(TooManyTokens):
    """The alignments of a request would be too large.

    Args:
        weights: How many weights they would have.
        most: The most weights of one request.
    """

    def __init__(self, weights: int, most: int) -> None:
        SoftqueryError.__init__(
            self,
            f"the alignments would have {weights:,} weights, and those of one request may have "
            f"{most:,}; send a shorter query or a smaller top_k",
        )


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of a request: its answers in order."""

    answers: list[Any]
    num_tokens: int
    num_truncated: int
    stages: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Seconds that it waited, was tokenised, and was computed: its share of the batches."""


class QueuedRequest:
    """A request that waits in the engine, is being read, or is being computed."""

    def __init__(self, handler: BatchHandler, request: Any, turn: Turn) -> None:
        self.handler, self.request, self.turn = handler, request, turn
        self.future: Future[EngineResult] = Future()
        self.arrived = time.perf_counter()
        self.slices: Iterator[SplitRequest] | None = None
        """What is left to be read; None before the first slice."""
        self.is_read = self.is_being_read = False
        self.wait_seconds = self.read_seconds = self.compute_seconds = 0.0
        self.items: list[Any] = []
        self.costs: list[int] = []
        self.answers: list[Any] = []
        self.num_taken = 0
        """Items that were handed out to be computed."""
        self.num_open = 0
        """Items that are not answered yet."""
        self.num_tokens = self.num_truncated = self.cost = 0

    @property
    def has_items(self) -> bool:
        """Whether items are ready to be computed."""
        return self.is_read and self.num_taken < len(self.items)

    @property
    def is_to_be_read(self) -> bool:
        """Whether a thread may read the next slice."""
        return not self.is_read and not self.is_being_read

    def read(self, *, seconds: float, max_tokens: int) -> bool:
        """Read slices for some time; whether the request has been read completely.

        Raises:
            TooManyTokens: What was read so far costs more than one request may.
        """
        end = time.perf_counter() + seconds
        if self.slices is None:
            self.slices = iter(self.handler.split(self.request))
        for found in self.slices:
            self.add(found)
            if self.cost > max_tokens:
                raise TooManyTokens(max_tokens)
            if time.perf_counter() > end:
                return False
        return True

    def add(self, found: SplitRequest) -> None:
        """Take in a slice, or the items that follow from the answers to earlier ones."""
        self.cost += sum(found.costs)
        self.num_tokens += found.num_tokens
        self.num_truncated += found.num_truncated
        self.num_open += len(found.items)
        self.answers += [None] * len(found.items)
        self.costs += found.costs
        self.items += found.items

    def fail(self, error: BaseException) -> None:
        """End with an error, unless the request has ended already."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def finish(self) -> SplitRequest | None:
        """End with the answers, unless the client has left or there are further items."""
        if self.future.cancelled():
            return None
        try:
            answers = self.handler.join(self.request, self.answers)
        except Exception as error:
            self.fail(error)
            return None
        if isinstance(answers, SplitRequest):
            return answers
        stages = {
            "wait": self.wait_seconds,
            "tokenise": self.read_seconds,
            "compute": self.compute_seconds,
        }
        result = EngineResult(answers, self.num_tokens, self.num_truncated, stages)
        with suppress(InvalidStateError):
            self.future.set_result(result)
        return None


QueuedItem = tuple[QueuedRequest, int]
"""A request, and the place of one of its items."""


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Items of one handler that are computed together."""

    handler: BatchHandler
    items: list[QueuedItem]
    costs: dict[QueuedRequest, int]
    """The tokens of each request in the batch."""
    seconds: float
    """How long it is expected to take."""

    @property
    def tokens(self) -> int:
        """The tokens of all items."""
        return sum(self.costs.values())

    def shares(self, seconds: float) -> Iterator[tuple[QueuedRequest, float]]:
        """Seconds divided among the requests of the batch, by their tokens."""
        for queued, cost in self.costs.items():
            yield queued, seconds * cost / max(1, self.tokens)
