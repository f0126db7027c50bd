"""Turns: requests get equal shares of the time, and small ones keep their order."""

from softquery.serve.fair_turns import UNIT_SECONDS, FairClock, Paces


def serve(clock, turns, seconds):
    """Spend time on the request whose turn it is."""
    turn = min(turns, key=lambda each: each.place)
    turn.seconds += seconds
    clock.advance(seconds, len(turns))
    return turn


def test_large_requests_get_equal_shares():
    clock = FairClock()
    turns = [clock.new_turn() for _ in range(4)]
    for _ in range(400):
        serve(clock, turns, 0.05)
    assert max(turn.seconds for turn in turns) - min(turn.seconds for turn in turns) < 0.11


def test_one_large_request_among_small_ones_gets_the_share_of_one():
    clock = FairClock()
    large = clock.new_turn()
    small = [clock.new_turn() for _ in range(9)]
    for _ in range(5_000):
        served = serve(clock, [large, *small], 0.02)
        if served is not large:
            small[small.index(served)] = clock.new_turn()
    assert 0.08 < large.seconds / (5_000 * 0.02) < 0.12


def test_small_requests_keep_their_order_even_when_they_are_served_in_parts():
    clock = FairClock()
    turns = [clock.new_turn() for _ in range(3)]
    served = [serve(clock, turns, UNIT_SECONDS / 3).number for _ in range(3)]
    assert served == [1, 1, 1]


def test_a_new_request_comes_before_one_that_has_had_its_unit():
    clock = FairClock()
    large = clock.new_turn()
    for _ in range(100):
        serve(clock, [large], UNIT_SECONDS)
    assert clock.new_turn().place < large.place


def test_a_unit_follows_the_pace_of_its_handler():
    paces = Paces()
    for _ in range(50):
        paces.learn("tag", 100, 0.04)
        paces.learn("match", 1000, 0.01)
    assert 240 <= paces.unit("tag", 1024) <= 260
    assert paces.unit("match", 1024) == 1024
    assert abs(paces.seconds("tag", 500) - 0.2) < 1e-6
    for _ in range(50):
        paces.learn("slow", 1, 10.0)
    assert paces.unit("slow", 1024) == 64
