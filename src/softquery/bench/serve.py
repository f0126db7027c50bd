"""`softquery bench serve`: a server under load, beside the runtime alone and beside a rival."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from softquery.bench.load_test import Load
from softquery.errors import ConfigError, MissingExtra

OURS, RIVAL, ALONE = "softquery serve", "MiniLM-L6 behind FastAPI", "in process"
STARTS = 120.0
"""Seconds in which a server must come up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeBench:
    """Measured loads, one a round."""

    clients: int
    threads: int
    num_texts: int
    alone: list[float]
    """Rankings a second of the runtime in process."""
    loads: dict[str, list[Load]]

    @property
    def ratio(self) -> float:
        """What the server keeps of the runtime's throughput, over all rounds."""
        ours = self.loads[OURS]
        return sum(load.per_second for load in ours) / sum(self.alone)

    def fairness(self, load: Load) -> float:
        """p99 in units of clients / throughput, which is what each would wait if all were equal."""
        return load.latencies["p99"] * load.per_second / self.clients


def run_serve_bench(
    model: str,
    *,
    threads: int = 2,
    clients: int = 64,
    num_texts: int = 20,
    rounds: int = 3,
    seconds: float = 10.0,
    rivals: Sequence[str] = (RIVAL,),
    say: Callable[[str], None] = print,
) -> ServeBench:
    """Load the server and the rival, and time the runtime alone, in turns.

    Args:
        model: A matcher, by name or folder.
        threads: Of the server and of the runtime alone; the load generator shares their cores.
        clients: That ask at once.
        num_texts: Short texts that each request ranks.
        rounds: Contestants take turns, so that a busy moment of the machine hits all alike.
        seconds: For each contestant and round.
        rivals: Which are loaded too, where there is torch to run them.
        say: Told what happens.
    """
    if min(threads, clients, num_texts, rounds) < 1 or not 0 < seconds <= 3600:
        raise ConfigError("threads, clients, texts and rounds must be at least 1, seconds above 0")
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra("serve", needed_for="loading a server")
    asked = {"path": "/rerank", "clients": clients, "seconds": seconds, "num_texts": num_texts}
    alone: list[float] = []
    loads: dict[str, list[Load]] = {OURS: []}
    has_torch = all(map(find_spec, ("torch", "transformers")))
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}: {ALONE}")
        task = {"model": model, "threads": threads, "seconds": seconds, "num_texts": num_texts}
        alone.append(float(_measured("rank_loop", task)["per_second"]))
        say(f"round {turn + 1} of {rounds}: {OURS}")
        with _running(_ours(model, threads, clients)) as port:
            loads[OURS].append(Load(**_measured("load_test", {**asked, "port": port})))
        if RIVAL in rivals and has_torch:
            say(f"round {turn + 1} of {rounds}: {RIVAL}")
            with _running(lambda port: _module("plain_server", str(port), str(threads))) as port:
                found = Load(**_measured("load_test", {**asked, "port": port}))
            loads.setdefault(RIVAL, []).append(found)
    return ServeBench(
        clients=clients, threads=threads, num_texts=num_texts, alone=alone, loads=loads
    )


def _ours(model: str, threads: int, clients: int) -> Callable[[int], list[str]]:
    words = ["serve", "--model", model, "--threads", str(threads), "--queue", str(4 * clients)]
    return lambda port: [sys.executable, "-m", "softquery", *words, "--port", str(port)]


def _module(name: str, *words: str) -> list[str]:
    return [sys.executable, "-m", f"softquery.bench.{name}", *words]


def _measured(name: str, task: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        _module(name, json.dumps(task)), capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"a contestant failed: {reason}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@contextmanager
def _running(command: Callable[[int], Sequence[str]]) -> Iterator[int]:
    """A server of its own process, up and warm, at a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    process = subprocess.Popen(
        list(command(port)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_up(process, port)
        _measured("load_test", {"port": port, "path": "/rerank", "clients": 4, "seconds": 1.0,
                           "num_texts": 20})  # fmt: skip
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_up(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + STARTS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise ConfigError("a server did not come up; try `softquery serve` by itself")
