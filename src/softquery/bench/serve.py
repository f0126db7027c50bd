"""`softquery bench serve`: a server under load, the runtime without a server, and a rival."""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from softquery.bench.load_test import Load
from softquery.bench.match import measured_in_process
from softquery.bench.nginx_front import find_nginx, nginx_before
from softquery.errors import ConfigError, MissingExtra

OURS, RIVAL, ALONE = "softquery serve", "MiniLM-L6 behind FastAPI", "in process"
REPLICAS = "replicas behind nginx"
STARTS = 120.0
"""Seconds within which a server must be ready."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeBench:
    """Measured loads, one per round."""

    clients: int
    threads: int
    num_texts: int
    alone: list[float]
    """Rankings per second of the runtime in process."""
    loads: dict[str, list[Load]]

    @property
    def ratio(self) -> float:
        """The server's throughput as a share of the runtime's, over all rounds."""
        ours = self.loads[OURS]
        return sum(load.per_second for load in ours) / sum(self.alone)

    def fairness(self, load: Load) -> float:
        """p99 divided by clients / throughput, the time that each would wait if all were equal."""
        return load.latencies["p99"] * load.per_second / self.clients


def run_serve_bench(
    model: str,
    *,
    threads: int = 2,
    clients: int = 64,
    num_texts: int = 20,
    rounds: int = 3,
    seconds: float = 10.0,
    replicas: int = 0,
    rivals: Sequence[str] = (RIVAL,),
    say: Callable[[str], None] = print,
) -> ServeBench:
    """Load the server and the rival, and time the runtime alone, in turn.

    Args:
        model: A matcher, by name or folder.
        threads: Of the server and of the runtime alone; the load generator shares their cores.
        clients: How many send requests at once.
        num_texts: Short texts that each request ranks.
        rounds: Contestants take turns, so that a busy moment of the machine affects all alike.
        seconds: For each contestant and round.
        replicas: So many servers are loaded through nginx as well, and share the threads.
        rivals: Which rivals are loaded too, if torch is installed to run them.
        say: Called with each line of progress.
    """
    if min(threads, clients, num_texts, rounds) < 1 or replicas < 0 or not 0 < seconds <= 3600:
        raise ConfigError("threads, clients, texts and rounds must be at least 1, seconds above 0")
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra("serve", needed_for="loading a server")
    if replicas:
        find_nginx()  # before minutes of measuring, not after them
    task = {"path": "/rerank", "clients": clients, "seconds": seconds, "num_texts": num_texts}
    alone: list[float] = []
    loads: dict[str, list[Load]] = {OURS: []}
    has_torch = all(map(find_spec, ("torch", "transformers")))
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}: {ALONE}")
        ranking = {"model": model, "threads": threads, "seconds": seconds, "num_texts": num_texts}
        alone.append(float(measured_in_process("load_test", ranking)["per_second"]))
        say(f"round {turn + 1} of {rounds}: {OURS}")
        with _running(_ours(model, threads, clients)) as port:
            loads[OURS].append(_load({**task, "port": port}))
        if replicas:
            say(f"round {turn + 1} of {rounds}: {replicas} {REPLICAS}")
            each = _ours(model, max(1, threads // replicas), clients)
            with _replicated(each, replicas) as port:
                loads.setdefault(REPLICAS, []).append(_load({**task, "port": port}))
        if RIVAL in rivals and has_torch:
            say(f"round {turn + 1} of {rounds}: {RIVAL}")
            with _running(_rival(threads)) as port:
                loads.setdefault(RIVAL, []).append(_load({**task, "port": port}))
    return ServeBench(
        clients=clients, threads=threads, num_texts=num_texts, alone=alone, loads=loads
    )


def _ours(model: str, threads: int, clients: int) -> Callable[[int], list[str]]:
    words = ["serve", "--model", model, "--threads", str(threads), "--queue", str(4 * clients)]
    return lambda port: [sys.executable, "-m", "softquery", *words, "--port", str(port)]


def _rival(threads: int) -> Callable[[int], list[str]]:
    module = "softquery.bench.plain_server"
    return lambda port: [sys.executable, "-m", module, str(port), str(threads)]


def _load(task: dict[str, object]) -> Load:
    return Load(**measured_in_process("load_test", task))


@contextmanager
def _replicated(command: Callable[[int], Sequence[str]], replicas: int) -> Iterator[int]:
    """Start several servers, and nginx before them."""
    with ExitStack() as stack:
        ports = [stack.enter_context(_running(command)) for _ in range(replicas)]
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="softquery-nginx-"))
        yield stack.enter_context(nginx_before(ports, Path(folder)))


@contextmanager
def _running(command: Callable[[int], Sequence[str]]) -> Iterator[int]:
    """Start a server at a free port, wait until it is ready, and warm it up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    process = subprocess.Popen(
        list(command(port)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_ready(process, port)
        _load({"port": port, "path": "/rerank", "clients": 4, "seconds": 1.0, "num_texts": 20})
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + STARTS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise ConfigError("a server did not start; try `softquery serve` by itself")
