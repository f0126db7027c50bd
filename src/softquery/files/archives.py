"""Bytes from any file, plain or compressed, and texts from folders and tar archives."""

import bz2
import errno
import gzip
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from os import PathLike, fspath
from pathlib import Path
from typing import IO, cast

from softquery.errors import InputError

BLOCK_SIZE = 1 << 18
"""Bytes per read; streaming keeps one block in memory."""

_REASONS = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "is a folder, expected a file",
    errno.EACCES: "may not be read (no permission)",
    errno.EPERM: "may not be read (no permission)",
    errno.ENOTDIR: "no such file (a part of its path is a file, not a folder)",
    errno.ENAMETOOLONG: "no such file (the name is too long)",
}


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression: its name, its first bytes, and how to open it."""

    name: str
    magic: bytes
    open: Callable[[IO[bytes]], IO[bytes]]


COMPRESSIONS = {
    ".gz": Compression(
        "gzip", b"\x1f\x8b", lambda raw: cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    ),
    ".xz": Compression("xz", b"\xfd7zXZ\x00", lambda raw: lzma.LZMAFile(raw)),  # noqa: SIM115
    ".bz2": Compression("bzip2", b"BZh", lambda raw: bz2.BZ2File(raw)),
}
"""Compressions by the ending of a file name."""


def split_suffix(path: str | PathLike[str]) -> tuple[str, str]:
    """The endings for the format and for the compression, in lower case.

    >>> split_suffix("data/train.TSV.xz"), split_suffix("notes.txt")
    (('.tsv', '.xz'), ('.txt', ''))
    """
    stem, last = os.path.splitext(os.path.basename(fspath(path)).lower())
    if last in COMPRESSIONS:
        return os.path.splitext(stem)[1], last
    return last, ""


@contextmanager
def open_bytes(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for `read_block`, decompressing by its ending (.gz, .xz, .bz2)."""
    with _open_raw(path) as raw:
        compression = COMPRESSIONS.get(split_suffix(path)[1])
        if compression is None:
            yield raw
            return
        start = raw.peek(len(compression.magic))[: len(compression.magic)]
        if start and not compression.magic.startswith(start):
            raise InputError(
                f"does not hold {compression.name} data, although its name says so", source=path
            )
        with compression.open(raw) as stream:
            yield stream


def read_block(stream: IO[bytes], *, source: str | PathLike[str], row: int | None) -> bytes:
    """The next bytes of a stream; empty at its end.

    `read1` returns what was decompressed before a fault, so that the rows before it are read.

    Args:
        stream: A stream of `open_bytes`.
        source: The file, for the error.
        row: The current row, for the error.
    """
    try:
        return stream.read1(BLOCK_SIZE)  # type: ignore[attr-defined, no-any-return]
    except EOFError as error:
        message = "the compressed file breaks off here (truncated); fetch or compress it again"
        raise InputError(message, source=source, row=row) from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        message = f"the compressed data is damaged ({error})"
        raise InputError(message, source=source, row=row) from error
    except OSError as error:
        # bz2 reports damage as an OSError without errno.
        what = "cannot be read" if error.errno else "the compressed data is damaged"
        raise InputError(f"{what} ({error.strerror or error})", source=source, row=row) from error


def check_readable(path: str | PathLike[str]) -> None:
    """Refuse a path that is missing, a folder, or not readable, before any work."""
    _open_raw(path).close()


def _open_raw(path: str | PathLike[str]) -> BufferedReader:
    try:
        return open(path, "rb")  # noqa: SIM115  (the caller closes it)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be read ({error.strerror})")
        raise InputError(reason, source=path) from error
    except ValueError as error:  # a NUL byte inside the path
        raise InputError("no such file (the name holds a NUL byte)", source=path) from error


ARCHIVE = re.compile(r"\.(tar(\.(gz|xz|bz2))?|tgz)$", re.IGNORECASE)


def is_archive(path: str | PathLike[str]) -> bool:
    """Whether a file name is that of a tar archive, compressed or not.

    >>> is_archive("semcor3.0.tar.xz"), is_archive("semcor.zip")
    (True, False)
    """
    return ARCHIVE.search(fspath(path)) is not None


def read_members(path: str | PathLike[str], pattern: str) -> Iterator[tuple[str, str]]:
    """The UTF-8 texts of a folder or a tar archive, in the order of their names.

    Nothing is extracted to the disk.

    Args:
        path: A folder, or a .tar, .tar.gz, .tar.xz or .tar.bz2.
        pattern: A regular expression that the end of a file's name must match.

    Yields:
        The name within the folder or the archive, and the text.
    """
    wanted = re.compile(rf"(?:^|/)(?:{pattern})$")
    if Path(path).is_dir():
        yield from _of_folder(Path(path), wanted)
    else:
        check_readable(path)
        yield from _of_archive(path, wanted)


def _of_folder(folder: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    names = (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    for name in sorted(names):
        if wanted.search(name):
            check_readable(folder / name)
            yield name, _decoded((folder / name).read_bytes(), source=folder / name)


def _of_archive(path: str | PathLike[str], wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    found: dict[str, bytes] = {}
    try:
        # Opened as a stream: random access to an .xz decompresses from the beginning each time.
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if member.isfile() and wanted.search(member.name):
                    content = archive.extractfile(member)
                    found[member.name] = b"" if content is None else content.read()
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise InputError(f"not a readable tar archive ({error})", source=path) from error
    for name in sorted(found):
        yield name, _decoded(found[name], source=f"{fspath(path)}/{name}")


def _decoded(content: bytes, *, source: str | PathLike[str]) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        message = f"not valid UTF-8 (byte 0x{content[error.start]:02x})"
        raise InputError(message, source=source, row=row) from error
