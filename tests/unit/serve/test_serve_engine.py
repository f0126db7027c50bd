"""The engine: batches by tokens, in order, bounded, and one bad request harms nobody."""

import threading
import time

import pytest

from softquery.errors import InputError
from softquery.serve.engine import Engine, EngineResult, Overloaded, SplitRequest


class Lane:
    """Doubles numbers; a piece costs what it is."""

    def __init__(self, name="double"):
        self.name = name
        self.batches = []
        self.hold = threading.Event()
        self.hold.set()
        self.begun = threading.Event()

    def cut(self, request):
        if request == "unreadable":
            raise InputError("expected numbers")
        return SplitRequest(
            list(request), list(request), num_tokens=sum(request), num_cut=len(request) > 3
        )

    def answers(self, pieces):
        self.begun.set()
        assert self.hold.wait(20)
        self.batches.append(list(pieces))
        if 13 in pieces:
            raise InputError("thirteen is refused")
        return [2 * piece for piece in pieces]


class Watcher:
    def __init__(self):
        self.stages, self.batches = [], []

    def stage(self, stage, lane, seconds):
        assert seconds >= 0
        self.stages.append((stage, lane))

    def batch(self, lane, pieces, tokens):
        self.batches.append((lane, pieces, tokens))


@pytest.fixture
def watcher():
    return Watcher()


@pytest.fixture
def engine(watcher):
    made = Engine(threads=1, batch_tokens=10, max_jobs=8, watcher=watcher)
    yield made
    made.close()


@pytest.fixture
def lane():
    return Lane()


def held(engine, lane):
    """A job that keeps the only thread busy until it is let go."""
    lane.hold.clear()
    first = engine.submit(lane, [1])
    assert lane.begun.wait(20)
    return first


def test_answers_come_in_the_order_of_the_pieces(engine, lane):
    assert engine.submit(lane, [3, 1, 2]).result(20) == EngineResult([6, 2, 4], 6, 0)
    assert engine.submit(lane, [1, 1, 1, 1]).result(20).num_cut == 1
    assert engine.submit(lane, []).result(20).answers == []


def test_waiting_requests_share_a_batch_up_to_the_budget(engine, lane, watcher):
    first = held(engine, lane)
    others = [engine.submit(lane, [4]) for _ in range(5)]
    lane.hold.set()
    assert [job.result(20).answers for job in (first, *others)] == [[2], *[[8]] * 5]
    assert lane.batches == [[1], [4, 4], [4, 4], [4]]
    assert watcher.batches[1] == ("double", 2, 8)


def test_a_request_larger_than_the_budget_is_cut_into_batches(engine, lane):
    assert engine.submit(lane, [6, 6, 25, 1]).result(20).answers == [12, 12, 50, 2]
    assert lane.batches == [[6], [6], [25], [1]]


def test_lanes_never_share_a_batch(engine, lane):
    other = Lane("other")
    first = held(engine, lane)
    jobs = [engine.submit(each, [2]) for each in (lane, other, lane, other)]
    lane.hold.set()
    assert [job.result(20).answers for job in (first, *jobs)] == [[2], *[[4]] * 4]
    assert lane.batches == [[1], [2, 2]]
    assert other.batches == [[2, 2]]


def test_a_full_engine_refuses_at_once_and_recovers(engine, lane):
    first = held(engine, lane)
    jobs = [engine.submit(lane, [1]) for _ in range(7)]
    with pytest.raises(Overloaded, match=r"ask again in \d+ s") as caught:
        engine.submit(lane, [1])
    assert 1 <= caught.value.retry_after <= 60
    lane.hold.set()
    assert all(job.result(20).answers == [2] for job in (first, *jobs))
    assert engine.submit(lane, [5]).result(20).answers == [10]
    assert engine.num_jobs == 0


def test_a_bad_request_takes_nobody_with_it(engine, lane):
    first = held(engine, lane)
    jobs = [engine.submit(lane, request) for request in ([2], [13], [3], "unreadable")]
    lane.hold.set()
    assert first.result(20).answers == [2]
    assert jobs[0].result(20).answers == [4]
    assert jobs[2].result(20).answers == [6]
    with pytest.raises(InputError, match="thirteen is refused"):
        jobs[1].result(20)
    with pytest.raises(InputError, match="expected numbers"):
        jobs[3].result(20)


def test_what_nobody_waits_for_is_not_computed(engine, lane):
    first = held(engine, lane)
    gone, kept = engine.submit(lane, [7]), engine.submit(lane, [2])
    assert gone.cancel()
    assert engine.num_jobs == 2
    lane.hold.set()
    assert first.result(20).answers == [2]
    assert kept.result(20).answers == [4]
    assert lane.batches == [[1], [2]]


def test_closing_finishes_what_is_inside(watcher, lane):
    engine = Engine(threads=2, batch_tokens=10, max_jobs=100, watcher=watcher)
    jobs = [engine.submit(lane, [1, 2]) for _ in range(50)]
    engine.close()
    assert all(job.result(0).answers == [2, 4] for job in jobs)
    with pytest.raises(Overloaded):
        engine.submit(lane, [1])


def test_many_threads_and_many_clients_agree(watcher):
    engine = Engine(threads=4, batch_tokens=64, max_jobs=10_000, watcher=watcher)
    lanes = [Lane("one"), Lane("two")]
    found = {}

    def client(number):
        for turn in range(40):
            request = [(number * turn + place) % 12 for place in range(turn % 7)]
            answers = engine.submit(lanes[turn % 2], request).result(20).answers
            found[number, turn] = answers == [2 * each for each in request]

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert len(found) == 8 * 40
    assert all(found.values())


def test_every_stage_is_told(engine, lane, watcher):
    engine.submit(lane, [1]).result(20)
    end = time.monotonic() + 5
    while len(watcher.stages) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert watcher.stages == [("wait", "double"), ("tokenise", "double"), ("compute", "double")]
