"""Searches in the engine: recall, rows and alignments are units between which others are served."""

import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from softquery.search import SearchResult
from softquery.search.query.search_steps import SearchStep
from softquery.serve.engine import Engine
from softquery.serve.queued_request import SplitRequest, TooManyTokens, one_answer_per_item
from softquery.serve.search_handler import SearchHandler, SearchRequest


class FakeSearch:
    """Compares and aligns nothing, and takes its time for it."""

    def __init__(self, query, *, candidates, explain, **options):
        self.query, self.num_tokens, self.is_truncated = query, 7, True
        self.candidates, self.explain = candidates, explain
        self.num_weights = 0
        self.done = []
        self.begun = threading.Event()

    def recall(self):
        yield None
        yield None

    def comparisons(self):
        return [SearchStep(100, lambda: self._do("compare")) for _ in range(self.candidates)]

    def alignments(self):
        assert len(self.done) == self.candidates
        if not self.explain:
            return []
        self.num_weights = 50
        return [SearchStep(100, lambda: self._do("align")) for _ in range(3)]

    def result(self):
        return SearchResult(self.query, [{"done": len(self.done)}], [])

    def _do(self, what):
        self.begun.set()
        time.sleep(0.03)
        self.done.append(what)


class FakeIndex:
    def __init__(self):
        self.searches, self.refreshed = [], 0

    def steps(self, query, **options):
        self.searches.append(FakeSearch(query, **options))
        return self.searches[-1]

    def refresh(self):
        self.refreshed += 1


class SmallHandler:
    name = "small"
    join = staticmethod(one_answer_per_item)

    def split(self, request):
        yield SplitRequest([request], [1])

    def compute(self, items):
        return items


class Silent:
    def observe_stage(self, stage, model, seconds):
        pass

    def observe_batch(self, model, num_items, num_tokens):
        pass


@pytest.fixture
def engine():
    made = Engine(threads=1, batch_tokens=100, max_requests=8, max_tokens=9000, observer=Silent())
    yield made
    made.close()


@pytest.fixture
def index():
    return FakeIndex()


@pytest.mark.parametrize(("explain", "count"), [(False, 5), (True, 8)])
def test_a_search_is_done_step_by_step(engine, index, explain, count):
    request = SearchRequest("a", candidates=5, explain=explain)
    result = engine.submit(SearchHandler("faq", index), request).result(20)
    assert result.answers[0].hits == [{"done": count}]
    assert (result.num_tokens, result.num_truncated) == (7, 1)
    assert index.searches[0].done == ["compare"] * 5 + ["align"] * (count - 5)


@pytest.mark.parametrize("candidates", [0, 1])
def test_a_search_without_rows_ends_too(engine, index, candidates):
    request = SearchRequest("a", candidates=candidates)
    assert engine.submit(SearchHandler("faq", index), request).result(20).answers[0].hits


def test_a_blank_query_finds_nothing(engine, index):
    result = engine.submit(SearchHandler("faq", index), SearchRequest(" \t")).result(20)
    assert result.answers[0].hits == index.searches == []
    assert index.refreshed == 1


@pytest.mark.parametrize(("explain", "count"), [(False, 2), (True, 5)])
def test_several_queries_are_one_request(engine, index, explain, count):
    request = SearchRequest(["a", " ", "b", "a"], candidates=2, explain=explain)
    result = engine.submit(SearchHandler("faq", index), request).result(20)
    assert [each.query for each in result.answers] == ["a", " ", "b", "a"]
    assert [each.hits for each in result.answers] == [
        [{"done": count}], [], [{"done": count}], [{"done": count}],
    ]  # fmt: skip
    assert (result.num_tokens, result.num_truncated) == (21, 3)


def test_the_weights_of_several_queries_count_together(engine, index):
    request = SearchRequest(["a", "b"], candidates=1, explain=True, max_weights=99)
    with pytest.raises(TooManyTokens, match="100 weights"):
        engine.submit(SearchHandler("faq", index), request).result(20)


def test_others_are_served_between_the_steps(engine, index):
    """A search was one item of a fixed cost, so that everybody waited for its end."""
    handler = SearchHandler("faq", index)
    searches = [engine.submit(handler, SearchRequest("a", candidates=40)) for _ in range(3)]
    while not index.searches or not index.searches[0].begun.wait(0.1):
        pass
    assert engine.submit(SmallHandler(), 7).result(20).answers == [7]
    assert sum(len(each.done) for each in index.searches) < 3 * 40
    assert not any(each.done() for each in searches)
    for each in searches:
        each.cancel()


def test_a_search_that_nobody_waits_for_is_dropped(engine, index):
    waiting = engine.submit(SearchHandler("faq", index), SearchRequest("a", candidates=60))
    while not index.searches or not index.searches[0].begun.wait(0.1):
        pass
    assert waiting.cancel()
    assert engine.submit(SmallHandler(), 7).result(20).answers == [7]
    done = len(index.searches[0].done)
    assert done < 60
    time.sleep(0.1)
    assert len(index.searches[0].done) == done


def test_a_search_beyond_the_token_budget_is_refused_before_it_compares(engine, index):
    waiting = engine.submit(SearchHandler("faq", index), SearchRequest("a", candidates=91))
    with pytest.raises(TooManyTokens, match="more than 9,000 tokens to compute"):
        waiting.result(20)
    assert index.searches[0].done == []


def test_alignments_beyond_their_limit_are_refused_before_they_are_computed(engine, index):
    request = SearchRequest("a", candidates=1, explain=True, max_weights=49)
    with pytest.raises(TooManyTokens, match="would have 50 weights, .* may have 49; send a short"):
        engine.submit(SearchHandler("faq", index), request).result(20)
    assert index.searches[0].done == ["compare"]
