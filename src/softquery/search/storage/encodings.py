"""Stored encodings: what a comparison needs of a text, computed once.

An encoding is [T, D] for a model that aligns words and [D] for one that does not. For ESIM, D is
twice the encoder's size and twice the projection's. In int8 and int3 every token has one scale for
each quarter of its encoding, or one for all of it where D cannot be quartered. Where an ESIM's
encoder and projection are of one size, the quarters are the forward states, the backward states and
the two folded projections, whose ranges differ; elsewhere some quarters hold two of them. In int3
five numbers from -4 to 4 share two bytes, and a table of all of those makes them float32 at once.

T tokens of all rows, D width.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.index_files import (
    ChecksumStream,
    FolderWriter,
    bounds,
    check_count,
    check_finite,
    damaged,
    mapped,
)

Floats = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)
Precision = Literal["int3", "int8", "float16", "none"]
VALUES, SCALES, ENDS = "encodings.bin", "encoding_scales.bin", "encoding_ends.bin"
LARGEST = 127
"""The largest int8 whose negative is an int8 as well."""
LARGEST_FIFTH = 4
"""The largest int3: nine values, of which five numbers fit into two bytes (9^5 = 59,049)."""
FIFTHS = 5
_DTYPES: dict[Precision, type[np.generic]] = {
    "int3": np.uint16,
    "int8": np.int8,
    "float16": np.float16,
}
SCALED = ("int3", "int8")
"""Precisions with scales."""


class EncodingWriter:
    """Writes encodings as they arrive, so that they are never all in memory.

    Args:
        writer: Writes into the segment's folder.
        precision: How a number is stored; `"none"` stores nothing.
    """

    def __init__(self, writer: FolderWriter, precision: Precision) -> None:
        self.precision = precision
        self._writer = writer
        self._ends: list[int] = []
        self._files = ExitStack()

    def __enter__(self) -> "EncodingWriter":
        if self.precision != "none":
            self._values: ChecksumStream = self._files.enter_context(self._writer.stream(VALUES))
        if self.precision in SCALED:
            self._scales: ChecksumStream = self._files.enter_context(self._writer.stream(SCALES))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.__exit__(kind, error, trace)
        if error is None and self.precision != "none":
            self._writer.write_array(ENDS, np.array(self._ends, dtype=np.int64))

    def add(self, encodings: Sequence[Floats]) -> None:
        """Append the encodings of the next rows."""
        if self.precision == "none" or not encodings:
            return
        rows = [np.atleast_2d(encoding) for encoding in encodings]
        together = np.concatenate(rows)
        lengths = [len(row) for row in rows]
        if self.precision == "int3":
            self.add_stored(lengths, *to_int3(together))
        elif self.precision == "int8":
            self.add_stored(lengths, *to_int8(together))
        else:
            self.add_stored(lengths, together.astype(np.float16), None)

    def add_stored(
        self, lengths: Sequence[int], values: NDArray[np.generic], scales: Floats | None
    ) -> None:
        """Append the next rows as another segment stores them, without decoding them."""
        if self.precision == "none":
            return
        self._values.write_array(values)
        if scales is not None:
            self._scales.write_array(scales)
        last = self._ends[-1] if self._ends else 0
        self._ends += (last + np.cumsum(lengths)).tolist()


class Encodings:
    """The encodings of a segment, read from disk on demand.

    Args:
        folder: The segment.
        precision: The one they were written with, which is not `"none"`.
        width: D.
        num_rows: How many rows it must have.
        is_flat: Whether an encoding is one vector rather than one per token.

    Raises:
        InputError: The files do not fit together.
    """

    def __init__(
        self, folder: Path, precision: Precision, width: int, num_rows: int, *, is_flat: bool
    ) -> None:
        self.precision, self.is_flat, self._folder = precision, is_flat, folder
        self._width = width
        values = mapped(folder / VALUES, _DTYPES[precision])
        ends = mapped(folder / ENDS, np.int64)
        check_count(folder / ENDS, len(ends), num_rows, "rows")
        num_tokens = int(ends[-1]) if num_rows else 0
        held = stored_width(precision, width)
        check_count(folder / VALUES, len(values), num_tokens * held, "numbers")
        self._bounds = bounds(folder / ENDS, ends, num_tokens)
        lengths = np.diff(self._bounds)
        if bool((lengths < 1).any()) or (is_flat and bool((lengths > 1).any())):
            expected = "one vector" if is_flat else "one vector or more"
            raise damaged(folder / ENDS, f"a row does not have {expected}")
        self._values = values.reshape(-1, held)
        self._scales: Floats | None = None
        if precision in SCALED:
            scales = mapped(folder / SCALES, np.float32)
            check_count(folder / SCALES, len(scales), num_tokens * num_parts(width), "scales")
            check_finite(folder / SCALES, scales)
            self._scales = scales.reshape(-1, num_parts(width))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def of(self, rows: Sequence[int]) -> list[Floats]:
        """The encodings of some rows as float32."""
        lengths, values, scales = self.stored(rows)
        if scales is None:  # whole numbers have no other values, and scales are checked
            whole = values.astype(np.float32)
            check_finite(self._folder / VALUES, whole)
        elif self.precision == "int3":
            whole = from_int3(values, scales, self._width)
        else:
            whole = from_int8(values, scales)
        starts = [0, *accumulate(lengths)]
        if self.is_flat:
            return [whole[start] for start in starts[:-1]]
        return [whole[start:end] for start, end in pairwise(starts)]

    def lengths(self, rows: Sequence[int]) -> list[int]:
        """The token count of some rows; 1 if an encoding is one vector."""
        return [int(self._bounds[row + 1] - self._bounds[row]) for row in rows]

    def stored(
        self, rows: Sequence[int]
    ) -> tuple[list[int], NDArray[np.generic], NDArray[np.float32] | None]:
        """Token counts, values and scales of some rows, as they are stored."""
        bounds = [(int(self._bounds[row]), int(self._bounds[row + 1])) for row in rows]
        lengths = [end - start for start, end in bounds]
        values = _gathered(self._values, bounds)
        scales = None if self._scales is None else _gathered(self._scales, bounds)
        return lengths, values, scales


def num_parts(width: int) -> int:
    """How many parts of an encoding have a scale of their own."""
    return 4 if width % 4 == 0 else 1


def _in_parts(values: NDArray[Number]) -> NDArray[Number]:
    """[T, D] as [T, parts, D / parts]."""
    width = values.shape[1]
    return values.reshape(len(values), num_parts(width), width // num_parts(width))


def stored_width(precision: Precision, width: int) -> int:
    """How many numbers a token's encoding of width D is stored in.

    >>> stored_width("int8", 801), stored_width("int3", 801)
    (801, 161)
    """
    return -(-width // FIFTHS) if precision == "int3" else width


def _scaled(values: Floats, largest: int) -> tuple[NDArray[np.int8], Floats]:
    """Rows [T, D] as whole numbers up to `largest`, with a scale for each part."""
    parts = _in_parts(values)
    most = np.abs(parts).max(axis=2, initial=0.0)
    scales: Floats = np.where(most > 0, most / largest, 1).astype(np.float32)
    numbers = np.rint(parts / scales[:, :, None]).astype(np.int8)
    return numbers.reshape(values.shape), scales


def to_int8(values: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows [T, D] as int8 with a scale for each part: [T, D] and [T, 4].

    >>> numbers, scales = to_int8(np.array([[1.0, -0.5, 0.0, 254.0]], dtype=np.float32))
    >>> (numbers * scales).round(2).tolist()
    [[1.0, -0.5, 0.0, 254.0]]
    """
    return _scaled(values, LARGEST)


