"""Files of an index: each written once, recorded with size and checksum, and mapped into memory.

Touching the map of a file that is shorter than expected would crash the process, and so can a
damaged graph. So opening a segment checks every size, and every checksum except that of the
encodings: they are most of an index, and any byte of them is a valid number.
"""

import mmap
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
        size = (folder / name).stat().st_size
        if size != recorded.size:
            raise damaged(folder / name, f"has {size:,} bytes, expected {recorded.size:,}")
        if name not in by_size and checksum(folder / name) != recorded.crc:
            raise damaged(folder / name, "its checksum differs")


def damaged(path: Path, reason: str) -> InputError:
    """The error for a file whose content is not what was written."""
    return InputError(f"is damaged ({reason}); restore the index, or rebuild it", source=path)


def checksum(path: Path) -> int:
    """CRC-32 of a file's content."""
    crc = 0
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def mapped(path: Path, dtype: DTypeLike) -> Array:
    """A file's content as a flat, read-only array, read from disk when it is accessed.

    It is a plain numpy array, whose slices cost less than those of `numpy.memmap`.
    """
    with path.open("rb") as handle:
        if path.stat().st_size == 0:  # cannot be mapped
            return np.empty(0, dtype=dtype)
        content = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype=dtype)
