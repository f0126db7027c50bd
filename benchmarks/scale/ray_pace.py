"""How fast Ray's two actors answer beside two bare processes, in turns of some seconds.

    python benchmarks scale ray_pace DATA [--turns 12] [--seconds 20] [--shard-rows 1024]
                                          [--work FOLDER] [--output FILE.json]

Both run all along, but only one of them at a time: whose turn it is not is stopped, with all of its
processes, Ray's own included. So both meet the same machine, whatever else it does. Counted are
pairs answered per second of a turn, once both have begun, and the CPU seconds that they took: of
the workers, which are the bare processes or Ray's actors, and of all that is Ray's. The time that
Ray takes to start is told by itself. Small shards make the count exact, and cost Ray a little more
than those of a usual size.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.scale.ray_bulk import ACTOR, MARK, TICK, matching, write_pairs

SCRIPT = """
import sys
from softquery.ray import answer_files
model, pairs, output, rows = sys.argv[1:]
answer_files(model, pairs, output, actors=2, shard_rows=int(rows))
"""
MOST_BEGINNING = 300
"""Seconds in which both must have begun."""


class Side:
    """One of both, with all of its processes.

    Args:
        name: Marks their environment.
        commands: What is run.
        count: Pairs that are answered so far.
    """

    def __init__(self, name: str, commands: list[list[str]], count: Callable[[], int]) -> None:
        self._mark = f"{MARK}={name}-{os.getpid()}\0".encode()
        around = {**os.environ, MARK: f"{name}-{os.getpid()}"}
        self.count = count
        self.began = time.monotonic()
        self._started = [subprocess.Popen(words, env=around) for words in commands]

    def signal(self, number: int) -> None:
        """Send a signal to every process that is theirs."""
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and self._mark in (place / "environ").read_bytes():
                    os.kill(int(place.name), number)
            except OSError:
                continue

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far, of the workers and of everything."""
        found = {"workers": 0.0, "all": 0.0}
        for place in Path("/proc").iterdir():
            try:
                if not (place.name.isdigit() and self._mark in (place / "environ").read_bytes()):
                    continue
                title = (place / "cmdline").read_text()
                stat = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            seconds = (int(stat[11]) + int(stat[12])) / TICK
            found["all"] += seconds
            found["workers"] += seconds * (ACTOR in title or "softquery\0--quiet" in title)
        return found

    def wait_until_begun(self) -> float:
        """Seconds from the start to the first answers."""
        while not self.count():
            if time.monotonic() - self.began > MOST_BEGINNING:
                self.end()
                sys.exit("nothing was answered")
            time.sleep(0.1)
        return time.monotonic() - self.began

    def turn(self, seconds: float) -> dict[str, float]:
        """Let it run for a while."""
        before, used, began = self.count(), self.cpu(), time.monotonic()
        self.signal(signal.SIGCONT)
        time.sleep(seconds)
        self.signal(signal.SIGSTOP)
        took, done = time.monotonic() - began, self.count() - before
        cpu = {f"CPU s, {name}": value - used[name] for name, value in self.cpu().items()}
        return {"seconds": took, "pairs": done, "pairs per second": done / took, **cpu}

    def end(self) -> None:
        """Kill all of it."""
        self.signal(signal.SIGKILL)
        for each in self._started:
            each.wait()


def lines_of(paths: list[Path]) -> Callable[[], int]:
    """Counts the lines of files that grow."""
    known = {path: [0, 0] for path in paths}

    def count() -> int:
        for path, found in known.items():
            if path.exists():
                with path.open("rb") as file:
                    file.seek(found[0])
                    some = file.read()
                found[0] += len(some)
                found[1] += some.count(b"\n")
        return sum(number for _, number in known.values())

    return count


