"""Rows in the binary form of PostgreSQL's COPY, with the types of pgvector.

Text would be several times as long, and slower on both sides.
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softquery.search.stores.word_weights import COMPONENTS

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
TEXT_OID, INT4_OID = 25, 23


def copy_row(fields: Sequence[bytes]) -> bytes:
    """A row of fields that are binary already."""
    parts = [struct.pack("!h", len(fields))]
    for field in fields:
        parts += (struct.pack("!i", len(field)), field)
    return b"".join(parts)


def halfvec(vector: NDArray[np.float16]) -> bytes:
    """A vector in half precision."""
    return struct.pack("!hh", len(vector), 0) + vector.astype(">f2").tobytes()


def from_halfvec(data: bytes) -> NDArray[np.float16]:
    """A vector as it comes from the server.

    >>> from_halfvec(halfvec(np.array([1, -0.5], dtype=np.float16))).tolist()
    [1.0, -0.5]
    """
    return np.frombuffer(data, ">f2", offset=4).astype(np.float16)


def sparsevec(weights: Mapping[int, float]) -> bytes:
    """A sparse vector from its components."""
    places = sorted(weights)
    values = np.array([weights[place] for place in places], dtype=">f4").tobytes()
    return (
        struct.pack("!iii", COMPONENTS, len(places), 0)
        + np.array(places, dtype=">i4").tobytes()
        + values
    )


def jsonb(text: str) -> bytes:
    """A JSON document."""
    return b"\x01" + text.encode()


def texts(items: Sequence[str]) -> bytes:
    """An array of texts."""
    return _array(TEXT_OID, [item.encode() for item in items])


def whole_numbers(items: Sequence[int]) -> bytes:
    """An array of 32-bit integers."""
    return _array(INT4_OID, [struct.pack("!i", item) for item in items])


def _array(element: int, items: Sequence[bytes]) -> bytes:
    if not items:
        return struct.pack("!iii", 0, 0, element)
    parts = [struct.pack("!iiiii", 1, 0, element, len(items), 1)]
    for item in items:
        parts += (struct.pack("!i", len(item)), item)
    return b"".join(parts)
