"""Searches that a program awaits: computed in threads, and given up between two steps."""

import asyncio
import threading
from collections.abc import Sequence

from softquery.search.query.retrieval import SearchResult
from softquery.search.query.search_steps import AnySearch


async def awaited(search: AnySearch) -> SearchResult:
    """The result of a search, computed in a thread while the event loop goes on.

    If the task that waits is cancelled, the search ends after the step it is at, which takes some
    milliseconds.
    """
    stop = threading.Event()
    try:
        found = await asyncio.to_thread(run_until, search, stop)
    finally:
        stop.set()
    assert found is not None  # only whoever waits can stop it, and then waits no more
    return found


async def all_awaited(searches: Sequence[AnySearch], threads: int) -> list[SearchResult]:
    """The results of several searches, as many at a time as there are threads."""
    turn = asyncio.Semaphore(threads)

    async def one(search: AnySearch) -> SearchResult:
        async with turn:
            return await awaited(search)

    tasks = [asyncio.ensure_future(one(search)) for search in searches]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:  # the others, if one failed or all are cancelled
            task.cancel()


def run_until(search: AnySearch, stop: threading.Event) -> SearchResult | None:
    """All steps of a search, or None if it is told to stop before the last."""
    for _ in search.recall():
        if stop.is_set():
            return None
    for steps in (search.comparisons, search.alignments):
        for step in steps():
            if stop.is_set():
                return None
            step.run()
    return search.result()
