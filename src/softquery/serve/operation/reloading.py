"""Models and indexes are opened anew while requests are answered: not one of them is dropped.

A generation is everything that answers requests: the opened models, their engine, the application
around them. The next generation is opened beside the present one and takes its place at once. The
requests that are in progress end where they began.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from softquery.errors import SoftqueryError
from softquery.serve.telemetry import log

if TYPE_CHECKING:
    from softquery.serve.admission import Scope, Send
    from softquery.serve.app import ServedGeneration
    from softquery.serve.body_reading import Receive

POLL_SECONDS = 0.05
"""Seconds between two looks at whether an old generation has answered its last request."""


class ReloadableApp:
    """An ASGI application whose models can be replaced.

    Args:
        first: The generation to begin with.
        open_next: Opens the next generation. Runs in a thread.
    """

    def __init__(
        self, first: "ServedGeneration", open_next: Callable[[], "ServedGeneration"]
    ) -> None:
        self.present = first
        self._open_next = open_next
        self._num_open = {id(first): 0}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reloading: asyncio.Task[None] | None = None
        self._is_asked = False

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Let the present generation answer."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        generation = self.present
        self._num_open[id(generation)] += 1
        try:
            await generation.admission(scope, receive, send)
        finally:
            self._num_open[id(generation)] -= 1

    def ask(self) -> None:
        """Reload soon; may be called by a signal's handler and from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin)

    async def reload(self) -> bool:
        """Open the next generation and let it answer from now on; whether that could be done."""
        began = time.perf_counter()
        try:
            following = await asyncio.to_thread(self._open_next)
        except (SoftqueryError, OSError) as error:
            event = "what was asked for cannot be opened; what was served is served on"
            log(logging.ERROR, event, {"reason": str(error)})
            return False
        self._num_open[id(following)] = 0
        old, self.present = self.present, following
        seconds = round(time.perf_counter() - began, 3)
        log(logging.INFO, "reloaded", {"serves": following.service.catalogue.names, "s": seconds})
        while self._num_open[id(old)]:
            await asyncio.sleep(POLL_SECONDS)
        del self._num_open[id(old)]
        await asyncio.to_thread(old.service.engine.close)
        return True

    def _begin(self) -> None:
        """Start to reload, or do so again when the present reload has ended."""
        if self._reloading is not None and not self._reloading.done():
            self._is_asked = True
            return
        self._is_asked = False
        self._reloading = asyncio.ensure_future(self._reload_once())
        self._reloading.add_done_callback(lambda _: self._begin() if self._is_asked else None)

    async def _reload_once(self) -> None:
        await self.reload()

    async def _live(self, receive: "Receive", send: "Send") -> None:
        """Tell the server that the first generation is open; close the last one at the end."""
        self._loop = asyncio.get_running_loop()
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
                continue
            await asyncio.to_thread(self.present.close)
            await send({"type": "lifespan.shutdown.complete"})
            return
