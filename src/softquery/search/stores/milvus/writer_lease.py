"""Who may write an index in Milvus: one process at a time, as long as it lives."""

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softquery.errors import InputError
from softquery.search.stores.milvus.change_log import WRITER, ChangeLog

SECONDS = 60.0
"""How long others wait for a writer of another machine that says nothing any more."""


class WriterLease:
    """The right to write, which is kept in the log.

    Args:
        log: That of the index.
        address: What errors call the index.
    """

    def __init__(self, log: ChangeLog, address: str) -> None:
        self._log, self._address = log, address
        self._token = secrets.token_hex(8)
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Write; others are refused in the meantime.

        Raises:
            InputError: Somebody else writes.
        """
        if self._depth == 0:
            self.renew(is_first=True)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._log.remove([WRITER])

    def renew(self, *, is_first: bool = False) -> None:
        """Say that the writer lives; at first, see whether another one does."""
        if is_first and self.is_taken():
            raise InputError("is being written by another process", source=self._address)
        mine = {"token": self._token, "until": time.time() + SECONDS, **_here()}
        self._log.write(WRITER, mine)
        if is_first and self._log.read([WRITER]).get(WRITER, {}).get("token") != self._token:
            raise InputError("is being written by another process", source=self._address)

    def is_taken(self) -> bool:
        """Whether another process writes."""
        found = self._log.read([WRITER]).get(WRITER)
        if found is None or found.get("token") == self._token:
            return False
        here = _here()
        if found.get("host") == here["host"]:
            return bool(_started(int(found["process"])) == found["started"])
        return bool(found["until"] > time.time())


def _here() -> dict[str, Any]:
    process = os.getpid()
    return {"host": socket.gethostname(), "process": process, "started": _started(process)}


def _started(process: int) -> str | None:
    """When a process of this machine was started; None if there is none, or nothing tells."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
