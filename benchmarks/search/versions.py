"""Two versions of softquery on the same questions, asked in turns: how many times as fast is one?

    python benchmarks search versions DATA OLD NEW --old-index A.sq --new-index B.sq [--rounds 3]

OLD and NEW are `src` folders (such as of `git archive v0.1`), A.sq and B.sq the same questions
indexed by each (`benchmarks/search/search.py` builds them). Each version runs in a process of its
own with so many threads; every query is asked of one and then of the other, the order changing, and
only one works at a time. Prints the percentiles of each round, and their ratios: of the time that
passes, and of the time that processors work, which other jobs on the machine disturb less.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.search.search import WARM, draw_queries

WORKER = """
import sys
from time import perf_counter, process_time
from softquery import Index
index = Index.open(sys.argv[1], threads=int(sys.argv[2]))
for line in sys.stdin:
    began, worked = perf_counter(), process_time()
    index.find(line.rstrip("\\n"), candidates=50)
    print(perf_counter() - began, process_time() - worked, flush=True)
"""


KINDS = ("passed", "worked")
"""What is measured of a query: milliseconds that pass, and those that processors work."""


class Version:
    """A process that answers one query after the other."""

    def __init__(self, source: Path, index: Path, threads: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", WORKER, str(index), str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def milliseconds(self, query: str) -> tuple[float, float]:
        """How long one query takes, and how long processors work at it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(query.split()) + "\n")
        self._process.stdin.flush()
        passed, worked = map(float, self._process.stdout.readline().split())
        return 1000 * passed, 1000 * worked

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def asked(versions: Sequence[Version], queries: Sequence[str]) -> list[list[tuple[float, float]]]:
    """Milliseconds of each query by each version."""
    found: list[list[tuple[float, float]]] = [[] for _ in versions]
    for place, query in enumerate(queries):
        order = range(len(versions)) if place % 2 == 0 else reversed(range(len(versions)))
        for number in order:
            found[number].append(versions[number].milliseconds(query))
    return found


def summary(
    old: Sequence[tuple[float, float]], new: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """Percentiles of both, and their ratios."""
    result: dict[str, Any] = {}
    for kind, name in enumerate(KINDS):
        for share in (0.5, 0.95):
            values = (np.quantile([each[kind] for each in times], share) for times in (old, new))
            one, other = map(float, values)
            result[f"{name} p{100 * share:.0f}"] = {
                "old": round(one, 2),
                "new": round(other, 2),
                "ratio": round(other / one, 3),
            }
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--old-index", type=Path, required=True)
    parser.add_argument("--new-index", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    places = ((options.old, options.old_index), (options.new, options.new_index))
    versions = [Version(source, index, options.threads) for source, index in places]
    queries = draw_queries(options.data, options.questions, options.queries + WARM)
    asked(versions, queries[:WARM])
    rounds = []
    for _ in range(options.rounds):
        load = os.getloadavg()[0]
        rounds.append({"load": round(load, 1), **summary(*asked(versions, queries[WARM:]))})
    for version in versions:
        version.end()
    ratios = {
        name: round(float(np.median([each[name]["ratio"] for each in rounds])), 3)
        for name in rounds[0]
        if name != "load"
    }
    text = json.dumps({"queries": options.queries, "rounds": rounds, "ratios": ratios}, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
