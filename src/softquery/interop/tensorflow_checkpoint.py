"""Tensors of a TensorFlow checkpoint, read without TensorFlow. Needs no torch, and never unpickles.

A checkpoint is `NAME.index` and one or more files `NAME.data-00000-of-00001` with the bytes of all
tensors. The index is a sorted table as LevelDB writes it (blocks of keys that share prefixes, and a
block that says where they are), from each tensor's name to a `BundleEntryProto` message: its type,
its shape, where its bytes are, and their CRC-32C.
"""

import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from softquery.errors import InputError
from softquery.interop.crc32c import crc32c
from softquery.interop.protobuf import BrokenMessageError, Value, fields, varint

MAGIC: Final = 0xDB4775248B80FB57
FOOTER, TRAILER = 48, 5
"""Bytes of the table's end, and behind every block: how it is packed, and its CRC-32C."""
LARGEST_INDEX: Final = 1 << 26
TYPES: Final = {1: "<f4", 2: "<f8", 19: "<f2"}
"""By the numbers that TensorFlow gives to types of floating-point numbers."""
_MASK, _WORD = 0xA282EAD8, 0xFFFFFFFF


class Entry(NamedTuple):
    """Where a tensor is, and what it is."""

    type_number: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    num_bytes: int
    checksum: int
    is_sliced: bool


def read_checkpoint(index: Path, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Tensors of a checkpoint by their names, each held against its checksum.

    Args:
        index: The file `NAME.index`; the data lies beside it.
        wanted: Which names to read; others, such as an optimiser's, stay on the disk.

    Raises:
        InputError: A file is missing, cut short or damaged, or a tensor has another type than
            floating-point numbers.
    """
    entries = read_index(index)
    num_shards = _num_shards(entries.pop("", b""), index)
    found = {}
    for name, message in entries.items():
        if wanted(name):
            entry = _entry(name, message, index)
            found[name] = _tensor(name, entry, _shard(index, entry.shard, num_shards))
    return found


def read_index(path: Path) -> dict[str, bytes]:
    """The message of every tensor by its name; that of the whole checkpoint has an empty one."""
    try:
        if path.stat().st_size > LARGEST_INDEX:
            raise InputError("too large for the index of a checkpoint", source=path)
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    if len(data) < FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise InputError("cut short, or not the index of a TensorFlow checkpoint", source=path)
    try:
        return {key.decode(): value for key, value in _rows(data)}
    except (BrokenMessageError, UnicodeDecodeError, struct.error):
        raise InputError("the index of the checkpoint is damaged", source=path) from None


def _rows(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a table, by the block that says where the others are."""
    footer = data[-FOOTER:]
    _, place = _handle(footer, 0)  # of a block of settings, which is empty
    block, _ = _handle(footer, place)
    for _, value in _block(data, *block):
        yield from _block(data, *_handle(value, 0)[0])


def _handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    """Offset and size of a block, and the place behind them."""
    offset, place = varint(data, place)
    size, place = varint(data, place)
    return (offset, size), place


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key says how much of the one before it it begins with."""
    end = offset + size
    if size < 4 or end + TRAILER > len(data) - FOOTER:
        raise BrokenMessageError
    packing, checksum = struct.unpack_from("<BI", data, end)
    if packing != 0 or _masked(crc32c(data[offset : end + 1])) != checksum:
        raise BrokenMessageError
    (num_restarts,) = struct.unpack_from("<I", data, end - 4)
    limit, key, place = end - 4 - 4 * num_restarts, b"", offset
    while place < limit:
        shared, place = varint(data, place)
        own, place = varint(data, place)
        length, place = varint(data, place)
        if shared > len(key) or place + own + length > limit:
            raise BrokenMessageError
        key = key[:shared] + data[place : place + own]
        place += own + length
        yield key, data[place - length : place]


def _num_shards(message: bytes, path: Path) -> int:
    try:
        header = dict(fields(message))
    except BrokenMessageError:
        header = {}
    count = header.get(1)
    if not isinstance(count, int) or not 1 <= count < 100_000:
        raise InputError("the index does not say how many files of data there are", source=path)
    if header.get(2, 0) != 0:
        raise InputError("big-endian checkpoints are not supported", source=path)
    return count


def _entry(name: str, message: bytes, path: Path) -> Entry:
    try:
        values: dict[int, Any] = {}
        shape: tuple[int, ...] = ()
        for number, value in fields(message):
            values[number] = value
            if number == 2:
                shape = tuple(_dimensions(value))
        checksum = int.from_bytes(values.get(6, b""), "little")
        plain = [values.get(number, 0) for number in (1, 3, 4, 5)]
        if not all(isinstance(value, int) for value in plain):
            raise BrokenMessageError
        kind, shard, offset, num_bytes = plain
        return Entry(kind, shape, shard, offset, num_bytes, checksum, 7 in values)
    except (BrokenMessageError, TypeError):
        raise InputError(f"what it says of {name} is damaged", source=path) from None


def _dimensions(message: Value) -> Iterator[int]:
    for number, value in fields(message):
        if number == 2:
            size = dict(fields(value)).get(1, 0)
            if not isinstance(size, int):
                raise BrokenMessageError
            yield size


def _shard(index: Path, number: int, count: int) -> Path:
    return index.with_suffix(f".data-{number:05}-of-{count:05}")


def _tensor(name: str, entry: Entry, path: Path) -> Any:
    """A tensor from the file that holds its bytes."""
    if entry.type_number not in TYPES or entry.is_sliced:
        what = "is stored in slices" if entry.is_sliced else "holds no floating-point numbers"
        raise InputError(f"the tensor {name} {what}, which is not supported", source=path)
    kind = np.dtype(TYPES[entry.type_number])
    if math.prod(entry.shape) * kind.itemsize != entry.num_bytes:
        raise InputError(
            f"the tensor {name} has {entry.num_bytes} bytes, which do not fit the shape "
            f"{entry.shape}",
            source=path,
        )
    data = _bytes(path, entry)
    if len(data) != entry.num_bytes:
        raise InputError(f"cut short: it ends before the tensor {name} does", source=path)
    if _masked(crc32c(data)) != entry.checksum:
        raise InputError(f"damaged: the tensor {name} does not fit its checksum", source=path)
    return np.frombuffer(data, dtype=kind).reshape(entry.shape)


def _bytes(path: Path, entry: Entry) -> bytes:
    """The bytes of a tensor, or fewer where the file ends."""
    try:
        if entry.offset + entry.num_bytes > path.stat().st_size:
            return b""
        with path.open("rb") as stream:
            stream.seek(entry.offset)
            return stream.read(entry.num_bytes)
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None


def _masked(checksum: int) -> int:
    """A checksum as tables store it, so that one of data with checksums in it is not special."""
    turned = (checksum >> 15 | checksum << 17) & _WORD
    return (turned + _MASK) & _WORD
