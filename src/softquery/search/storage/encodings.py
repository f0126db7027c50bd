"""Stored encodings: what a comparison needs of a text, computed once.

An encoding is [T, D] for a model that aligns words and [D] for one that does not. For ESIM, D is
twice the encoder's size and twice the projection's. In int8 every token has one scale for each
quarter of its encoding, or one for all of it where D cannot be quartered. Where an ESIM's encoder
and projection are of one size, the quarters are the forward states, the backward states and the two
folded projections, whose ranges differ; elsewhere some quarters hold two of them.

T tokens of all rows, D width.
"""

from collections.abc import Sequence
from contextlib import ExitStack
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
Precision = Literal["int8", "float16", "none"]
VALUES, SCALES, ENDS = "encodings.bin", "encoding_scales.bin", "encoding_ends.bin"
LARGEST = 127
"""The largest int8 whose negative is an int8 as well."""
_DTYPES = {"int8": np.int8, "float16": np.float16}


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
        if self.precision == "int8":
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
        if self.precision == "int8":
            values, scales = to_int8(together)
            self.add_stored([len(row) for row in rows], values, scales)
        else:
            self.add_stored([len(row) for row in rows], together.astype(np.float16), None)

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
        values = mapped(folder / VALUES, _DTYPES[precision])
        ends = mapped(folder / ENDS, np.int64)
        check_count(folder / ENDS, len(ends), num_rows, "rows")
        num_tokens = int(ends[-1]) if num_rows else 0
        check_count(folder / VALUES, len(values), num_tokens * width, "numbers")
        self._bounds = bounds(folder / ENDS, ends, num_tokens)
        lengths = np.diff(self._bounds)
        if bool((lengths < 1).any()) or (is_flat and bool((lengths > 1).any())):
            expected = "one vector" if is_flat else "one vector or more"
            raise damaged(folder / ENDS, f"a row does not have {expected}")
        self._values = values.reshape(-1, width)
        self._scales: Floats | None = None
        if precision == "int8":
            scales = mapped(folder / SCALES, np.float32)
            check_count(folder / SCALES, len(scales), num_tokens * num_parts(width), "scales")
            check_finite(folder / SCALES, scales)
            self._scales = scales.reshape(-1, num_parts(width))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def of(self, rows: Sequence[int]) -> list[Floats]:
        """The encodings of some rows as float32."""
        lengths, values, scales = self.stored(rows)
        whole = values.astype(np.float32) if scales is None else from_int8(values, scales)
        if scales is None:  # int8 has no other values than numbers, and scales are checked
            check_finite(self._folder / VALUES, whole)
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


def to_int8(values: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows [T, D] as int8 with a scale for each part: [T, D] and [T, 4].

    >>> numbers, scales = to_int8(np.array([[1.0, -0.5, 0.0, 254.0]], dtype=np.float32))
    >>> (numbers * scales).round(2).tolist()
    [[1.0, -0.5, 0.0, 254.0]]
    """
    parts = _in_parts(values)
    largest = np.abs(parts).max(axis=2, initial=0.0)
    scales: Floats = np.where(largest > 0, largest / LARGEST, 1).astype(np.float32)
    numbers = np.rint(parts / scales[:, :, None]).astype(np.int8)
    return numbers.reshape(values.shape), scales


def from_int8(values: NDArray[np.generic], scales: Floats) -> Floats:
    """The float32 values that `to_int8` quantised."""
    whole: Floats = values.astype(np.float32)
    parts = _in_parts(whole)  # a view
    parts *= scales[:, :, None]
    return whole


def _gathered(array: NDArray[Number], bounds: Sequence[tuple[int, int]]) -> NDArray[Number]:
    slices = [array[start:end] for start, end in bounds]
    return np.concatenate(slices) if slices else array[:0]
