"""Measure one contestant in a process of its own: `python -m softquery.bench.measure_one`.

Separate processes keep the libraries, memory and threads of the contestants apart.
"""

import json
import sys
import time

BEGAN = time.perf_counter()

import resource  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from softquery.bench.contestants import (  # noqa: E402
    Contestant,
    Ours,
    QuantisedCrossEncoder,
    TorchCrossEncoder,
)
from softquery.bench.sample_sentences import passages, sentences  # noqa: E402
from softquery.errors import ConfigError  # noqa: E402

CANDIDATES = 100


def build(task: dict[str, Any]) -> Contestant:
    """The contestant that a task describes."""
    candidates = sentences(1000)[:CANDIDATES]
    threads = task["threads"]
    if task["kind"] == "ours":
        return Ours(task["model"], threads, candidates)
    if task["kind"] == "torch":
        return TorchCrossEncoder(task["shape"], threads, candidates)
    if task["kind"] == "onnx":
        return QuantisedCrossEncoder(task["shape"], threads, candidates, Path(task["graph"]))
    raise ConfigError(f"unknown contestant {task['kind']!r} (known: ours, torch, onnx)")


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Time start-up, single pairs, batches of 32 and rankings of 100, also of `task["words"]`."""
    contestant = build(task)
    texts = sentences(1000)[CANDIDATES:]
    contestant.match([(texts[0], texts[1])])
    startup = time.perf_counter() - BEGAN
    batch = [(texts[place], texts[place + 40]) for place in range(32)]
    seconds = task["seconds"]
    found: dict[str, Any] = {
        "startup_s": startup,
        "pair_s": timed(lambda turn: contestant.match([(texts[turn], texts[turn + 1])]), seconds),
        "batch32_s": timed(lambda turn: contestant.match(batch), seconds),
        "rank100_s": timed(lambda turn: contestant.rank(texts[turn]), seconds),
    }
    for num_words in task["words"]:
        contestant.take(passages(CANDIDATES, num_words))
        scene = f"rank100_{num_words}_s"
        found[scene] = timed(lambda turn: contestant.rank(texts[turn]), seconds, least=2)
    return {**found, "peak_mb": peak_megabytes()}


def peak_megabytes() -> float:
    """The peak memory of this process; read from Linux, whose rusage may include the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(act: Callable[[int], Any], seconds: float, least: int = 5) -> list[float]:
    """Times of single calls, for about `seconds` and at least so many, after untimed ones."""
    for turn in range(min(2, least - 1)):
        act(turn)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < least:
        start = time.perf_counter()
        act(len(times) % 500)
        times.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
