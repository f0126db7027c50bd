"""What signals mean to a server: stop at once or after lingering, and open everything anew."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM
from socket import socket
from types import FrameType

import uvicorn
from uvicorn.supervisors import Multiprocess

from softquery.errors import SoftqueryError
from softquery.serve.operation.readiness import Readiness, tell_workers_to_stop
from softquery.serve.telemetry import log


class LingeringServer(uvicorn.Server):
    """One process. On SIGTERM it says that it is not ready, serves on for a while, then drains.

    Whoever sends requests by what `/ready` says, or by a list that takes seconds to change, has
    stopped to send them here by then. A second signal ends the wait.

    Args:
        config: uvicorn's own.
        readiness: Told that the server is about to stop.
        linger: Seconds to serve on.
    """

    def __init__(self, config: uvicorn.Config, readiness: Readiness, *, linger: float) -> None:
        super().__init__(config)
        self._readiness, self._linger = readiness, linger

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Linger on the first SIGTERM; drain on any other signal."""
        if sig != SIGTERM or not self._linger or self._readiness.is_stopping:
            super().handle_exit(sig, frame)
            return
        self._readiness.begin_to_stop()
        _later(self._linger, lambda: super(LingeringServer, self).handle_exit(sig, frame))


class LingeringWorkers(Multiprocess):
    """Several processes. On SIGHUP each is replaced by a new one that has opened everything anew.

    Args:
        config: uvicorn's own.
        sockets: What all of them listen at.
        linger: Seconds to serve on after SIGTERM.
        check: Raises an error if what is to be served cannot be opened.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        sockets: list[socket],
        *,
        linger: float,
        check: Callable[[], object],
    ) -> None:
        super().__init__(config, sockets=sockets)
        self._linger, self._check, self._is_lingering = linger, check, False

    def handle_term(self) -> None:
        """Linger on the first SIGTERM; drain on the second."""
        if not self._linger or self._is_lingering:
            super().handle_term()
            return
        self._is_lingering = True
        tell_workers_to_stop()
        _later(self._linger, self.should_exit.set)

    def handle_hup(self) -> None:
        """Replace one worker after the other, unless what they would open is broken."""
        try:
            self._check()
        except (SoftqueryError, OSError) as error:
            event = "what was asked for cannot be opened; what was served is served on"
            log(logging.ERROR, event, {"reason": str(error)})
            return
        self.restart_all()
        log(logging.INFO, "reloaded", {"workers": len(self.processes)})


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn sends again after it has drained, so that we exit with 0."""
    before = {each: signal.signal(each, lambda *_: None) for each in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def reloaded_by_signal(reload: Callable[[], None]) -> Iterator[None]:
    """Call a function on SIGHUP, where the system has it."""
    if os.name == "nt":
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda *_: reload())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _later(seconds: float, act: Callable[[], object]) -> None:
    """Act after a while, unless the process has ended by then."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
