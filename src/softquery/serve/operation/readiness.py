"""Whether new requests should be sent to this server, which is what `/ready` answers.

`/health` asks something else: whether the process works at all. One that is not ready is left
alone; one that is not healthy is restarted.
"""

import os
from pathlib import Path

from softquery.serve.engine import Engine
from softquery.serve.telemetry import SHARED_FOLDER

STOPPING = "stopping"
"""A file of the folder that several workers share, which says that all of them are to stop."""


class Readiness:
    """What is known about the whole process: whether it is about to stop.

    >>> readiness = Readiness()
    >>> readiness.begin_to_stop()
    >>> readiness.is_stopping
    True
    """

    def __init__(self) -> None:
        self._is_stopping = False

    def begin_to_stop(self) -> None:
        """Say that no more requests should be sent; those that come are answered still."""
        self._is_stopping = True

    @property
    def is_stopping(self) -> bool:
        """Whether this process, or the one that started it, was told to stop."""
        return self._is_stopping or any(place.exists() for place in _shared())

    def problem(self, engine: Engine) -> str | None:
        """Why requests should go elsewhere; None if they should come."""
        if self.is_stopping:
            return "the server is about to stop"
        if not engine.is_alive:
            return "a thread that computes has ended"
        if engine.is_full:
            return "the queue is full"
        return None


def tell_workers_to_stop() -> None:
    """Let the workers of this process say that no more requests should be sent."""
    for place in _shared():
        place.touch()


def _shared() -> list[Path]:
    folder = os.environ.get(SHARED_FOLDER)
    return [Path(folder, STOPPING)] if folder else []
