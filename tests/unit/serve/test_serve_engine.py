"""The engine: batches by tokens, in order, bounded, and one bad request harms no other."""

import threading
import time

import pytest

from softquery.errors import InputError
from softquery.serve.engine import Engine, Overloaded
from softquery.serve.queued_request import (
    EngineResult,
    SplitRequest,
    TooManyTokens,
    one_answer_per_item,
)


class DoublingHandler:
    """Doubles numbers; an item costs what it is."""

    def __init__(self, name="double"):
        self.name = name
        self.batches = []
        self.hold = threading.Event()
        self.hold.set()
        self.begun = threading.Event()

    join = staticmethod(one_answer_per_item)

    def split(self, request):
        if request == "unreadable":
            raise InputError("expected numbers")
        yield SplitRequest(
            list(request), list(request), num_tokens=sum(request), num_truncated=len(request) > 3
        )

    def compute(self, items):
        self.begun.set()
        assert self.hold.wait(20)
        self.batches.append(list(items))
        if 13 in items:
            raise InputError("thirteen is refused")
        return [2 * item for item in items]


class Observer:
    def __init__(self):
        self.stages, self.batches = [], []

    def observe_stage(self, stage, model, seconds):
        assert seconds >= 0
        self.stages.append((stage, model))

    def observe_batch(self, model, num_items, num_tokens):
        self.batches.append((model, num_items, num_tokens))


@pytest.fixture
def observer():
    return Observer()


@pytest.fixture
def engine(observer):
    made = Engine(threads=1, batch_tokens=10, max_requests=8, max_tokens=1000, observer=observer)
    yield made
    made.close()


@pytest.fixture
def handler():
    return DoublingHandler()


def held(engine, handler):
    """A request that keeps the only thread busy until it is let go."""
    handler.hold.clear()
    first = engine.submit(handler, [1])
    assert handler.begun.wait(20)
    return first


def test_answers_come_in_the_order_of_the_pieces(engine, handler):
    assert engine.submit(handler, [3, 1, 2]).result(20) == EngineResult([6, 2, 4], 6, 0)
    assert engine.submit(handler, [1, 1, 1, 1]).result(20).num_truncated == 1
    assert engine.submit(handler, []).result(20).answers == []


def test_waiting_requests_share_a_batch_up_to_the_budget(engine, handler, observer):
    first = held(engine, handler)
    others = [engine.submit(handler, [4]) for _ in range(5)]
    handler.hold.set()
    assert [request.result(20).answers for request in (first, *others)] == [[2], *[[8]] * 5]
    assert handler.batches == [[1], [4, 4], [4, 4], [4]]
    assert observer.batches[1] == ("double", 2, 8)


def test_a_request_larger_than_the_budget_is_split_into_batches(engine, handler):
    assert engine.submit(handler, [6, 6, 25, 1]).result(20).answers == [12, 12, 50, 2]
    assert handler.batches == [[6], [6], [25], [1]]


def test_handlers_never_share_a_batch(engine, handler):
    other = DoublingHandler("other")
    first = held(engine, handler)
    requests = [engine.submit(each, [2]) for each in (handler, other, handler, other)]
    handler.hold.set()
    assert [request.result(20).answers for request in (first, *requests)] == [[2], *[[4]] * 4]
    assert handler.batches == [[1], [2, 2]]
    assert other.batches == [[2, 2]]


def test_a_full_engine_refuses_at_once_and_recovers(engine, handler):
    first = held(engine, handler)
    requests = [engine.submit(handler, [1]) for _ in range(7)]
    with pytest.raises(Overloaded, match=r"try again in \d+ s") as caught:
        engine.submit(handler, [1])
    assert 1 <= caught.value.retry_after <= 60
    handler.hold.set()
    assert all(request.result(20).answers == [2] for request in (first, *requests))
    assert engine.submit(handler, [5]).result(20).answers == [10]
    assert engine.num_requests == 0


def test_a_bad_request_takes_nobody_with_it(engine, handler):
    first = held(engine, handler)
    requests = [engine.submit(handler, request) for request in ([2], [13], [3], "unreadable")]
    handler.hold.set()
    assert first.result(20).answers == [2]
    assert requests[0].result(20).answers == [4]
    assert requests[2].result(20).answers == [6]
    with pytest.raises(InputError, match="thirteen is refused"):
        requests[1].result(20)
    with pytest.raises(InputError, match="expected numbers"):
        requests[3].result(20)


def test_what_nobody_waits_for_is_not_computed(engine, handler):
    first = held(engine, handler)
    gone, kept = engine.submit(handler, [7]), engine.submit(handler, [2])
    assert gone.cancel()
    assert engine.num_requests == 2
    handler.hold.set()
    assert first.result(20).answers == [2]
    assert kept.result(20).answers == [4]
    assert handler.batches == [[1], [2]]


