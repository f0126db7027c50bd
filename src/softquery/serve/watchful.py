"""A connection that waits neither for ever nor for any amount of headers.

uvicorn bounds what comes after the headers; what comes before them it would wait for without end.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    Parent: Any = object
else:
    Parent = AutoHTTPProtocol

PATIENCE = 10.0
"""Seconds between two looks; who sent no whole head from one to the next is cut off."""
LARGEST_HEAD = 65_536
"""Bytes."""


class WatchfulProtocol(Parent):  # type: ignore[misc]
    """uvicorn's own protocol with a bound on time and size of a request's head."""

    patience = PATIENCE

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Connected: begin to look."""
        super().connection_made(transport)
        self._head_size = 0
        self._was_waiting = False
        self._next_look = self.loop.call_later(self.patience, self._look)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head grows and grows."""
        super().data_received(data)
        self._head_size = self._head_size + len(data) if self._is_waiting() else 0
        if self._head_size > LARGEST_HEAD:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Gone: look no more."""
        self._next_look.cancel()
        super().connection_lost(error)

    def _is_waiting(self) -> bool:
        """Whether neither a request is being answered nor the connection rests between two."""
        idle = self.cycle is None or self.cycle.response_complete
        return bool(idle and self.timeout_keep_alive_task is None)

    def _look(self) -> None:
        is_waiting = self._is_waiting()
        if is_waiting and self._was_waiting:
            self.transport.close()
            return
        self._was_waiting = is_waiting
        self._next_look = self.loop.call_later(self.patience, self._look)
