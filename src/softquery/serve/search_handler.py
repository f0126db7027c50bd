"""Searches as the engine computes them: recall first, then rows in batches, then alignments."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from softquery.errors import SoftqueryError
from softquery.search import SearchResult
from softquery.search.query.filters import Where
from softquery.search.query.search_steps import AnySearch, SearchStep
from softquery.search.query.stages import checked_stages
from softquery.serve.queued_request import SplitRequest, TooManyWeights
from softquery.serve.telemetry import log

REFRESH = 1.0
"""Seconds after which an index is checked for changes again."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question to an index, or several."""

    query: str | Sequence[str]
    top_k: int = 5
    where: Where | None = None
    min_score: float | None = None
    candidates: int = 50
    explain: bool = False
    stages: tuple[str, ...] | None = None
    aim: str | None = None
    max_weights: int = 300_000
    """The most weights that the alignments of all hits may have together."""

    @property
    def queries(self) -> list[str]:
        """All questions, in order."""
        return [self.query] if isinstance(self.query, str) else list(self.query)


class SearchableIndex(Protocol):
    """An index of questions and answers."""

    def steps(
        self,
        query: str,
        *,
        top_k: int,
        where: Where | None,
        min_score: float | None,
        candidates: int,
        explain: bool,
        stages: tuple[str, ...] | None,
        aim: str | None,
    ) -> AnySearch:
        """A search for the best hits."""

    def refresh(self) -> bool:
        """Load what other processes have changed."""


class RunningSearch:
    """A search between its steps; the answer to each of them.

    Args:
        place: Which of the queries of its request it is for.
        search: The search.
    """

    def __init__(self, place: int, search: AnySearch) -> None:
        self.place, self.search = place, search
        self.is_compared = False

    def aligned(self) -> Sequence[SearchStep]:
        """The alignments of its hits, when all rows have been compared."""
        self.is_compared = True
        return self.search.alignments()

    def items(self, steps: Sequence[SearchStep]) -> SplitRequest:
        """Steps as items; if there are none, an item that does nothing, so that it goes on."""
        runs = [step.run for step in steps] or [_nothing]
        return SplitRequest(
            [(self, run) for run in runs],
            [step.tokens for step in steps] or [0],
            num_tokens=max(1, self.search.num_tokens),
            num_truncated=int(self.search.is_truncated),
        )


def _nothing() -> None:
    """The step of a search that has none."""


class SearchHandler:
    """Searches an index, and regularly loads what other processes have changed in it.

    Args:
        name: The name of the index.
        index: Safe to use from many threads.
    """

    def __init__(self, name: str, index: SearchableIndex) -> None:
        self.name, self.index = name, index
        self._next_refresh = 0.0
        self._lock = threading.Lock()

    def split(self, request: SearchRequest) -> Iterator[SplitRequest]:
        """Recall; an item is a batch of rows. A blank query finds nothing."""
        self._refresh_if_due()
        for place, query in enumerate(request.queries):
            if not query.strip():
                continue
            search = self.index.steps(
                query,
                top_k=request.top_k,
                where=request.where,
                min_score=request.min_score,
                candidates=request.candidates,
                explain=request.explain,
                stages=request.stages,
                aim=request.aim,
            )
            for _ in search.recall():
                yield SplitRequest([], [])
            yield RunningSearch(place, search).items(search.comparisons())

    def compute(
        self, items: Sequence[tuple[RunningSearch, Callable[[], None]]]
    ) -> list[RunningSearch]:
        """Do one step after the other."""
        for _, run in items:
            run()
        return [running for running, _ in items]

    def join(
        self, request: SearchRequest, answers: list[RunningSearch]
    ) -> list[SearchResult] | SplitRequest:
        """What each query found; before that, the alignments of the hits."""
        searches = {running.place: running for running in answers}
        fresh = [each for each in searches.values() if not each.is_compared]
        steps = [(each, step) for each in fresh for step in each.aligned()]
        num_weights = sum(each.search.num_weights for each in fresh)
        if num_weights > request.max_weights:
            raise TooManyWeights(num_weights, request.max_weights)
        if steps:
            items = [(running, step.run) for running, step in steps]
            # Searches without alignments go on as well, so that their results are told.
            items += [(each, _nothing) for each in fresh]
            return SplitRequest(items, [step.tokens for _, step in steps] + [0] * len(fresh))
        return [
            searches[place].search.result()
            if place in searches
            else SearchResult(query, [], [], stages=checked_stages(request.stages))
            for place, query in enumerate(request.queries)
        ]

    def _refresh_if_due(self) -> None:
        """Load changes; if that fails, the index is served as it was."""
        if time.monotonic() < self._next_refresh or not self._lock.acquire(blocking=False):
            return
        try:
            self.index.refresh()
        except (SoftqueryError, OSError) as error:
            fields = {"index": self.name, "error": type(error).__name__, "reason": str(error)}
            log(
                logging.WARNING, "an index could not be refreshed; its last state is served", fields
            )
        finally:
            self._next_refresh = time.monotonic() + REFRESH
            self._lock.release()
