"""Memory that large calls took and freed, given back to the system.

The C library keeps freed memory for later, which after one call with a large beam or a long text
may be hundreds of megabytes, for ever. glibc gives it back when it is asked to; that takes
milliseconds, so it is asked seldom, and only after calls that were large.
"""

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

LARGE = 1 << 20
"""Bytes that a graph is given in a large call."""
PAUSE = 1.0
"""Seconds between two times of giving back."""


class Heap:
    """Gives memory back some time after large calls. Safe from many threads.

    Args:
        trim: Gives back what is free.
        clock: Tells seconds.
    """

    def __init__(
        self, trim: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trim, self._clock = trim, clock
        self._owes, self._last = False, clock()
        self._lock = threading.Lock()

    def note(self, num_bytes: int) -> None:
        """Tell that a call is over that was given so many bytes."""
        if num_bytes >= LARGE:
            self._owes = True
        if not self._owes or self._clock() - self._last < PAUSE:
            return
        if self._lock.acquire(blocking=False):  # otherwise another thread is at it
            try:
                self._owes, self._last = num_bytes >= LARGE, self._clock()
                self._trim()
            finally:
                self._lock.release()


def _trimming() -> Callable[[], object]:
    """Glibc's `malloc_trim`; nothing is done where the C library is another one."""
    try:
        found: Any = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return lambda: None
    return lambda: found(0)


HEAP = Heap(_trimming())
"""The one of this process."""
