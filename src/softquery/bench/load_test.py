"""Many clients at once: `python -m softquery.bench.load_test '{"port": …}'`, in its own process.

Each client sends a request, waits for the whole answer, and sends the next. Bodies are made before
the clock starts and answers are only counted, so that the generator takes little of the cores that
it shares with the server.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from softquery.bench.sample_sentences import sentences

BODIES = 400
"""Different requests, sent in turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What clients saw."""

    num_answers: int
    seconds: float
    statuses: dict[str, int]
    latencies: dict[str, float]
    """Seconds at some percentiles."""

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.num_answers / self.seconds

    @property
    def num_errors(self) -> int:
        """Answers other than 200."""
        return self.num_answers - self.statuses.get("200", 0)


def rankings(num_texts: int, count: int = BODIES) -> list[dict[str, Any]]:
    """Queries, each with its own draw of short texts; the same every time.

    >>> asked = rankings(20, 2)[0]
    >>> len(asked["texts"]), asked["query"] in asked["texts"]
    (20, False)
    """
    draw, texts = random.Random(1), sentences(1000)
    drawn = [draw.sample(texts, num_texts + 1) for _ in range(count)]
    return [{"query": query, "texts": rest} for query, *rest in drawn]


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it is answered.

    Args:
        run: Hands out requests and takes down answers.
    """

    def __init__(self, run: "LoadRun") -> None:
        self.run = run
        self.transport: asyncio.Transport
        self.received = bytearray()
        self.began = 0.0
        self.left = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected: ask."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the next request, or end."""
        request = self.run.next_request()
        if request is None:
            self.transport.close()
            return
        self.began = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Count until the answer is whole."""
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
            self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        """Ended, by us or by the server."""
        self.run.ended(error)


class LoadRun:
    """A load from its first request to its last answer.

    Args:
        requests: As bytes.
        clients: How many ask at once.
        seconds: After which nobody asks any more.
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
        """Bytes to send; None when time is up."""
        if time.perf_counter() >= self.stop:
            return None
        self.count += 1
        return self.requests[self.count % len(self.requests)]

    def note(self, status: bytes, seconds: float) -> None:
        """One answer came."""
        self.statuses[status.decode()] += 1
        self.times.append(seconds)

    def ended(self, error: Exception | None) -> None:
        """One client is done."""
        if error is not None or time.perf_counter() < self.stop:
            self.statuses["lost"] += 1
        self.open -= 1
        if not self.open:
            self.done.set()

    async def against(self, port: int) -> Load:
        """Load a server at this machine's own address."""
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        self.stop = began + self.seconds
        for _ in range(self.clients):
            await loop.create_connection(lambda: Client(self), "127.0.0.1", port)
        await self.done.wait()
        return self.summary(time.perf_counter() - began)

    def summary(self, seconds: float) -> Load:
        """All that was seen."""
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


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(load(**json.loads(sys.argv[1]))))))
