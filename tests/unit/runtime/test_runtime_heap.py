"""Memory is given back after large calls, and not too often."""

from softquery.runtime.heap import LARGE, PAUSE, Heap


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_it_is_given_back_once_after_large_calls():
    clock, trims = Clock(), []
    heap = Heap(lambda: trims.append(clock.now), clock)
    for moment, size, expected in [
        (0.1, LARGE, 0),  # too early
        (0.2, 10, 0),
        (PAUSE + 0.1, 10, 1),  # the first call after the pause
        (PAUSE + 0.2, LARGE, 1),
        (3 * PAUSE, LARGE, 2),  # large itself, so that there is more to give back later
        (5 * PAUSE, 10, 3),
        (9 * PAUSE, 10, 3),  # nothing large since
    ]:
        clock.now = moment
        heap.note(size)
        assert len(trims) == expected, moment


def test_small_calls_never_trim():
    clock, trims = Clock(), []
    heap = Heap(lambda: trims.append(1), clock)
    for moment in range(10):
        clock.now = moment * 10.0
        heap.note(LARGE - 1)
    assert trims == []


def test_a_trim_under_way_is_not_waited_for():
    clock = Clock()
    inside = []

    def trim():
        inside.append(1)
        clock.now += 10
        heap.note(LARGE)  # as another thread would

    heap = Heap(trim, clock)
    clock.now = 10
    heap.note(LARGE)
    assert inside == [1]