def committed_in(folder: Path, rows: int) -> Callable[[], int]:
    """Counts the rows of committed shards."""
    commits = folder / "_commits"
    return lambda: rows * sum(1 for _ in commits.glob("*.json"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--shard-rows", type=int, default=1024)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    parser.add_argument("--model", default="match-en")
    parser.add_argument("--work", type=Path, default=Path("pace-work"))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    given.work.mkdir(parents=True)
    write_pairs(given.data, given.pairs, given.work)
    halves = [given.work / f"half-{n}" for n in (1, 2)]
    alone = [
        matching(given.model, half.with_suffix(".tsv"), half.with_suffix(".jsonl"))
        for half in halves
    ]
    output = given.work / "ray"
    words = [given.model, given.work / "all.tsv", output, given.shard_rows]
    by_ray = [sys.executable, "-c", SCRIPT, *map(str, words)]
    partial = [Path(f"{half}.jsonl.partial") for half in halves]
    sides = {"ray": Side("ray", [by_ray], committed_in(output, given.shard_rows))}
    beginning = {"ray": sides["ray"].wait_until_begun()}
    sides["ray"].signal(signal.SIGSTOP)
    try:
        sides["bare"] = Side("bare", alone, lines_of(partial))
        beginning["bare"] = sides["bare"].wait_until_begun()
        sides["bare"].signal(signal.SIGSTOP)
        turns = alternate(sides, given.turns, given.seconds)
    finally:
        for side in sides.values():
            side.end()
    report(turns, beginning, given)


def alternate(
    sides: dict[str, Side], number: int, seconds: float
) -> list[dict[str, dict[str, float]]]:
    """Turns of both; who goes first alternates, too."""
    found = []
    for each in range(number):
        order = ["bare", "ray"] if each % 2 == 0 else ["ray", "bare"]
        found.append({name: sides[name].turn(seconds) for name in order})
        bare, ray = (found[-1][name]["pairs per second"] for name in ("bare", "ray"))
        print(f"turn {each + 1}: bare {bare:,.0f}, ray {ray:,.0f} pairs/s, {ray / bare:.3f}")
        sys.stdout.flush()
    return found


def on_quiet_cores(turns: list[dict[str, dict[str, float]]], cores: int = 2) -> dict[str, float]:
    """What both would answer if these cores had nothing else to do, by least squares.

    Ray's other processes take some CPU seconds per second of the clock, whatever is answered, and
    some per pair. Where work from elsewhere slows the pairs down, the first share is paid for
    longer, although it would not be on cores of Ray's own.
    """
    rays = [each["ray"] for each in turns]
    others = [each["CPU s, all"] - each["CPU s, workers"] for each in rays]
    shares = np.array([[each["seconds"], each["pairs"]] for each in rays])
    per_second, per_pair = np.linalg.lstsq(shares, np.array(others), rcond=None)[0].tolist()
    spent = {
        name: sum(each[name]["CPU s, workers"] for each in turns)
        / sum(each[name]["pairs"] for each in turns)
        for name in ("bare", "ray")
    }
    bare = cores / spent["bare"]
    ray = (cores - per_second) / (spent["ray"] + per_pair)
    return {
        "others, cores": per_second,
        "others, CPU microseconds per pair": 1e6 * per_pair,
        "bare, pairs per second": bare,
        "ray, pairs per second": ray,
        "ray / bare": ray / bare,
    }


def report(
    turns: list[dict[str, dict[str, float]]], beginning: dict[str, float], given: Any
) -> None:
    """The ratios over all turns, and their spread."""
    sums = {
        name: {what: sum(each[name][what] for each in turns) for what in turns[0][name]}
        for name in ("bare", "ray")
    }
    ratios = [each["ray"]["pairs per second"] / each["bare"]["pairs per second"] for each in turns]
    bare, ray = sums["bare"], sums["ray"]
    found: dict[str, Any] = {
        "model": given.model,
        "cores": os.cpu_count(),
        "shard_rows": given.shard_rows,
        "seconds to the first answers": beginning,
        "pairs per second": {name: each["pairs"] / each["seconds"] for name, each in sums.items()},
        "pairs per second, ray / bare": ray["pairs"]
        / ray["seconds"]
        * bare["seconds"]
        / bare["pairs"],
        "the same by turn": sorted(round(ratio, 3) for ratio in ratios),
        "the same, median turn": median(ratios),
    }
    for who in ("workers", "all"):
        spent = {name: each[f"CPU s, {who}"] / each["pairs"] for name, each in sums.items()}
        found[f"CPU microseconds per pair, {who}"] = {
            name: round(1e6 * value, 1) for name, value in spent.items()
        }
        found[f"pairs per CPU second, {who}, ray / bare"] = spent["bare"] / spent["ray"]
    found["by arithmetic, two quiet cores"] = on_quiet_cores(turns)
    print(json.dumps(found, indent=1))
    if given.output is not None:
        given.output.write_text(json.dumps({**found, "turns": turns}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
