"""Searches that are awaited: the same answers, a loop that goes on, and an end when cancelled."""

import asyncio
import threading

import pytest

from softquery.errors import ConfigError
from softquery.search.query.search_steps import SearchSteps


def test_the_same_answers(index, rows):
    queries = [row["question"] for row in rows]

    async def found():
        one = await index.asearch("w1 w2", top_k=3, explain=True)
        whole = await index.afind("w1 w2", top_k=3)
        return one, whole, await index.asearch_many([*queries, "w1", "w1"], top_k=2)

    one, whole, many = asyncio.run(found())
    assert one == index.search("w1 w2", top_k=3, explain=True)
    assert whole.hits == index.find("w1 w2", top_k=3).hits
    expected = index.search_many([*queries, "w1", "w1"], top_k=2)
    assert [each.hits for each in many] == [each.hits for each in expected]
    assert asyncio.run(index.asearch_many([])) == []


def test_the_loop_goes_on_while_a_thread_searches(index, monkeypatch):
    plain, go = SearchSteps.comparisons, threading.Event()

    def waiting(self):
        assert go.wait(20)
        return plain(self)

    monkeypatch.setattr(SearchSteps, "comparisons", waiting)

    async def both():
        search = asyncio.ensure_future(index.asearch("w1"))
        await asyncio.sleep(0.05)  # which needs the loop
        assert not search.done()
        go.set()
        return await search

    assert asyncio.run(both())


@pytest.mark.parametrize("many", [False, True])
def test_a_cancelled_search_ends_after_its_step(index, monkeypatch, many):
    plain, begun, go, went_on = SearchSteps.recall, threading.Event(), threading.Event(), []

    def slow(self):
        for _ in plain(self):
            begun.set()
            assert go.wait(20)
            yield

    monkeypatch.setattr(SearchSteps, "recall", slow)
    monkeypatch.setattr(SearchSteps, "comparisons", lambda self: went_on.append(self) or [])

    async def cancelled():
        wanted = index.asearch_many(["w1", "w2", "w3"]) if many else index.asearch("w1")
        task = asyncio.ensure_future(wanted)
        await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)
        go.set()

    asyncio.run(cancelled())  # waits for its threads
    assert went_on == []


def test_refusals_come_before_any_search(index):
    with pytest.raises(ConfigError, match="the query is empty"):
        asyncio.run(index.asearch(" "))
    with pytest.raises(ConfigError, match="query 2: the query is empty"):
        asyncio.run(index.asearch_many(["w1", ""]))
    with pytest.raises(ConfigError, match="no stage is called 'x'"):
        asyncio.run(index.afind("w1", stages=["x"]))
