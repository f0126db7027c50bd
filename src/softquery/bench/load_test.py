"""Rankings by many clients of a server, and the same rankings without a server.

`python -m softquery.bench.load_test '{"port": …}'` loads a server: each client sends a request,
waits for the complete response, and sends the next. Bodies are prepared before the clock starts and
responses are only counted, so that the load generator takes little of the cores that it shares with
the server. With `'{"model": …}'`, threads call `Matcher.rank` as fast as they can; the cost of the
server is measured against that.
"""

import asyncio
import json
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from softquery.bench.sample_sentences import sentences
from softquery.runtime import load_matcher

BODIES = 400
"""Different requests, sent in turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What the clients of a server measured."""

    num_answers: int
    seconds: float
    statuses: dict[str, int]
    latencies: dict[str, float]
    """Seconds at some percentiles."""

    @property
    def per_second(self) -> float:
        """Responses per second."""
        return self.num_answers / self.seconds

    @property
    def num_errors(self) -> int:
        """Responses with a status other than 200."""
        return self.num_answers - self.statuses.get("200", 0)


def rankings(num_texts: int, count: int = BODIES) -> list[dict[str, Any]]:
    """Queries, each with its own sample of short texts; the same every time.

    >>> body = rankings(20, 2)[0]
    >>> len(body["texts"]), body["query"] in body["texts"]
    (20, False)
    """
    draw, texts = random.Random(1), sentences(1000)
    drawn = [draw.sample(texts, num_texts + 1) for _ in range(count)]
    return [{"query": query, "texts": rest} for query, *rest in drawn]


class LoadClient(asyncio.Protocol):
    """One connection that sends a request as soon as the previous one is answered.

    Args:
        run: Hands out requests and counts responses.
    """

    def __init__(self, run: "LoadRun") -> None:
        self.run = run
        self.transport: asyncio.Transport
        self.received = bytearray()
        self.began = 0.0
        self.left = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request, or close the connection."""
        request = self.run.next_request()
        if request is None:
            self.transport.close()
            return
        self.began = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read until the response is complete."""
        self.received += data
        if self.left < 0:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self.received[:end]).lower()
            at = head.index(b"content-length:") + 15
            self.left = end + 4 + int(head[at : at + 12].split(b"\r")[0])
        if len(self.received) >= self.left:
            self.run.note(bytes(self.received[9:12]), time.perf_counter() - self.began)
            self.received.clear()
            self.left = -1
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """The connection was closed, by us or by the server."""
        self.run.ended(error)


class LoadRun:
    """A load test from its first request to its last response.

    Args:
        requests: The requests, as bytes.
        clients: How many send at once.
        seconds: After that time no request is sent.
    """

    def __init__(self, requests: list[bytes], clients: int, seconds: float) -> None:
        self.requests, self.clients, self.seconds = requests, clients, seconds
        self.statuses: Counter[str] = Counter()
        self.times: list[float] = []
        self.count = 0
        self.open = clients
        self.stop = 0.0
        self.done = asyncio.Event()

    def next_request(self) -> bytes | None:
        """The next request; None when the time is up."""
        if time.perf_counter() >= self.stop:
            return None
        self.count += 1
        return self.requests[self.count % len(self.requests)]

    def note(self, status: bytes, seconds: float) -> None:
        """Count one response."""
        self.statuses[status.decode()] += 1
        self.times.append(seconds)

    def ended(self, error: Exception | None) -> None:
        """One client has ended."""
        if error is not None or time.perf_counter() < self.stop:
            self.statuses["lost"] += 1
        self.open -= 1
        if not self.open:
            self.done.set()

    async def against(self, port: int) -> Load:
        """Load a server on this machine."""
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        self.stop = began + self.seconds
        for _ in range(self.clients):
            await loop.create_connection(lambda: LoadClient(self), "127.0.0.1", port)
        await self.done.wait()
        return self.summary(time.perf_counter() - began)

    def summary(self, seconds: float) -> Load:
        """What all clients measured."""
        times = sorted(self.times) or [0.0]
        places = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
        return Load(
            num_answers=len(self.times),
            seconds=seconds,
            statuses=dict(self.statuses),
            latencies={
                name: times[min(len(times) - 1, int(share * len(times)))]
                for name, share in places.items()
            },
        )


def as_request(path: str, body: Any) -> bytes:
    """A request that keeps its connection open."""
    raw = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


async def load(port: int, *, path: str, clients: int, seconds: float, num_texts: int) -> Load:
    """Load a server with rankings of short texts."""
    requests = [as_request(path, body) for body in rankings(num_texts)]
    return await LoadRun(requests, clients, seconds).against(port)


def rank_loop(*, model: str, threads: int, seconds: float, num_texts: int) -> dict[str, Any]:
    """Rankings per second, of all threads together, without a server."""
    matcher = load_matcher(model, backend="onnx", threads=1)
    bodies = rankings(num_texts)
    counts = [0] * threads
    began = time.perf_counter()
    end = began + seconds

    def work(number: int) -> None:
        place = number
        while time.perf_counter() < end:
            each = bodies[place % len(bodies)]
            matcher.rank(each["query"], each["texts"])
            counts[number] += 1
            place += threads

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"per_second": sum(counts) / (time.perf_counter() - began)}


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    if "port" in task:
        print(json.dumps(asdict(asyncio.run(load(**task)))))
    else:
        print(json.dumps(rank_loop(**task)))
