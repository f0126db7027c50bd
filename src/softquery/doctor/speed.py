"""How fast the shipped models are here, measured in a few seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

NUM_CANDIDATES = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Seconds that the shipped models take on this machine at this moment.

    Attributes:
        load: To load `match-en` for the first time in this process.
        pair: To compare two short sentences.
        rank: To rank 100 short candidates whose encodings are stored.
        embed: To encode one short text by `embed-en`.
    """

    load: float
    pair: float
    rank: float
    embed: float


def measure_speed(seconds: float = 0.5) -> Speed:
    """Measure the shipped models.

    Args:
        seconds: To spend on each of three measurements.
    """
    from softquery.runtime import Matcher, SentenceEncoder, load

    began = time.perf_counter()
    matcher = load("match-en")
    took = time.perf_counter() - began
    encoder = load("embed-en")
    assert isinstance(matcher, Matcher)
    assert isinstance(encoder, SentenceEncoder)
    candidates = [
        f"How do I change setting {place} of my account?" for place in range(NUM_CANDIDATES)
    ]

    def query(turn: int) -> str:
        return f"Where can I change setting {turn} of it?"

    return Speed(
        load=took,
        pair=median_time(lambda turn: matcher.predict([(query(turn), candidates[0])]), seconds),
        rank=median_time(lambda turn: matcher.rank(query(-turn), candidates), seconds),
        embed=median_time(lambda turn: encoder.encode([query(turn)]), seconds),
    )


def median_time(call: Callable[[int], object], seconds: float) -> float:
    """The median time of a call, after one that does not count.

    Args:
        call: What is to be timed; it is given the number of its turn, so that it can ask
            something new, which no cache holds.
        seconds: To go on for; at least three calls are timed.
    """
    call(0)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        call(len(times) + 1)
        times.append(time.perf_counter() - began)
    return median(times)
