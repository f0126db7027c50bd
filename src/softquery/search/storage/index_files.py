"""Files of an index: each written once, recorded with size and checksum, and mapped into memory.

Touching the map of a file that is shorter than expected would crash the process. So opening a
segment checks every size, and every checksum except that of the encodings, which are most of an
index. A checksum says that a file is what was written, not who wrote it: whoever reads a file also
checks that its numbers fit together.
"""

import errno
import json
import mmap
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from softquery.errors import InputError

Array = NDArray[Any]
BLOCK = 1 << 22
"""Bytes that are read at a time to compute a checksum."""
LARGEST_JSON = 1 << 28
"""The most bytes of a JSON file of an index: some twenty million words, or a forgery."""
_PLAIN = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that nobody writes to would block
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """The size and the CRC-32 that a file must have."""

    size: int
    crc: int


class ChecksumStream:
    """A file being written, which counts its size and checksum as it grows."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self.size = self.crc = 0

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        self._handle.write(data)
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)

    def write_array(self, array: Array) -> None:
        """Append the bytes of an array."""
        self.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


class FolderWriter:
    """Writes the files of one folder and records their sizes and checksums.

    Args:
        folder: An existing folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checksums: dict[str, FileChecksum] = {}

    @contextmanager
    def stream(self, name: str) -> Iterator[ChecksumStream]:
        """Open a file to be written in several parts."""
        with (self.folder / name).open("xb") as handle:
            stream = ChecksumStream(handle)
            yield stream
        self.checksums[name] = FileChecksum(stream.size, stream.crc)

    def write(self, name: str, data: bytes) -> None:
        """Write a file at once."""
        with self.stream(name) as stream:
            stream.write(data)

    def write_array(self, name: str, array: Array) -> None:
        """Write the bytes of an array, without a header."""
        with self.stream(name) as stream:
            stream.write_array(array)


def check_files(
    folder: Path, expected: Mapping[str, FileChecksum], *, by_size: Iterable[str]
) -> None:
    """Compare files with the sizes and checksums recorded when they were written.

    Args:
        folder: Holds the files.
        expected: What was recorded, by file name.
        by_size: Files of which only the size is compared.

    Raises:
        InputError: A file is damaged.
        FileNotFoundError: A file is missing.
    """
    for name, recorded in expected.items():
        with open_plain(folder / name) as handle:
            size = os.fstat(handle.fileno()).st_size
            if size != recorded.size:
                raise damaged(folder / name, f"has {size:,} bytes, expected {recorded.size:,}")
            _check_json_size(folder / name, size)
            if name not in by_size and _checksum(handle) != recorded.crc:
                raise damaged(folder / name, "its checksum differs")


def damaged(path: Path, reason: str) -> InputError:
    """The error for a file whose content is not what was written."""
    return InputError(f"is damaged ({reason}); restore the index, or build it again", source=path)


def is_link(path: Path) -> InputError:
    """The error for a link inside an index, which might lead to somebody's files."""
    return InputError("is a link; an index holds plain files and folders alone", source=path)


def open_plain(path: Path) -> IO[bytes]:
    """Open a file of an index for reading: a plain file, neither a link nor a pipe nor a device.

    Raises:
        InputError: It is something else, or cannot be read.
        FileNotFoundError: There is no such file.
        NotADirectoryError: What should be its folder is a file.
    """
    try:
        descriptor = os.open(path, _PLAIN)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise is_link(path) from None
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError("is not a file", source=path)
    return os.fdopen(descriptor, "rb")


def read_json(path: Path) -> Any:
    """The content of a JSON file of an index.

    Raises:
        InputError: It cannot be read, or is larger than any such file.
        ValueError: It is not JSON.
    """
    with open_plain(path) as handle:
        _check_json_size(path, os.fstat(handle.fileno()).st_size)
        content = handle.read(LARGEST_JSON)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _check_json_size(path: Path, size: int) -> None:
    if path.suffix == ".json" and size > LARGEST_JSON:
        raise damaged(path, f"has {size:,} bytes, expected at most {LARGEST_JSON:,}")


def checksum(path: Path) -> int:
    """CRC-32 of a file's content."""
    with open_plain(path) as handle:
        return _checksum(handle)


def _checksum(handle: IO[bytes]) -> int:
    crc = 0
    while block := handle.read(BLOCK):
        crc = zlib.crc32(block, crc)
    return crc


def mapped(path: Path, dtype: DTypeLike) -> Array:
    """A file's content as a flat, read-only array, read from disk when it is accessed.

    It is a plain numpy array, whose slices cost less than those of `numpy.memmap`.
    """
    with open_plain(path) as handle:
        size, width = os.fstat(handle.fileno()).st_size, np.dtype(dtype).itemsize
        if size % width:
            raise damaged(path, f"has {size:,} bytes, expected a multiple of {width}")
        if size == 0:  # cannot be mapped
            return np.empty(0, dtype=dtype)
        content = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype=dtype)


def check_count(path: Path, found: int, expected: int, noun: str) -> None:
    """Refuse a file that holds another number of things than its segment needs."""
    if found != expected:
        raise damaged(path, f"holds {found:,} {noun}, expected {expected:,}")


def bounds(path: Path, ends: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Where the parts of a file begin and end, from the ends that another file stores.

    Args:
        path: The file that stores them, for the error.
        ends: The end of every part.
        total: The end of the last part.
    """
    found = np.concatenate([np.zeros(1, dtype=np.int64), ends])
    if int(found[-1]) != total or bool((found[1:] < found[:-1]).any()):
        raise damaged(path, f"its ends do not rise from 0 to {total:,}")
    return found


def check_finite(path: Path, numbers: NDArray[np.floating[Any]]) -> None:
    """Refuse numbers of which one is infinite, or not a number."""
    flat = numbers.reshape(-1)
    for start in range(0, len(flat), BLOCK):
        if not bool(np.isfinite(flat[start : start + BLOCK]).all()):
            raise damaged(path, "holds what is not a number")
