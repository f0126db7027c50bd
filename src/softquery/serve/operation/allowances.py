"""How much the holder of a key may ask: requests at a rate, and tokens of a quota.

A rate is a bucket of requests that fills steadily and holds as many as may come at once. A quota is
a number of computed tokens per hour or day, counted anew when the next one begins (UTC).
"""

import hashlib
import math
import os
import re
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike

from softquery.errors import ConfigError, InputError

PERIODS = {"s": 1, "min": 60, "hour": 3_600, "day": 86_400}
"""Seconds of what may stand after the stroke of `10/s`."""
_AMOUNT = re.compile(r"([1-9][0-9]{0,11})/(s|min|hour|day)")
_HEADER = b"softquery usage 1\n".ljust(64, b"\0")
_RECORD = struct.Struct("<32sddqq")
"""Whose, requests in the bucket, when that was, the present window, tokens used in it."""


@dataclass(frozen=True, slots=True)
class Amount:
    """So many of something per second, minute, hour or day.

    >>> Amount.read("300/min"), str(Amount(5, "s"))
    (Amount(number=300, period='min'), '5/s')
    """

    number: int
    period: str

    @classmethod
    def read(cls, text: str) -> "Amount":
        """What is written as `10/s`.

        Raises:
            ConfigError: It is written otherwise.
        """
        found = _AMOUNT.fullmatch(text)
        if not found:
            known = ", ".join(PERIODS)
            raise ConfigError(f"expected a number per period such as 10/s ({known}), got {text!r}")
        return cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"{self.number}/{self.period}"

    @property
    def seconds(self) -> int:
        """Seconds of the period."""
        return PERIODS[self.period]


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """What the holder of a key may ask; None for as much as the server gives to anybody."""

    rate: Amount | None = None
    """Requests."""
    quota: Amount | None = None
    """Tokens that are computed."""


@dataclass(slots=True)
class KeyUsage:
    """What the holder of a key has asked.

    >>> usage = KeyUsage(requests=1.0, seen=100.0)
    >>> usage.take_request(Amount(2, "s"), now=100.0), usage.take_request(Amount(2, "s"), now=100.0)
    (0.0, 0.5)
    >>> usage.take_request(Amount(2, "s"), now=100.5)
    0.0
    """

    requests: float = math.inf
    """Requests left in the bucket."""
    seen: float = 0.0
    """When that was so."""
    window: int = 0
    """The hour or day of the tokens, counted from 1970."""
    tokens: int = 0
    """Tokens used in it."""

    def take_request(self, rate: Amount, now: float) -> float:
        """Take a request out of the bucket; seconds until there is one if there is none."""
        filled = max(0.0, now - self.seen) * rate.number / rate.seconds
        self.requests, self.seen = min(float(rate.number), self.requests + filled), now
        if self.requests < 1:
            return (1 - self.requests) * rate.seconds / rate.number
        self.requests -= 1
        return 0.0

    def until_tokens(self, quota: Amount, now: float) -> float:
        """Seconds until tokens may be computed; 0 if they may now."""
        self._enter(quota, now)
        return (self.window + 1) * quota.seconds - now if self.tokens >= quota.number else 0.0

    def add_tokens(self, quota: Amount, tokens: int, now: float) -> None:
        """Count tokens that were computed."""
        self._enter(quota, now)
        self.tokens += tokens

    def _enter(self, quota: Amount, now: float) -> None:
        window = int(now // quota.seconds)
        if window != self.window:
            self.window, self.tokens = window, 0


class UsageBook:
    """The usage of every key: in memory, or in a file that processes share and that lasts.

    Args:
        path: The file, made if it is not there; None to keep usage in memory.

    Raises:
        InputError: The file cannot be used, or holds something else.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._kept: dict[str, KeyUsage] = {}
        self._places: dict[str, int] = {}
        self._file = None if path is None else self._opened(path)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def wait_for(self, name: str, allowance: Allowance) -> tuple[float, Amount | None]:
        """Take a request of a key's allowance.

        Returns:
            Seconds until it may be asked, and by which amount; 0 and None if it may be asked now.
        """
        if allowance.rate is None and allowance.quota is None:
            return 0.0, None
        now = time.time()
        with self._usage(name) as usage:
            if allowance.quota is not None:
                seconds = usage.until_tokens(allowance.quota, now)
                if seconds > 0:
                    return seconds, allowance.quota
            if allowance.rate is not None:
                seconds = usage.take_request(allowance.rate, now)
                if seconds > 0:
                    return seconds, allowance.rate
        return 0.0, None

    def add_tokens(self, name: str, allowance: Allowance, tokens: int) -> None:
        """Count tokens that were computed for the holder of a key."""
        if allowance.quota is not None and tokens:
            with self._usage(name) as usage:
                usage.add_tokens(allowance.quota, tokens, time.time())

    def _opened(self, path: str | PathLike[str]) -> int:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            raise InputError(f"cannot be used ({error.strerror})", source=path) from None
        with _locked(file):
            size = os.fstat(file).st_size
            if size == 0:
                os.pwrite(file, _HEADER, 0)
            elif os.pread(file, len(_HEADER), 0) != _HEADER or size % _RECORD.size:
                os.close(file)
                raise InputError("holds something else than the usage of keys", source=path)
        return file

    @contextmanager
    def _usage(self, name: str) -> Iterator[KeyUsage]:
        """The usage of a key, kept when the block ends."""
        with self._lock:
            if self._file is None:
                yield self._kept.setdefault(name, KeyUsage())
                return
            with _locked(self._file):
                whose = hashlib.sha256(name.encode()).digest()
                place = self._place(whose)
                record = os.pread(self._file, _RECORD.size, place)
                usage = KeyUsage(*_RECORD.unpack(record)[1:]) if record else KeyUsage()
                yield usage
                fields = (usage.requests, usage.seen, usage.window, usage.tokens)
                os.pwrite(self._file, _RECORD.pack(whose, *fields), place)

    def _place(self, whose: bytes) -> int:
        """Where a key's record is, or is to be: other processes may have added some."""
        assert self._file is not None
        if (key := whose.hex()) not in self._places:
            end = os.fstat(self._file).st_size
            for place in range(len(_HEADER), end, _RECORD.size):
                self._places[os.pread(self._file, 32, place).hex()] = place
            self._places.setdefault(key, end)
        return self._places[key]


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Keep other processes from a file; on Windows, which has no such locks, only threads wait."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):  # it was closed
            fcntl.flock(file, fcntl.LOCK_UN)
