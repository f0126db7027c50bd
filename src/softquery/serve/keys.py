"""Bearer keys: hashed in a file, which is read again when it changes.

A line of the file is a name and the SHA-256 of a key, in hexadecimal, and may end in what its
holder is allowed: `rate=10/s quota=1000000/day`. `#` begins a comment. A key is 32 random bytes, so
that a plain hash cannot be reversed by guessing.
"""

import hashlib
import hmac
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from softquery.atomic import write_text
from softquery.errors import ConfigError, InputError
from softquery.serve.operation.allowances import Allowance, Amount

PREFIX = "sq-"
"""The beginning of every key, by which a leaked one is recognised."""
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


ALLOWED = ("rate", "quota")
"""What may stand behind a key, as `NAME=AMOUNT`."""
FREE = Allowance()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What a file of keys says of one."""

    digest: str
    allowance: Allowance = FREE

    def __str__(self) -> str:
        amounts = {"rate": self.allowance.rate, "quota": self.allowance.quota}
        given = [f"{name}={amount}" for name, amount in amounts.items() if amount is not None]
        return " ".join([self.digest, *given])


def digest(key: str) -> str:
    """The hash of a key, as the file holds it.

    >>> digest("sq-example")[:16]
    'd3601c0913be87a1'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: str | PathLike[str]) -> dict[str, StoredKey]:
    """The keys in a file, by the names of their holders.

    Raises:
        InputError: The file cannot be read, or a line is not a name and a digest.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not valid UTF-8"
        raise InputError(f"cannot be read ({reason})", source=path) from None
    found: dict[str, StoredKey] = {}
    for row, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) < 2 or not _NAME.fullmatch(parts[0]) or not _DIGEST.fullmatch(parts[1]):
            raise InputError("expected a name and the SHA-256 of a key", source=path, row=row)
        if parts[0] in found:
            raise InputError(f"a second key has the name {parts[0]!r}", source=path, row=row)
        try:
            found[parts[0]] = StoredKey(parts[1], _allowance(parts[2:]))
        except ConfigError as error:
            raise InputError(str(error), source=path, row=row) from None
    return found


def _allowance(words: Sequence[str]) -> Allowance:
    """What stands behind a key."""
    given: dict[str, Amount] = {}
    for word in words:
        name, _, text = word.partition("=")
        if name not in ALLOWED or name in given:
            known = " and ".join(f"{each}=AMOUNT" for each in ALLOWED)
            raise ConfigError(f"expected {known} after the SHA-256 of a key, got {word!r:.80}")
        given[name] = Amount.read(text)
    return Allowance(**given)


def add_key(path: str | PathLike[str], name: str, allowance: Allowance = FREE) -> str:
    """Make a key, add its hash to the file, and return the key, which is stored nowhere."""
    if not _NAME.fullmatch(name):
        raise InputError("a key's name may have up to 64 letters, digits and ._@-")
    found = read_keys(path) if os.path.exists(path) else {}
    if name in found:
        raise InputError(f"already holds a key called {name!r}", source=path)
    key = PREFIX + secrets.token_urlsafe(32)
    _write(path, {**found, name: StoredKey(digest(key), allowance)})
    return key


def limit_key(path: str | PathLike[str], name: str, allowance: Allowance) -> None:
    """Change what the holder of a key may ask; servers follow from the next request on."""
    found = read_keys(path)
    _check_held(path, found, name)
    _write(path, {**found, name: StoredKey(found[name].digest, allowance)})


def remove_key(path: str | PathLike[str], name: str) -> None:
    """Remove a key from the file; servers refuse it from their next request on."""
    found = read_keys(path)
    _check_held(path, found, name)
    _write(path, {each: value for each, value in found.items() if each != name})


def _check_held(path: str | PathLike[str], keys: Mapping[str, StoredKey], name: str) -> None:
    if name not in keys:
        raise InputError(f"holds no key called {name!r:.80}", source=path)


def _write(path: str | PathLike[str], keys: Mapping[str, StoredKey]) -> None:
    new = not os.path.exists(path)
    write_text(path, "".join(f"{name} {value}\n" for name, value in keys.items()))
    if new:
        os.chmod(path, 0o600)


class KeyRing:
    """The keys of a file, read again when it changes. Safe to use from many threads.

    Args:
        path: The file, which must be valid now. If it becomes invalid later, the keys that were
            read last stay valid, and `problem` says what is wrong.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self._keys = read_keys(path)

    def __len__(self) -> int:
        return len(self._keys)

    def holder(self, key: str | None) -> str | None:
        """The name of a key in the file; None if the file does not hold it.

        Every stored digest is compared in full whatever the key is, so that the time depends on the
        number of keys alone.
        """
        self._reload_if_changed()
        given = digest(key or "")
        found: str | None = None
        for name, stored in self._keys.items():
            if hmac.compare_digest(given, stored.digest):
                found = name
        return found if key else None

    def allowance(self, name: str) -> Allowance:
        """What the holder of a key may ask; anything if the key was withdrawn in the meantime."""
        stored = self._keys.get(name)
        return FREE if stored is None else stored.allowance

    def _reload_if_changed(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        with self._lock:
            self._seen = stamp
            try:
                self._keys, self.problem = read_keys(self.path), None
            except InputError as error:
                self.problem = str(error)

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


def bearer(header: str | None) -> str | None:
    """The key in an `Authorization` header.

    >>> bearer("Bearer sq-1"), bearer("Basic eA=="), bearer(None)
    ('sq-1', None, None)
    """
    scheme, _, key = (header or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
