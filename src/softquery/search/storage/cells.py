"""The texts of a segment: every column of every row, read from memory-mapped files.

`cells.bin` holds all texts back to back, row by row; `cell_ends.bin` holds the offset at which each
one ends. A column that a row lacks ends where the previous cell does; its end is stored as its
complement, a negative number.
"""

from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softquery.search.storage.entries import ID, QUESTION
from softquery.search.storage.index_files import (
    BLOCK,
    FolderWriter,
    bounds,
    check_count,
    damaged,
    mapped,
)

TEXTS, ENDS = "cells.bin", "cell_ends.bin"
Values = Mapping[str, str]


def write_cells(writer: FolderWriter, columns: Sequence[str], rows: Sequence[Values]) -> None:
    """Write every column of every row."""
    ends: list[int] = []
    end = 0
    with writer.stream(TEXTS) as stream:
        for row in rows:
            for column in columns:
                text = row.get(column)
                if text is None:
                    ends.append(~end)
                    continue
                data = text.encode()
                stream.write(data)
                end += len(data)
                ends.append(end)
    writer.write_array(ENDS, np.array(ends, dtype=np.int64))


class Cells:
    """The texts of a stored segment.

    Args:
        folder: The segment.
        columns: The columns it was written with, in that order; `id` and `question` among them.
        num_rows: How many rows it must have.

    Raises:
        InputError: The files do not fit together.
    """

    def __init__(self, folder: Path, columns: Sequence[str], num_rows: int) -> None:
        self.columns = tuple(columns)
        self._texts: NDArray[np.uint8] = mapped(folder / TEXTS, np.uint8)
        stored = mapped(folder / ENDS, np.int64)
        check_count(folder / ENDS, len(stored), num_rows * len(self.columns), "cells")
        self._present: NDArray[np.bool_] = stored >= 0
        ends = np.where(self._present, stored, ~stored)
        self._bounds = bounds(folder / ENDS, ends, len(self._texts))
        self._measured: dict[tuple[str, str], NDArray[np.float64]] = {}
        self._check(folder)

    def _check(self, folder: Path) -> None:
        """Refuse what is not text, and rows without an id or a question."""
        try:
            decoder = getincrementaldecoder("utf-8")()
            for start in range(0, len(self._texts), BLOCK):
                decoder.decode(self._texts[start : start + BLOCK].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise damaged(folder / TEXTS, "is not UTF-8 text") from None
        first = self._texts[self._bounds[self._bounds < len(self._texts)]]
        if bool(((first & 0xC0) == 0x80).any()):
            raise damaged(folder / ENDS, "a text begins inside a character")
        for name in (ID, QUESTION):
            if not bool(self._present[self.columns.index(name) :: len(self.columns)].all()):
                raise damaged(folder / ENDS, f"a row has no {name}")

    def __len__(self) -> int:
        return len(self._present) // len(self.columns)

    def text(self, row: int, column: str) -> str:
        """The text of one cell; empty if the row lacks the column."""
        place = row * len(self.columns) + self.columns.index(column)
        return self._slice(place).decode()

    def texts(self, rows: Sequence[int], column: str) -> list[str]:
        """One column of some rows; empty where a row lacks it."""
        if column not in self.columns:
            return [""] * len(rows)
        places = np.asarray(rows, dtype=np.int64) * len(self.columns) + self.columns.index(column)
        starts, ends = self._bounds[places].tolist(), self._bounds[places + 1].tolist()
        content = self._texts.data
        return [str(content[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]

    def row(self, row: int) -> dict[str, str]:
        """The columns that a row has, with their texts."""
        first = row * len(self.columns)
        return {
            column: self._slice(first + place).decode()
            for place, column in enumerate(self.columns)
            if self._present[first + place]
        }

    def column(self, column: str) -> list[str]:
        """One column of every row."""
        first, step = self.columns.index(column), len(self.columns)
        return [self._slice(place).decode() for place in range(first, len(self._present), step)]

    def present(self, column: str) -> NDArray[np.bool_]:
        """Which rows have a column: [N]."""
        if column not in self.columns:
            return np.zeros(len(self), dtype=np.bool_)
        found: NDArray[np.bool_] = self._present[self.columns.index(column) :: len(self.columns)]
        return found

    def holds(self, column: str, *values: str) -> NDArray[np.bool_]:
        """Which rows have exactly one of these texts in a column: [N]."""
        found = np.zeros(len(self), dtype=np.bool_)
        if column not in self.columns:
            return found
        first, step = self.columns.index(column), len(self.columns)
        # A lone surrogate is in no row.
        wanted = {value.encode("utf-8", "surrogatepass") for value in values}
        lengths = np.diff(self._bounds)[first::step]
        # Most rows differ in length already; only the others are compared.
        fitting = np.isin(lengths, list({len(value) for value in wanted}))
        for row in np.flatnonzero(fitting & self._present[first::step]).tolist():
            found[row] = self._slice(row * step + first) in wanted
        return found

    def measured(self, column: str, kind: str, read: Callable[[str], float]) -> NDArray[np.float64]:
        """A column as numbers, read once; NaN where a row has none: [N].

        Args:
            column: Its name.
            kind: What the numbers are.
            read: Makes a number of a text, or NaN.
        """
        found = self._measured.get((column, kind))
        if found is None:
            found = np.full(len(self), np.nan)
            if column in self.columns:
                found = np.array([read(text) for text in self.column(column)], dtype=np.float64)
            self._measured[column, kind] = found
        return found

    def _slice(self, place: int) -> bytes:
        return self._texts[self._bounds[place] : self._bounds[place + 1]].tobytes()