class SlicedHandler(DoublingHandler):
    """Reads one number at a time, and says so."""

    def __init__(self):
        super().__init__()
        self.read = []

    def split(self, request):
        for number in request:
            self.read.append(number)
            yield SplitRequest([number], [number], num_tokens=number)


def test_a_large_request_leaves_turns_to_small_ones(engine):
    class SlowHandler(DoublingHandler):
        def compute(self, items):
            time.sleep(0.02 * sum(items))
            return super().compute(items)

    handler = SlowHandler()
    large = engine.submit(handler, [9] * 100)
    assert handler.begun.wait(20)
    small = [engine.submit(handler, [1]) for _ in range(3)]
    assert [each.result(20).answers for each in small] == [[2], [2], [2]]
    assert not large.done()
    assert handler.batches[:3].count([1, 1, 1]) == 1
    large.cancel()


def test_a_large_request_is_not_starved_by_small_ones(engine, handler):
    large = engine.submit(handler, [9] * 20)
    for _ in range(2000):
        if large.done():
            break
        waiting = [engine.submit(handler, [5, 5]) for _ in range(4)]
        assert all(each.result(20).answers == [10, 10] for each in waiting)
    assert large.result(0).answers == [18] * 20


def test_a_request_beyond_its_budget_is_refused_before_it_is_computed(engine):
    handler = SlicedHandler()
    with pytest.raises(TooManyTokens, match="more than 1,000 tokens to compute"):
        engine.submit(handler, [400] * 50).result(20)
    assert handler.read == [400] * 3
    assert handler.batches == []
    assert engine.submit(handler, [400, 400]).result(20).answers == [800, 800]


def test_the_rest_of_a_cancelled_request_is_dropped(engine, handler):
    handler.hold.clear()
    large = engine.submit(handler, [9] * 60)
    assert handler.begun.wait(20)
    assert large.cancel()
    assert engine.num_requests == 0
    handler.hold.set()
    assert engine.submit(handler, [1]).result(20).answers == [2]
    assert handler.batches == [[9], [1]]


def test_parts_are_joined(engine):
    class AddingHandler(DoublingHandler):
        def join(self, request, answers):
            if sum(answers) > 100:
                raise InputError("too much")
            return [sum(answers)]

    handler = AddingHandler()
    assert engine.submit(handler, [1, 2, 3]).result(20).answers == [12]
    with pytest.raises(InputError, match="too much"):
        engine.submit(handler, [100]).result(20)


def test_closing_finishes_what_is_inside(observer, handler):
    engine = Engine(
        threads=2, batch_tokens=10, max_requests=100, max_tokens=1000, observer=observer
    )
    requests = [engine.submit(handler, [1, 2]) for _ in range(50)]
    engine.close()
    assert all(request.result(0).answers == [2, 4] for request in requests)
    with pytest.raises(Overloaded):
        engine.submit(handler, [1])


def test_many_threads_and_many_clients_agree(observer):
    engine = Engine(
        threads=4, batch_tokens=64, max_requests=10_000, max_tokens=1000, observer=observer
    )
    handlers = [DoublingHandler("one"), DoublingHandler("two")]
    found = {}

    def client(number):
        for turn in range(40):
            request = [(number * turn + place) % 12 for place in range(turn % 7)]
            answers = engine.submit(handlers[turn % 2], request).result(20).answers
            found[number, turn] = answers == [2 * each for each in request]

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert len(found) == 8 * 40
    assert all(found.values())


def test_every_stage_is_observed(engine, handler, observer):
    engine.submit(handler, [1]).result(20)
    end = time.monotonic() + 5
    while len(observer.stages) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert observer.stages == [("wait", "double"), ("tokenise", "double"), ("compute", "double")]


class FollowingHandler(DoublingHandler):
    """Doubles numbers, then twice the sum of what it got."""

    def join(self, request, answers):
        if len(answers) == len(request):
            return SplitRequest([sum(answers)] * 2, [request[0]] * 2)
        return answers


def test_further_items_may_follow_from_answers(engine):
    handler = FollowingHandler()
    result = engine.submit(handler, [3, 4]).result(20)
    assert result.answers == [6, 8, 28, 28]
    assert handler.batches == [[3, 4], [14, 14]]
    assert (result.num_tokens, engine.num_requests) == (7, 0)


def test_others_have_their_turn_between_a_request_and_what_follows_from_it(engine):
    slow, other = FollowingHandler("slow"), DoublingHandler("other")
    slow.hold.clear()
    first = engine.submit(slow, [1])
    assert slow.begun.wait(20)
    second = engine.submit(other, [5])
    time.sleep(0.2)  # longer than a unit
    slow.hold.set()
    assert second.result(20).answers == [10]
    assert first.result(20).answers == [2, 4, 4]
