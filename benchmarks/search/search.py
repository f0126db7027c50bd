"""Search on many stored questions: time by stage, memory and disk a question.

    python benchmarks search FOLDER [--questions 100000] [--threads 2] [--queries 1000]
    python benchmarks search FOLDER --index faq.sq      # one that was built before

FOLDER holds Quora's questions as the data folders `qqp_positives_only`, `qqp_first10k` and
`qqp_20k`. Two thirds of the queries are questions whose duplicates are stored, one third are words
at random. Prints one JSON object; what else runs on the machine is seen in it.
"""

import argparse
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softquery import Index, __version__
from softquery.files import find_split, read_rows

SOURCES = (("qqp_positives_only", "train"), ("qqp_first10k", "train"), ("qqp_20k", "dev"))
WARM = 20
"""Queries that are asked before time is taken."""


def pairs(folder: Path) -> Iterator[tuple[str, str, str]]:
    for name, split in SOURCES:
        path = find_split(folder / name, split)
        for row in read_rows(path, columns=("sentence1", "sentence2", "label")):
            yield row.values["sentence1"], row.values["sentence2"], row.values["label"]


def questions(folder: Path, count: int) -> tuple[list[str], list[str]]:
    """So many different questions to store, and others that ask the same as some of them."""
    stored: dict[str, None] = {}
    asked: list[str] = []
    for first, second, label in pairs(folder):
        if len(stored) < count:
            stored[second] = None
            if label == "1":
                asked.append(first)
    for first, _, _ in pairs(folder):  # there are too few second sides
        if len(stored) >= count:
            break
        stored[first] = None
    return list(stored)[:count], asked


def memory() -> dict[str, float]:
    """Megabytes of this process: its own, and files that are mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    values = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return {name: round(int(value) / 1024, 1) for name, value in values.items()}


def build(folder: Path, place: Path, count: int, threads: int) -> dict[str, float]:
    stored, _ = questions(folder, count)
    rows = ({"id": str(number), "question": text} for number, text in enumerate(stored))
    start = time.perf_counter()
    index = Index.build(rows, place, threads=threads)
    return {"rows": len(index), "build_seconds": round(time.perf_counter() - start, 1)}


def measure(index: Index, queries: list[str], candidates: int) -> dict[str, object]:
    for query in queries[:WARM]:
        index.search(query, candidates=candidates)
    times: dict[str, list[float]] = {}
    for query in queries[WARM:]:
        found = index.find(query, candidates=candidates)
        for name, seconds in found.seconds.items():
            times.setdefault(name, []).append(1000 * seconds)
    return {
        name: {
            "p50": round(float(np.quantile(each, 0.5)), 2),
            "p95": round(float(np.quantile(each, 0.95)), 2),
            "mean": round(float(np.mean(each)), 2),
        }
        for name, each in times.items()
    }


def draw_queries(folder: Path, count: int, number: int) -> list[str]:
    draw = random.Random(1)
    stored, asked = questions(folder, count)
    words = [word for text in draw.sample(stored, 500) for word in text.split()]
    odd = [" ".join(draw.choices(words, k=draw.randint(3, 12))) for _ in range(number // 3)]
    chosen = [*draw.sample(asked, number - len(odd)), *odd]
    draw.shuffle(chosen)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--index", type=Path, help="keep the index here, or use the one there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = options.index or Path(scratch) / "faq.sq"
        result: dict[str, object] = {"version": __version__, "threads": options.threads}
        if not place.exists():
            result |= build(options.folder, place, options.questions, options.threads)
        before = memory()
        start = time.perf_counter()
        index = Index.open(place, threads=options.threads)
        result["open_seconds"] = round(time.perf_counter() - start, 2)
        queries = draw_queries(options.folder, options.questions, options.queries + WARM)
        result["load_before"] = os.getloadavg()[0]
        result["milliseconds"] = measure(index, queries, options.candidates)
        sizes = index.size_bytes()
        result["rows"] = len(index)
        result["disk_bytes_a_row"] = {k: round(v / len(index)) for k, v in sizes.items()}
        result["megabytes_before"], result["megabytes_after"] = before, memory()
        result["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
