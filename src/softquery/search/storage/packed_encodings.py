"""The encoding of one row as bytes, for stores that keep a row in one piece.

The values of all tokens, then their scales if the precision has any, in the order and with the
numbers of a segment's files, so that rows go from one store to another without being decoded.

T tokens of a row, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.encodings import (
    SCALED,
    Precision,
    from_int3,
    from_int8,
    num_parts,
    stored_width,
    to_int3,
    to_int8,
)

Floats = NDArray[np.float32]
Stored = tuple[list[int], NDArray[np.generic], Floats | None]
"""Token counts, values and scales of some rows, as `Encodings.stored` gives them."""
_DTYPES: dict[str, np.dtype[Any]] = {
    "int3": np.dtype("<u2"),
    "int8": np.dtype("i1"),
    "float16": np.dtype("<f2"),
}


@dataclass(frozen=True, slots=True)
class EncodingPacker:
    """Turns encodings into bytes and back.

    Attributes:
        precision: How a number is stored; not `"none"`.
        width: D.
        is_flat: Whether an encoding is one vector rather than one per token.

    >>> packer = EncodingPacker("int8", 4, is_flat=False)
    >>> row = np.array([[1.0, -1.0, 0.5, 0.0], [2.0, 2.0, 2.0, 2.0]], dtype=np.float32)
    >>> (packed,) = packer.pack([row])
    >>> len(packed), packer.num_tokens(packed), packer.unpack(packed).round(2).tolist()
    (40, 2, [[1.0, -1.0, 0.5, 0.0], [2.0, 2.0, 2.0, 2.0]])
    """

    precision: Precision
    width: int
    is_flat: bool

    @property
    def token_bytes(self) -> int:
        """Bytes of a token."""
        values = stored_width(self.precision, self.width) * _DTYPES[self.precision].itemsize
        return values + (4 * num_parts(self.width) if self.precision in SCALED else 0)

    def num_tokens(self, packed: bytes) -> int:
        """How many tokens an encoding has: T."""
        return len(packed) // self.token_bytes

    def fits(self, packed: bytes) -> bool:
        """Whether bytes can be an encoding of this kind."""
        num_tokens, rest = divmod(len(packed), self.token_bytes)
        return rest == 0 and (num_tokens == 1 if self.is_flat else num_tokens > 0)

    def pack(self, encodings: Sequence[Floats]) -> list[bytes]:
        """Encodings as bytes, each by itself."""
        rows = [np.atleast_2d(encoding) for encoding in encodings]
        if not rows:
            return []
        together = np.concatenate(rows)
        lengths = [len(row) for row in rows]
        if self.precision == "int3":
            return self.pack_stored((lengths, *to_int3(together)))
        if self.precision == "int8":
            return self.pack_stored((lengths, *to_int8(together)))
        return self.pack_stored((lengths, together.astype(np.float16), None))

    def pack_stored(self, stored: Stored) -> list[bytes]:
        """Rows of a segment as bytes, without decoding them."""
        lengths, values, scales = stored
        held = stored_width(self.precision, self.width)
        values = values.astype(_DTYPES[self.precision], copy=False).reshape(-1, held)
        found = []
        for start, end in pairwise([0, *np.cumsum(lengths).tolist()]):
            packed = values[start:end].tobytes()
            if scales is not None:
                packed += scales[start:end].astype("<f4", copy=False).tobytes()
            found.append(packed)
        return found

    def stored(self, packed: bytes) -> Stored:
        """One row as a segment stores it."""
        num_tokens, held = self.num_tokens(packed), stored_width(self.precision, self.width)
        dtype = _DTYPES[self.precision]
        values = np.frombuffer(packed, dtype, num_tokens * held).reshape(num_tokens, held)
        if self.precision not in SCALED:
            return [num_tokens], values, None
        scales = np.frombuffer(packed, "<f4", offset=values.nbytes).astype(np.float32, copy=False)
        return [num_tokens], values, scales.reshape(num_tokens, -1)

    def unpack(self, packed: bytes) -> Floats:
        """An encoding as float32: [T, D], or [D] if it is flat."""
        _, values, scales = self.stored(packed)
        if scales is None:
            whole: Floats = values.astype(np.float32)
        elif self.precision == "int3":
            whole = from_int3(values, scales, self.width)
        else:
            whole = from_int8(values, scales)
        return whole[0] if self.is_flat else whole
