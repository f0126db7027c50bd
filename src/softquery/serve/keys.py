"""Bearer keys: many, hashed in a file, read again when the file changes.

A line of the file is a name and the SHA-256 of a key, in hexadecimal; `#` begins a comment. A key
is 32 random bytes, so that a plain hash cannot be turned round by guessing.
"""

import hashlib
import hmac
import os
import re
import secrets
import threading
from os import PathLike
from pathlib import Path

from softquery.atomic import write_text
from softquery.errors import InputError

PREFIX = "sq-"
"""Before every key, so that a leaked one is recognised."""
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest(key: str) -> str:
    """What the file holds of a key.

    >>> digest("sq-example")[:16]
    'd3601c0913be87a1'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: str | PathLike[str]) -> dict[str, str]:
    """Names and digests of a file.

    Raises:
        InputError: It cannot be read, or a line is no name and digest.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is no UTF-8"
        raise InputError(f"cannot be read ({reason})", source=path) from None
    found: dict[str, str] = {}
    for row, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) != 2 or not _NAME.fullmatch(parts[0]) or not _DIGEST.fullmatch(parts[1]):
            raise InputError("expected a name and the SHA-256 of a key", source=path, row=row)
        if parts[0] in found:
            raise InputError(f"a second key is called {parts[0]!r}", source=path, row=row)
        found[parts[0]] = parts[1]
    return found


def add_key(path: str | PathLike[str], name: str) -> str:
    """Make a key, put its hash into the file, and give the key, which is stored nowhere."""
    if not _NAME.fullmatch(name):
        raise InputError("a key's name has up to 64 letters, digits and ._@-")
    found = read_keys(path) if os.path.exists(path) else {}
    if name in found:
        raise InputError(f"holds a key called {name!r} already", source=path)
    key = PREFIX + secrets.token_urlsafe(32)
    _write(path, {**found, name: digest(key)})
    return key


def remove_key(path: str | PathLike[str], name: str) -> None:
    """Take a key out of the file; servers stop taking it with their next request."""
    found = read_keys(path)
    if name not in found:
        raise InputError(f"holds no key called {name!r:.80}", source=path)
    _write(path, {each: value for each, value in found.items() if each != name})


def _write(path: str | PathLike[str], keys: dict[str, str]) -> None:
    new = not os.path.exists(path)
    write_text(path, "".join(f"{name} {value}\n" for name, value in keys.items()))
    if new:
        os.chmod(path, 0o600)


class KeyRing:
    """The keys of a file, followed as it changes. Safe from many threads.

    Args:
        path: The file, which must be sound now. Where it is broken later, the keys that were read
            last stay in force and `problem` says why.
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
        """The name under which a key stands in the file; None where it does not.

        Every stored digest is compared in full, whatever the key is: how long it takes depends on
        the number of keys alone.
        """
        self._follow()
        asked = digest(key or "")
        found: str | None = None
        for name, stored in self._keys.items():
            if hmac.compare_digest(asked, stored):
                found = name
        return found if key else None

    def _follow(self) -> None:
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
