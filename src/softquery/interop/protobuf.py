"""The fields of a protocol buffer message, without its schema. Needs nothing."""

from collections.abc import Iterator

from softquery.errors import InputError

Value = int | bytes
LONGEST = 10
"""Bytes of the longest whole number."""


class BrokenMessageError(InputError):
    """Bytes that are no message; whoever knows the file says so in its name."""

    def __init__(self) -> None:
        super().__init__("a message is damaged")


def fields(message: Value) -> Iterator[tuple[int, Value]]:
    """Number and value of every field: a whole number, or bytes.

    Args:
        message: Its bytes; a number in its place is refused, as is whatever else is no message.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    if isinstance(message, int):
        raise BrokenMessageError
    place = 0
    while place < len(message):
        tag, place = varint(message, place)
        kind = tag & 7
        if kind == 0:
            number, place = varint(message, place)
            yield tag >> 3, number
            continue
        if kind == 2:
            size, place = varint(message, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise BrokenMessageError
        if place + size > len(message):
            raise BrokenMessageError
        yield tag >> 3, message[place : place + size]
        place += size


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A whole number of seven bits per byte, lowest first, and the place behind it.

    >>> varint(bytes([0x96, 0x01, 0xFF]), 0)
    (150, 2)
    """
    value = 0
    for count, byte in enumerate(data[place : place + LONGEST]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, place + count + 1
    raise BrokenMessageError
