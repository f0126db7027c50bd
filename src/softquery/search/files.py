"""Files of an index: each written once, remembered by size and checksum, and mapped into memory.

A map of a file that is shorter than it should be would end the process when it is touched, and a
graph that is damaged can do so too. So every size is checked when a segment is opened, and every
checksum but that of the encodings, which are most of an index and of which any byte is a number.
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
"""Bytes that are checked at a time."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """What a file must be."""

    size: int
    crc: int


class Stream:
    """A file under way; its size and checksum are known when it ends."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self.size = self.crc = 0

    def write(self, data: bytes | memoryview) -> None:
        """Add some bytes."""
        self._handle.write(data)
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)

    def write_array(self, array: Array) -> None:
        """Add the bytes of an array."""
        self.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


class FolderWriter:
    """Writes the files of one folder and remembers what they are.

    Args:
        folder: It exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts: dict[str, FileFact] = {}

    @contextmanager
    def stream(self, name: str) -> Iterator[Stream]:
        """A file that is written piece by piece."""
        with (self.folder / name).open("xb") as handle:
            stream = Stream(handle)
            yield stream
        self.facts[name] = FileFact(stream.size, stream.crc)

    def write(self, name: str, data: bytes) -> None:
        """A file in one piece."""
        with self.stream(name) as stream:
            stream.write(data)

    def write_array(self, name: str, array: Array) -> None:
        """An array's bytes, without a header."""
        with self.stream(name) as stream:
            stream.write_array(array)


def check_files(folder: Path, facts: Mapping[str, FileFact], *, by_size: Iterable[str]) -> None:
    """Compare files with what is known of them.

    Args:
        folder: Where they lie.
        facts: What is known.
        by_size: Files of which only the size is compared.

    Raises:
        InputError: One is damaged.
        FileNotFoundError: One is not there.
    """
    for name, fact in facts.items():
        size = (folder / name).stat().st_size
        if size != fact.size:
            raise damaged(folder / name, f"has {size:,} bytes, expected {fact.size:,}")
        if name not in by_size and checksum(folder / name) != fact.crc:
            raise damaged(folder / name, "its checksum differs")


def damaged(path: Path, reason: str) -> InputError:
    """What is said of a file that is not what was written."""
    return InputError(f"is damaged ({reason}); restore the index, or build it anew", source=path)


def checksum(path: Path) -> int:
    """CRC-32 of a file's content."""
    crc = 0
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def mapped(path: Path, dtype: DTypeLike) -> Array:
    """A file's content as a flat array that is read from the disk as it is touched.

    The array is one of numpy's plain ones, whose slices cost less than those of `numpy.memmap`.
    It cannot be written to.
    """
    with path.open("rb") as handle:
        if path.stat().st_size == 0:  # cannot be mapped
            return np.empty(0, dtype=dtype)
        content = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype=dtype)
