"""What a process keeps while models and indexes are opened anew."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from softquery.serve.operation.allowances import UsageBook
from softquery.serve.operation.readiness import Readiness
from softquery.serve.operation.tracing import Tracing
from softquery.serve.settings import Settings
from softquery.serve.telemetry import SHARED_FOLDER, Metrics


@dataclass(frozen=True, slots=True)
class ServerState:
    """Counts, and what is known about the process."""

    metrics: Metrics = field(default_factory=Metrics)
    readiness: Readiness = field(default_factory=Readiness)
    usage: UsageBook = field(default_factory=UsageBook)
    """How much of its allowance each key has used."""
    tracing: Tracing | None = None
    """Where the traces of requests go; None for nowhere."""

    def close(self) -> None:
        """Send what has not been sent, and leave the counts of requests in progress."""
        self.metrics.retire()
        self.usage.close()
        if self.tracing is not None:
            self.tracing.close()


def open_state(settings: Settings) -> ServerState:
    """The state of a process that begins to serve.

    Raises:
        SoftqueryError: The file of usage cannot be used, or tracing is not installed.
    """
    shared = os.environ.get(SHARED_FOLDER)
    file = settings.usage or (Path(shared, "usage") if shared else None)
    return ServerState(usage=UsageBook(file), tracing=Tracing() if settings.traces else None)
