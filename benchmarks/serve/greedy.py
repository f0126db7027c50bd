"""Many clients beside a greedy one: does anybody wait longer for what it asks?

    python benchmarks serve greedy --minutes 10 --output greedy.json

Clients that rank twenty short texts each load a server, in stretches that alternate: without and
with one more client, which asks for as much as a request may hold, again and again, of every model
and of an index of long questions.
Percentiles are taken per stretch and averaged over the stretches of a kind; other work on the
machine weighs on both kinds alike. The server's memory is read after each stretch.
"""

import argparse
import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from softquery import Index
from softquery.bench.load_test import Load
from softquery.bench.match import measured_in_process

MODELS = ("match-en", "tagger-en", "read-en", "translate-de-en", "elmo-en")
LONG = ("the cat sat on a mat and looked at the dog " * 500)[:20_000]
QUESTIONS = [{"question": "Who sat on a mat?", "context": LONG}] * 50
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/tag", {"texts": ["." * 20_000] * 95}),
    ("/v1/tag", {"texts": ["." * 20_000] * 14}),
    ("/rerank", {"query": LONG[:600], "texts": [f"{LONG[:600]} {place}" for place in range(900)]}),
    ("/v1/read", {"questions": QUESTIONS}),
    ("/embed", {"inputs": [f"{LONG[:900]} {place}" for place in range(900)], "model": "elmo-en"}),
    ("/v1/generate", {"texts": ["der Hund sitzt auf dem Baum " * 15] * 20, "beam": 20}),
    ("/v1/search", {"index": "long", "query": LONG, "candidates": 900, "top_k": 100,
                    "min_score": 0}),
    ("/v1/search", {"index": "long", "query": LONG[:2000], "top_k": 20, "min_score": 0,
                    "explain": True}),
    ("/v1/tag", {"texts": [LONG] * 95}),
    ("/v1/tag", {"texts": [1] * 300_000}),
]  # fmt: skip
"""What the greedy client asks in turn; the first is beyond the token budget, the last no text."""
PATIENCE = 8.0
"""Seconds after which the greedy client hangs up and asks for the next."""


class GreedyClient:
    """Sends large requests one after the other while it is told to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.statuses: Counter[str] = Counter()
        self._count = 0
        self._stop = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Send requests in the background; leave in the middle of the last one."""
        self._stop.clear()
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _ask(self) -> None:
        while not self._stop.is_set():
            self.statuses[self.status(*REQUESTS[self._count % len(REQUESTS)])] += 1
            self._count += 1

    def status(self, path: str, body: dict[str, Any]) -> str:
        """The status of a request; `left` if the client lost its patience or was told to stop."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1.0)
        end = time.monotonic() + PATIENCE
        try:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            while time.monotonic() < end and not self._stop.is_set():
                try:
                    return str(connection.getresponse().status)
                except TimeoutError:
                    continue
            return "left"
        finally:
            connection.close()


def write_index(place: Path) -> Path:
    """An index of fifteen hundred questions of sixty words."""
    draw, words = random.Random(1), sorted(set(LONG.split()))
    rows = [{"question": " ".join(draw.choices(words, k=60))} for _ in range(1500)]
    Index.build(rows, place, model=MODELS[0])
    return place


@contextmanager
def running(threads: int, index: Path) -> Iterator[tuple[int, int]]:
    """A server's port and the number of its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    named = [word for model in MODELS for word in ("--model", model)]
    command = [sys.executable, "-m", "softquery", "serve", *named, "--port", str(port)]
    command += ["--index", str(index), "--threads", str(threads)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not is_up(port):
            time.sleep(0.2)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


def is_up(port: int) -> bool:
    """Whether a server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def resident_megabytes(pid: int) -> float:
    """Memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1000 if found else float("nan")


def measured(*, minutes: float, clients: int, stretch: float, threads: int) -> dict[str, Any]:
    """Stretches without and with the greedy client, in turns."""
    loads: dict[str, list[Load]] = {"alone": [], "beside": []}
    memory: list[float] = []
    with (
        TemporaryDirectory() as scratch,
        running(threads, write_index(Path(scratch) / "long.sq")) as (port, pid),
    ):
        greedy = GreedyClient(port)
        task = {"port": port, "path": "/rerank", "clients": clients, "num_texts": 20}
        for path, body in REQUESTS:  # every model has its memory before it is measured
            greedy.status(path, body)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            loads["alone"].append(_load(task, stretch))
            with greedy.at_work():
                loads["beside"].append(_load(task, stretch))
            memory.append(resident_megabytes(pid))
            print(summary(loads, memory, greedy.statuses), file=sys.stderr, flush=True)
    return summary(loads, memory, greedy.statuses)


def _load(task: dict[str, Any], seconds: float) -> Load:
    return Load(**measured_in_process("load_test", {**task, "seconds": seconds}))


def summary(
    loads: dict[str, list[Load]], memory: list[float], statuses: Counter[str]
) -> dict[str, Any]:
    """What all stretches measured; percentiles are the mean over the stretches of a kind."""
    found: dict[str, Any] = {}
    for kind, each in loads.items():
        found[kind] = {
            "per_second": round(sum(load.per_second for load in each) / len(each), 1),
            **{
                name: round(1000 * sum(load.latencies[name] for load in each) / len(each))
                for name in ("p50", "p99")
            },
            "errors": sum(load.num_errors for load in each),
        }
    ratio = found["beside"]["p99"] / found["alone"]["p99"]
    return {
        **found,
        "stretches": len(memory),
        "p99 ratio": round(ratio, 2),
        "megabytes": [round(each) for each in memory],
        "greedy": dict(statuses),
    }


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description="Many clients beside a greedy one.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--stretch", type=float, default=30.0, help="Seconds of a stretch.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    found = measured(
        minutes=given.minutes, clients=given.clients, stretch=given.stretch, threads=given.threads
    )
    text = json.dumps(found, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
