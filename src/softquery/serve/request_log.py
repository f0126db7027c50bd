"""Logs as lines of JSON, without what users wrote unless that is asked for."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from typing import IO, Any

LOGGER = logging.getLogger("softquery.serve")
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


class JsonLines(logging.Formatter):
    """One object a record: time, level, event, and the fields that were handed over.

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
        return (
            json.dumps(line, ensure_ascii=False, default=str)
            .encode("utf-8", "backslashreplace")
            .decode("utf-8")
        )


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _frames(error: BaseException) -> list[str]:
    """Where it happened, innermost last, without any values."""
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
