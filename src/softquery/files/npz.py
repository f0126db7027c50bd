"""An .npz that grows array by array in constant memory, and that can be resumed.

An .npz is a ZIP archive of .npy files. numpy writes one from arrays that are all in memory, and
Python's ZIP writer keeps a record of every entry. Here the directory of the archive is kept in
a temporary file until the end. The header of each entry holds a mark of 8 bytes (in a private extra
field, which readers skip), by which a resumed writer recognises what the array was made of.
"""

import io
import struct
import zlib
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MARK_SIZE = 8
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_END_64, _LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"
_HEADER = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_PRIVATE = struct.pack("<2H", 0x5153, MARK_SIZE)
_VERSION, _STORED, _DAY = 45, 0, 0x21  # ZIP64; no compression; 1 January 1980
_FULL_2, _FULL_4 = 0xFFFF, 0xFFFFFFFF
BLOCK = 1 << 20


class NpzEntries:
    """The arrays of one archive, named arr_0, arr_1 and so on, as numpy names them.

    Args:
        write: Appends bytes to the archive.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._directory = TemporaryFile()  # noqa: SIM115  (`close` closes it)
        self.count = 0
        self.size = 0
        """The bytes of all entries."""

    def append(self, array: NDArray[Any], mark: bytes) -> None:
        """Add one array."""
        content = io.BytesIO()
        np.lib.format.write_array(content, array, allow_pickle=False)
        data = content.getvalue()
        self._write(self._header(zlib.crc32(data), len(data), mark) + data)
        self._note(zlib.crc32(data), len(data))

    def find(self, archive: IO[bytes], count: int) -> list[bytes] | None:
        """The marks of the next entries of an unfinished archive, which then count as written.

        Args:
            archive: The archive, positioned after the entries so far.
            count: How many entries.

        Returns:
            None if there are fewer complete entries; the position is then unchanged.
        """
        start = archive.tell()
        found = []
        for place in range(self.count, self.count + count):
            entry = _read_entry(archive, _name(place))
            if entry is None:
                archive.seek(start)
                return None
            found.append(entry)
        for _, checksum, size in found:
            self._note(checksum, size)
        return [mark for mark, _, _ in found]

    def finish(self) -> None:
        """Write the directory, after which the archive is complete."""
        length = self._directory.tell()
        self._directory.seek(0)
        while block := self._directory.read(BLOCK):
            self._write(block)
        if self.count >= _FULL_2 or self.size + length >= _FULL_4:
            end_64 = struct.pack(
                "<4sQ2H2L4Q", _END_64, 44, _VERSION, _VERSION, 0, 0,
                self.count, self.count, length, self.size,
            )  # fmt: skip
            self._write(end_64 + struct.pack("<4sLQL", _LOCATOR_64, 0, self.size + length, 1))
        few, short = min(self.count, _FULL_2), min(length, _FULL_4)
        place = min(self.size, _FULL_4)
        self._write(struct.pack("<4s4H2LH", _END, 0, 0, few, few, short, place, 0))

    def close(self) -> None:
        """Give the directory's file back."""
        self._directory.close()

    def _header(self, checksum: int, size: int, mark: bytes) -> bytes:
        name, extra = _name(self.count), _PRIVATE + mark
        fields = (_VERSION, 0, _STORED, 0, _DAY, checksum, size, size, len(name), len(extra))
        return _HEADER.pack(_LOCAL, *fields) + name + extra

    def _note(self, checksum: int, size: int) -> None:
        """Add the entry that was just written to the directory."""
        name = _name(self.count)
        extra = struct.pack("<2HQ", 1, 8, self.size)  # ZIP64: where the entry begins
        self._directory.write(
            _ENTRY.pack(
                _CENTRAL, _VERSION, _VERSION, 0, _STORED, 0, _DAY, checksum, size, size,
                len(name), len(extra), 0, 0, 0, 0, _FULL_4,
            )
            + name + extra
        )  # fmt: skip
        self.size += _HEADER.size + len(name) + len(_PRIVATE) + MARK_SIZE + size
        self.count += 1


def _name(place: int) -> bytes:
    return b"arr_%d.npy" % place


def _read_entry(archive: IO[bytes], name: bytes) -> tuple[bytes, int, int] | None:
    """Mark, checksum and size of the entry that begins here, if complete and of this name."""
    head = archive.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(_LOCAL):
        return None
    *_, checksum, size, _, name_size, extra_size = _HEADER.unpack(head)
    found, extra, data = archive.read(name_size), archive.read(extra_size), archive.read(size)
    if found != name or extra[:-MARK_SIZE] != _PRIVATE:
        return None
    if len(data) < size or zlib.crc32(data) != checksum:
        return None
    return extra[-MARK_SIZE:], checksum, size