def from_int8(values: NDArray[np.generic], scales: Floats) -> Floats:
    """The float32 values that `to_int8` quantised."""
    whole: Floats = values.astype(np.float32)
    _rescale(whole, scales)
    return whole


def to_int3(values: Floats) -> tuple[NDArray[np.uint16], Floats]:
    """Rows [T, D] with five numbers in two bytes, and a scale for each part: [T, D / 5] and [T, 4].

    >>> fives, scales = to_int3(np.array([[4.0, -2.0, 0.0, 1.0, 0.0, -4.0]], dtype=np.float32))
    >>> fives.shape, from_int3(fives, scales, 6).tolist()
    ((1, 2), [[4.0, -2.0, 0.0, 1.0, 0.0, -4.0]])
    """
    numbers, scales = _scaled(values, LARGEST_FIFTH)
    padded = np.zeros((len(values), stored_width("int3", values.shape[1]) * FIFTHS), np.int64)
    padded[:, : values.shape[1]] = numbers
    digits = padded.reshape(len(values), -1, FIFTHS) + LARGEST_FIFTH
    return (digits @ _PLACES).astype(np.uint16), scales


def from_int3(fives: NDArray[np.generic], scales: Floats, width: int) -> Floats:
    """The float32 values [T, D] that `to_int3` quantised."""
    padded = _numbers_of_fives().take(fives.astype(np.intp), axis=0, mode="clip")  # [T, D / 5, 5]
    rows = padded.reshape(len(fives), fives.shape[1] * FIFTHS)
    whole = np.ascontiguousarray(rows[:, :width])
    _rescale(whole, scales)
    return whole


_PLACES = (2 * LARGEST_FIFTH + 1) ** np.arange(FIFTHS)
"""What a digit counts at each of its five places."""


@cache
def _numbers_of_fives() -> Floats:
    """The five numbers that two bytes stand for: [65536, 5]; what no five numbers give is clipped.

    A forged file may hold any bytes, and then gets numbers of at most 4 as well.
    """
    every = np.minimum(np.arange(2**16), 9**FIFTHS - 1)
    digits = every[:, None] // _PLACES % (2 * LARGEST_FIFTH + 1)
    numbers: Floats = (digits - LARGEST_FIFTH).astype(np.float32)
    return numbers


def _rescale(whole: Floats, scales: Floats) -> None:
    """Multiply every part of each row [T, D] by its scale, in place."""
    parts = _in_parts(whole)  # a view
    parts *= scales[:, :, None]


def _gathered(array: NDArray[Number], bounds: Sequence[tuple[int, int]]) -> NDArray[Number]:
    slices = [array[start:end] for start, end in bounds]
    return np.concatenate(slices) if slices else array[:0]
