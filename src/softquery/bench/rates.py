"""`softquery bench rates`: what a pair, a stored question and a request cost on this machine.

Commands run as a user runs them, in processes of their own with one thread, on small inputs of two
sizes and two lengths. What is noted is CPU seconds: unlike those on the clock, they depend little
on what else the machine does; graphs of vectors, which wait for memory, aside.
"""

import csv
import json
import mmap
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any

from softquery.errors import ConfigError, InputError

WORDS = (10, 40)
"""Lengths of texts at which is measured."""
SHORT, LONG = WORDS
MATCHED = {SHORT: (1_000, 11_000), LONG: (1_000, 5_000)}
"""Rows of small inputs by words, for pairs."""
STORED = {SHORT: (1_000, 4_000, 40_000), LONG: (1_000, 4_000)}
"""The same for questions; more than 4,096 have a graph."""
GRAPHS = (10_000, 20_000, 40_000, 80_000)
"""Vectors after which the time of building a graph is noted; each twice as many as before."""
RANKED = (20, 60)
"""Candidates of a request."""
VOCABULARY = 30_000
SYLLABLES = ("ka", "lo", "mi", "re", "tu", "san", "ber", "tin", "or", "al", "en", "dis")
COMMON = ("how", "do", "i", "the", "a", "my", "to", "is", "can", "what", "of", "for", "in", "it")
FIRST_QUERIES, QUERIES = 50, 200
STORED_SEED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCase:
    """A small case: what was done to how much, and what it cost."""

    verb: str
    words: int
    rows: int
    seconds: float
    """CPU seconds: of the whole command, of a graph alone, or per request for `search`, `words`
    (a search by words alone) and `rank`."""
    memory: int
    """Largest resident memory in bytes; for `search` and `words` with all of the index read."""
    disk: int = 0
    """Bytes that were written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """What was measured on a machine."""

    processor: str
    version: str
    cases: tuple[MeasuredCase, ...]


def sample_texts(count: int, words: int, *, seed: int) -> list[str]:
    """Texts of made-up words, as frequent as words are (Zipf 1949); the same every time.

    >>> [len(text.split()) for text in sample_texts(3, 7, seed=1)]
    [7, 7, 7]
    """
    draw = random.Random(1)
    made = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(VOCABULARY)]
    vocabulary = [*COMMON, *made]
    weights = list(accumulate(1 / (place + 2) for place in range(len(vocabulary))))
    draw = random.Random(seed)
    return [" ".join(draw.choices(vocabulary, cum_weights=weights, k=words)) for _ in range(count)]


def sample_queries(words: int) -> list[str]:
    """Queries of stored words: halves of two stored texts each, so that none has to be guessed."""
    stored = sample_texts(FIRST_QUERIES + QUERIES + 1, words, seed=STORED_SEED)
    halves = [(text.split()[: words // 2], text.split()[words // 2 :]) for text in stored]
    pairs = zip(halves[:-1], halves[1:], strict=True)
    return [" ".join(one[0] + other[1]) for one, other in pairs]


def measure_rates(
    *,
    matched: Mapping[int, tuple[int, ...]] = MATCHED,
    stored: Mapping[int, tuple[int, ...]] = STORED,
    graphs: Sequence[int] = GRAPHS,
    say: Callable[[str], None] = print,
) -> Rates:
    """Measure every case, which takes about two minutes on a quiet machine.

    Args:
        matched: Rows by words of the pairs that are matched.
        stored: Rows by words of the questions that are indexed.
        graphs: Vectors of a growing graph.
        say: Called with each line of progress.
    """
    from softquery import __version__

    cases: list[MeasuredCase] = []
    with tempfile.TemporaryDirectory(prefix="softquery-rates-") as scratch:
        folder = Path(scratch)
        for words, rows in _each(matched):
            say(f"match: {rows:,} pairs of {words} words")
            cases.append(measure_match(folder, rows, words))
        for words, rows in _each(stored):
            say(f"index: {rows:,} questions of {words} words")
            cases.append(measure_index(folder, rows, words))
        for rows in sorted(stored[SHORT])[-2:]:
            say(f"search: {QUERIES} queries to {rows:,} questions")
            cases += measure_search(folder / index_name(rows, SHORT), rows, SHORT)
        say(f"graph: {max(graphs):,} vectors")
        cases += measure_graph(graphs)
        for words in WORDS:
            for count in RANKED:
                say(f"rank: {count} candidates of {words} words")
                cases.append(measure_rank(count, words))
    return Rates(
        processor=platform.processor() or platform.machine(),
        version=__version__,
        cases=tuple(cases),
    )


def _each(sizes: Mapping[int, tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    for words, counts in sizes.items():
        for rows in counts:
            yield words, rows


def measure_match(folder: Path, rows: int, words: int) -> MeasuredCase:
    """The whole command on a file of pairs."""
    source, output = folder / "pairs.tsv", folder / "scored.jsonl"
    texts = sample_texts(2 * rows, words, seed=2)
    _write(source, ("sentence1", "sentence2"), list(zip(texts[:rows], texts[rows:], strict=True)))
    command = ["match", "--pairs", str(source), "--output", str(output), "--threads", "1"]
    seconds, memory = measured_command(command)
    disk = output.stat().st_size
    output.unlink()
    return MeasuredCase(
        verb="match", words=words, rows=rows, seconds=seconds, memory=memory, disk=disk
    )


def index_name(rows: int, words: int) -> str:
    """The folder of an index that is measured."""
    return f"{rows}-{words}.sq"


def measure_index(folder: Path, rows: int, words: int) -> MeasuredCase:
    """The whole command on a file of questions; the index stays."""
    source, output = folder / "questions.tsv", folder / index_name(rows, words)
    texts = sample_texts(rows, words, seed=STORED_SEED)
    _write(source, ("id", "question"), [(str(place), text) for place, text in enumerate(texts)])
    command = ["index", str(source), "--output", str(output), "--threads", "1"]
    command += ["--model", "match-en", "--vectors", "embed-en"]
    seconds, memory = measured_command(command)
    disk = sum(each.stat().st_size for each in output.rglob("*") if each.is_file())
    return MeasuredCase(
        verb="index", words=words, rows=rows, seconds=seconds, memory=memory, disk=disk
    )


def measure_search(index: Path, rows: int, words: int) -> list[MeasuredCase]:
    """A search, and one by words alone, each in a process of its own that is asked many."""
    stages = {"search": None, "words": ["words"]}
    tasks = {
        verb: {"verb": "search", "index": str(index), "words": words, "stages": each}
        for verb, each in stages.items()
    }
    return [
        MeasuredCase(verb=verb, words=words, rows=rows, **_measured_here(task))
        for verb, task in tasks.items()
    ]


def measure_graph(sizes: Sequence[int]) -> list[MeasuredCase]:
    """The graph of the vectors of questions alone, which grows from each size to the next."""
    found = _measured_here({"verb": "graph", "sizes": sorted(sizes)})
    return [
        MeasuredCase(verb="graph", words=SHORT, rows=rows, seconds=seconds, memory=found["memory"])
        for rows, seconds in zip(sorted(sizes), found["seconds"], strict=True)
    ]


def measure_rank(count: int, words: int) -> MeasuredCase:
    """A query ranked against fresh candidates, as a server does it."""
    task = {"verb": "rank", "count": count, "words": words}
    return MeasuredCase(verb="rank", words=words, rows=count, **_measured_here(task))


def measured_command(words: list[str]) -> tuple[float, int]:
    """CPU seconds and largest memory of a command that runs with one thread.

    Raises:
        ConfigError: It failed, or this system does not tell.
    """
    if not hasattr(os, "wait4"):
        raise ConfigError("this system does not tell what a process cost; measure on Linux")
    with tempfile.TemporaryFile() as heard:
        process = subprocess.Popen(
            [sys.executable, "-m", "softquery", *words],
            stdout=subprocess.DEVNULL,
            stderr=heard,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            heard.seek(0)
            reason = (heard.read().decode(errors="replace").splitlines() or ["no message"])[-1]
            raise ConfigError(f"a measured command failed: {reason}")
    return used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss


def _measured_here(task: dict[str, Any]) -> dict[str, Any]:
    from softquery.bench.match import measured_in_process

    return measured_in_process("rates", task, {"OMP_NUM_THREADS": "1"})


def _measure_task(task: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds per call, or at each size of a graph, and memory at the end."""
    from softquery.bench.measure_one import peak_megabytes

    seconds: float | list[float]
    if task["verb"] == "graph":
        seconds = _seconds_of_graph(task["sizes"])
    elif task["verb"] == "search":
        from softquery.search import open_index

        index = open_index(task["index"], threads=1)
        find = partial(index.find, stages=task["stages"])
        seconds = _per_call(find, sample_queries(task["words"]))
        read_mapped(Path(task["index"]))
    else:
        from softquery.runtime import load_matcher

        count = task["count"]
        matcher = load_matcher("match-en", backend="onnx", threads=1)
        texts = sample_texts((count + 1) * (FIRST_QUERIES + QUERIES), task["words"], seed=5)
        bodies = [texts[place : place + count + 1] for place in range(0, len(texts), count + 1)]
        seconds = _per_call(lambda body: matcher.rank(body[0], body[1:]), bodies)
    return {"seconds": seconds, "memory": int(1024 * 1024 * peak_megabytes())}


