"""What a server reports of itself: logs as lines of JSON, and metrics for Prometheus.

Logs hold nothing that users wrote unless that is asked for.
"""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import IO, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from softquery.terminal_text import escape_json

LOGGER = logging.getLogger("softquery.serve")
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which several processes keep their metrics."""
SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0
)  # fmt: skip
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object: time, level, event, and the fields it was given.

    Args:
        log_text: Whether messages of exceptions, which may quote users, are written.
    """

    def __init__(self, *, log_text: bool = False) -> None:
        super().__init__()
        self.log_text = log_text

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "time": f"{_utc(record.created)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["where"] = _frames(record.exc_info[1])
            if self.log_text:
                line["said"] = str(record.exc_info[1])
        return escape_json(json.dumps(line, ensure_ascii=False, default=str))


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _frames(error: BaseException) -> list[str]:
    """The stack frames of an error, innermost last, without any values."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]


def log(level: int, event: str, fields: Mapping[str, Any]) -> None:
    """Write one line."""
    LOGGER.log(level, event, extra={"fields": fields})


def set_up_logs(*, log_text: bool, stream: IO[str] | None = None) -> None:
    """Send all that this process logs to standard error, as JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(log_text=log_text))
    for name in ("softquery.serve", *_FOREIGN):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "softquery.serve" else logging.WARNING)


class Metrics:
    """The metrics of one process, or its share of the metrics of several.

    A stage is `read` (the body), `wait` (in the queue), `tokenise`, `compute` (one batch) or
    `answer` (from the last computed number to the last byte); for an index also `search read`,
    `search vectors`, `search words`, `search rerank`, `search explain` and `search total`.
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
        self.batch_items = Histogram(
            "softquery_batch_pieces", "Pairs or texts computed together.", ["model"],
            buckets=SIZES, registry=self.registry,
        )  # fmt: skip
        self.batch_tokens = Histogram(
            "softquery_batch_tokens", "Tokens computed together.", ["model"],
            buckets=SIZES, registry=self.registry,
        )  # fmt: skip
        self.in_progress = Gauge(
            "softquery_requests_inside", "Requests that are read, waiting or computed.",
            registry=self.registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.truncated = Counter(
            "softquery_texts_cut", "Texts longer than the model's limit.", ["model"],
            registry=self.registry,
        )  # fmt: skip

    def observe_stage(self, stage: str, model: str, seconds: float) -> None:
        """A stage of one request, or of one batch, has ended."""
        self.stages.labels(stage, model).observe(seconds)

    def observe_batch(self, model: str, num_items: int, num_tokens: int) -> None:
        """A batch was put together."""
        self.batch_items.labels(model).observe(num_items)
        self.batch_tokens.labels(model).observe(num_tokens)

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's own format; with several workers, those of all."""
        registry = self.registry
        if os.environ.get(SHARED_FOLDER):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        found: bytes = generate_latest(registry)
        return found

    def retire(self) -> None:
        """Remove this process, which is about to end, from the counts of requests in progress."""
        if os.environ.get(SHARED_FOLDER):
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
