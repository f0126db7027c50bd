"""What Prometheus reads: counters, and how long each stage took."""

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Where several processes keep their numbers; the library reads it when it is imported."""
SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0
)  # fmt: skip
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


class Metrics:
    """The numbers of one process, or its share of the numbers of several.

    A stage is `read` (the body), `wait` (in the queue), `tokenise`, `compute` (one batch) or
    `answer` (from the last computed number to the last byte).
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "softquery_requests", "Answers, by address and status.", ["route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "softquery_request_seconds", "From the first byte to the last.", ["route"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.stages = Histogram(
            "softquery_stage_seconds", "By stage and model.", ["stage", "model"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.batch_pieces = Histogram(
            "softquery_batch_pieces", "Pairs or texts computed together.", ["model"],
            buckets=SIZES, registry=self.registry,
        )  # fmt: skip
        self.batch_tokens = Histogram(
            "softquery_batch_tokens", "Tokens computed together.", ["model"],
            buckets=SIZES, registry=self.registry,
        )  # fmt: skip
        self.inside = Gauge(
            "softquery_requests_inside", "Requests that are read, waiting or computed.",
            registry=self.registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.cut = Counter(
            "softquery_texts_cut", "Texts longer than the model's limit.", ["model"],
            registry=self.registry,
        )  # fmt: skip

    def stage(self, stage: str, lane: str, seconds: float) -> None:
        """A stage is over."""
        self.stages.labels(stage, lane).observe(seconds)

    def batch(self, lane: str, pieces: int, tokens: int) -> None:
        """A batch was put together."""
        self.batch_pieces.labels(lane).observe(pieces)
        self.batch_tokens.labels(lane).observe(tokens)

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All numbers in Prometheus's own format; with several workers, those of all."""
        registry = self.registry
        if os.environ.get(FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        found: bytes = generate_latest(registry)
        return found

    def leave(self) -> None:
        """This process ends: what it has inside counts no more."""
        if os.environ.get(FOLDER):
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