def read_mapped(folder: Path) -> int:
    """Read all that this process has mapped from a folder, as queries do in the end.

    A few hundred queries touch a part of a large index only, and memory would seem to be the less
    the fewer they are.

    Returns:
        Bytes that are mapped; 0 where the system does not tell.
    """
    import ctypes

    import numpy as np

    maps, total = Path("/proc/self/maps"), 0
    for line in maps.read_text().splitlines() if maps.exists() else ():
        place, *_, path = line.split(maxsplit=5)
        if not path.startswith(f"{folder.resolve()}{os.sep}"):
            continue
        start, end = (int(part, 16) for part in place.split("-"))
        content = (ctypes.c_ubyte * (end - start)).from_address(start)
        np.frombuffer(memoryview(content), dtype=np.uint8)[:: mmap.PAGESIZE].max()
        total += end - start
    return total


def _seconds_of_graph(sizes: Sequence[int]) -> list[float]:
    """CPU seconds after which a graph has each number of vectors."""
    import numpy as np

    from softquery.runtime import load_sentence_encoder
    from softquery.search.storage.vector_recall import new_graph

    texts = sample_texts(sizes[-1], SHORT, seed=STORED_SEED)
    vectors = load_sentence_encoder("embed-en", threads=1).encode(texts).astype(np.float16)
    graph = new_graph(vectors.shape[1])
    began, done, found = time.process_time(), 0, []
    for size in sizes:
        graph.add(np.arange(done, size, dtype=np.uint64), vectors[done:size], threads=1)
        done = size
        found.append(time.process_time() - began)
    return found


def _per_call(call: Callable[[Any], object], given: list[Any]) -> float:
    for each in given[:FIRST_QUERIES]:
        call(each)
    began = time.process_time()
    for each in given[FIRST_QUERIES:]:
        call(each)
    return (time.process_time() - began) / (len(given) - FIRST_QUERIES)


def _write(path: Path, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def read_rates(path: str | PathLike[str]) -> Rates:
    """Read what `softquery bench rates --json` printed.

    Raises:
        InputError: The file is something else.
    """
    source = Path(path)
    try:
        found = json.loads(source.read_text(encoding="utf-8"))
        cases = tuple(MeasuredCase(**each) for each in found["cases"])
        return Rates(processor=found["processor"], version=found["version"], cases=cases)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=source) from None
    except (ValueError, KeyError, TypeError):
        message = "expected what `softquery bench rates --json` prints"
        raise InputError(message, source=source) from None


if __name__ == "__main__":
    print(json.dumps(_measure_task(json.loads(sys.argv[1]))))
