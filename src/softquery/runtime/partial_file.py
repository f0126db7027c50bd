"""Answers under way: `OUTPUT.partial`, and `OUTPUT.partial.json`, which says whose they are."""

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from softquery.atomic import write_atomically, write_json
from softquery.errors import InputError

SUFFIX = ".jsonl"


def check_output(output: Path, *, forms: Sequence[str] = (SUFFIX,), what: str = "answers") -> None:
    """Refuse, before any work, a place where no answers can go.

    Args:
        output: The place.
        forms: What its name may end in.
        what: Is written there.
    """
    if output.suffix not in forms:
        known = " or ".join(forms)
        raise InputError(f"{what} are written as {known}; name the output so", source=output)
    if os.path.lexists(output):
        raise InputError("already exists; name another --output, or remove it", source=output)
    if not output.parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=output)


class Partial:
    """Answers that are kept until there is one for each row; open in a `with`.

    Args:
        output: The name that the file takes when it is complete.
        identity: What the answers depend on; a file with another identity is refused.
        about: What that is, in words.
    """

    def __init__(
        self, output: Path, identity: Mapping[str, str], *, about: str = "model or backend"
    ) -> None:
        self.output = output
        self.path = Path(f"{output}.partial")
        self.note = Path(f"{output}.partial.json")
        self.identity = dict(identity)
        self.about = about

    def __enter__(self) -> "Partial":
        with self._told():
            self._file: IO[bytes] = os.fdopen(self._open(), "r+b")
        try:
            self._lock()
        except BaseException:
            self._file.close()
            raise
        try:
            self._identify()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A full disk was told of when it was written to; closing would tell it once more.
        with suppress(OSError):
            self._file.close()
        if error is not None:
            self._leave_nothing_empty()

    def _open(self) -> int:
        """Open the file so that nothing of it is lost, or make it; never what a link leads to."""
        if self.path.is_symlink():
            raise InputError("is a link; remove it to start over", source=self.path)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path, flags, 0o666)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError("is not a file", source=self.path)
        return descriptor

    def answered(self, size: int) -> Iterator[list[bytes]]:
        """The lines at hand, in whole chunks; what comes behind the last one is cut off."""
        while True:
            place = self._file.tell()
            lines = list(islice(self._file, size))
            if len(lines) < size or not lines[-1].endswith(b"\n"):
                break
            yield lines
        self._file.seek(place)
        self._file.truncate()

    @property
    def file(self) -> IO[bytes]:
        """What is at hand, open from its beginning, for forms that are not lines."""
        return self._file

    def cut_here(self) -> None:
        """Cut off what comes behind the place where the file stands."""
        with self._told():
            self._file.truncate(self._file.tell())

    def append(self, lines: bytes) -> None:
        """Add whole lines, or whatever the form is made of."""
        with self._told():
            self._file.write(lines)
            self._file.flush()

    def complete(self, *, leave_out: Callable[[bytes], bool] | None = None) -> None:
        """Give the file its name.

        Args:
            leave_out: Whether a line is none of the answers; where there are such, the rest is
                copied.
        """
        if leave_out is not None:
            self.complete_by(
                lambda file, target: target.writelines(line for line in file if not leave_out(line))
            )
            return
        with self._told():
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self.path, self.output)
        self.note.unlink(missing_ok=True)

    def complete_by(self, copy: Callable[[IO[bytes], IO[bytes]], None]) -> None:
        """Make the output of the file under way, which then goes.

        Args:
            copy: From the one, open at its beginning, to the other.
        """
        self._file.seek(0)
        with write_atomically(self.output, "wb") as handle:
            copy(self._file, handle)
        with self._told():
            self._file.close()
            self.path.unlink()
        self.note.unlink(missing_ok=True)

    def _identify(self) -> None:
        with self._told():
            is_new = os.fstat(self._file.fileno()).st_size == 0
        if is_new:
            write_json(self.note, self.identity)
        elif self._noted() != self.identity:
            raise InputError(
                f"was written with another {self.about}; remove it to start over",
                source=self.path,
            )

    def _leave_nothing_empty(self) -> None:
        with suppress(OSError):
            if self.path.stat().st_size == 0:
                self.path.unlink()
                self.note.unlink(missing_ok=True)

    def _noted(self) -> Any:
        try:
            return json.loads(self.note.read_bytes())
        except (OSError, ValueError):
            return None

    def _lock(self) -> None:
        """Two runs must not write one file; the lock goes with the process, however that ends."""
        try:
            import fcntl
        except ImportError:  # Windows, which has no such locks
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError("is being written by another run", source=self.path) from None
        except OSError:  # a file system without locks
            return

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"cannot be written ({reason})", source=self.path) from None
