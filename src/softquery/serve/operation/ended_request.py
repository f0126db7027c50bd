"""What is written down of a request that has ended: its log lines, and its trace."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from softquery.serve.operation.tracing import RequestTrace
from softquery.serve.telemetry import log

TIMES = ("deadline", "body_read", "submitted", "computed", "stages", "bytes")
"""What is known of a request but not part of its common log line."""
TRACED = ("model", "tokens", "key", "cut")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedRequest:
    """A request that was answered, refused, or left by its client."""

    id: str
    method: str
    path: str
    """As the log may show it."""
    route: str
    status: int
    began: float
    ended: float
    known: Mapping[str, Any]
    """What the dialects and the engine have told of it."""

    @property
    def seconds(self) -> float:
        """From its head to its last byte."""
        return self.ended - self.began

    def log(self, *, slow: float | None) -> None:
        """Write its line, and another if it took long.

        Args:
            slow: Seconds from which it did; None if that is not asked.
        """
        level = logging.INFO if self.status < 500 else logging.ERROR
        facts = {name: value for name, value in self.known.items() if name not in TIMES}
        common = {
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "seconds": round(self.seconds, 6),
        }
        log(level, "request", {**common, **facts})
        if slow is not None and self.seconds >= slow:
            facts.pop("body", None)  # this line holds no text, whatever others may hold
            sizes = {"bytes": self.known.get("bytes", 0)}
            log(logging.WARNING, "slow request", {**common, **facts, **sizes, **self.took()})

    def took(self) -> dict[str, dict[str, float]]:
        """Seconds of its parts; the engine's are `wait`, `tokenise`, `compute` and other turns."""
        parts = {name: end - begin for name, (begin, end) in self.parts().items()}
        stages = dict(self.known.get("stages", {}))
        if "compute" in parts:
            stages["others"] = max(0.0, parts.pop("compute") - sum(stages.values()))
        found = {**parts, **stages}
        return {"took": {name: round(seconds, 6) for name, seconds in found.items()}}

    def parts(self) -> dict[str, tuple[float, float]]:
        """When its parts began and ended, as far as it came."""
        known, found = self.known, {}
        if "body_read" in known:
            found["read"] = (self.began, known["body_read"])
        if "computed" in known:
            found["compute"] = (known["submitted"], known["computed"])
            found["answer"] = (known["computed"], self.ended)
        return found

    def trace(self, headers: Mapping[str, str]) -> RequestTrace:
        """The request as a trace.

        Args:
            headers: Those by which its client goes on with a trace.
        """
        return RequestTrace(
            headers=headers,
            method=self.method,
            route=self.route,
            status=self.status,
            began=self.began,
            ended=self.ended,
            attributes={
                "softquery.id": self.id,
                **{f"softquery.{each}": self.known[each] for each in TRACED if each in self.known},
            },
            parts=self.parts(),
            stages=self.known.get("stages", {}),
        )
