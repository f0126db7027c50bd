"""Rows of a Parquet file, in batches that fit into memory whatever the file says.

Parquet stores a value that repeats once, and how often: a megabyte can stand for terabytes. So few
rows are read at a time that even the largest value of a dictionary would fit that often, and a cell
becomes a Python object only when its row is made, and only where it is not too large.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, MissingExtra
from softquery.files.cell_text import (
    refuse_empty,
    to_text,
    to_text_or_json,
    to_text_or_texts,
    too_long,
)
from softquery.files.row import ColumnLayout, Report, Row, WantedColumns
from softquery.files.row_formats import placed
from softquery.files.text_lines import (
    LEAST_UNPACKED,
    LONGEST_LINE,
    MOST_TIMES,
    open_bytes,
    read_block,
    split_suffix,
)

MOST_ROWS = 1024
"""Rows of a batch, unless they could be too large."""
MOST_BYTES = 1 << 26
"""Memory that the values of a batch may take."""
MOST_ITEMS = 1 << 10
"""Items that the lists of a column may have per row, over its first million."""
_PAGE_HEADER, _POINTER = 64, 8
_FIELD = 0x15
"""The next field of a page header, an integer."""


def parquet_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a Parquet file, batch by batch; needs the extra `parquet`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("parquet", needed_for="reading .parquet files") from error
    number = 0
    with _seekable(path) as handle:
        try:
            file = pyarrow.parquet.ParquetFile(handle)
            layout = wanted.layout(file.schema_arrow.names, source=path, row=None)
            theirs = [layout.header[index] for index in layout.indices]
            leaves = _leaves(file, theirs)
            nested = [file.schema.column(leaf).path for leaf in leaves if _is_nested(file, leaf)]
            # Items of lists stay numbers of a dictionary; a row may have any number of them.
            again = {"metadata": file.metadata, "read_dictionary": nested}
            file = pyarrow.parquet.ParquetFile(handle, **again)
            for group in range(file.num_row_groups):
                num_rows = _rows_at_a_time(file.metadata.row_group(group), leaves, handle, path)
                for batch in file.iter_batches(num_rows, row_groups=[group], columns=theirs):
                    columns = [batch.column(batch.schema.get_field_index(name)) for name in theirs]
                    yield from _batch(columns, layout, path, number, report)
                    number += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            message = f"not a readable Parquet file ({str(error).splitlines()[0]})"
            raise InputError(message, source=path, row=number + 1 if number else None) from error


def _leaves(file: Any, columns: Sequence[str]) -> list[int]:
    """The places of the columns' own columns, of which a list or a struct has several."""
    heads = set(columns)
    paths = [file.schema.column(place).path for place in range(len(file.schema))]
    return [
        place
        for place, path in enumerate(paths)
        if path in heads or any(path.startswith(f"{head}.") for head in heads)
    ]


def _is_nested(file: Any, leaf: int) -> bool:
    column = file.schema.column(leaf)
    return bool(column.max_repetition_level) and str(column.physical_type) == "BYTE_ARRAY"


def _rows_at_a_time(group: Any, leaves: Sequence[int], handle: IO[bytes], path: str) -> int:
    """How many rows of a row group are read at a time."""
    largest = 1
    for place in leaves:
        column = group.column(place)
        if column.total_uncompressed_size > max(
            LEAST_UNPACKED, MOST_TIMES * column.total_compressed_size
        ):
            name = column.path_in_schema.split(".")[0]
            message = f'column "{name}" unpacks to more than {MOST_TIMES} times its size'
            raise InputError(message, source=path)
        if column.num_values > (1 << 20) + MOST_ITEMS * group.num_rows:
            name = column.path_in_schema.split(".")[0]
            raise InputError(f'the lists of column "{name}" are too long', source=path)
        largest = max(largest, _largest_repeated(column, handle))
    return max(1, min(MOST_ROWS, MOST_BYTES // largest))


def _largest_repeated(column: Any, handle: IO[bytes]) -> int:
    """The most bytes of a value that may repeat: of all values of its dictionary together."""
    if "DELTA_BYTE_ARRAY" in column.encodings:  # a value repeats the beginning of the one before
        return int(column.total_uncompressed_size)
    if not column.has_dictionary_page:
        return 1
    handle.seek(column.dictionary_page_offset)
    size = _page_size(handle.read(_PAGE_HEADER))
    return int(column.total_uncompressed_size) if size is None else size


def _page_size(header: bytes) -> int | None:
    """The uncompressed size in a page header: its second field, in Thrift's compact form.

    >>> _page_size(bytes([0x15, 0x04, 0x15, 0x90, 0x4E, 0x15]))
    5000
    """
    place, value = 0, None
    for _ in range(2):
        if header[place : place + 1] != bytes([_FIELD]):
            return None
        value, shift, place = 0, 0, place + 1
        while place < len(header):
            byte = header[place]
            value |= (byte & 0x7F) << shift
            shift, place = shift + 7, place + 1
            if byte < 0x80:
                break
    return None if value is None else value >> 1  # zigzag, and never negative


def _batch(
    columns: Sequence[Any], layout: ColumnLayout, path: str, before: int, report: Report
) -> Iterator[Row]:
    cells = [_Cells(column) for column in columns]
    reads = [_reader(layout, place) for place in range(len(layout.names))]
    num_rows = len(columns[0]) if columns else 0
    for index in range(num_rows):
        number = before + index + 1
        try:
            values = {
                name: read(cells[place].value(index, name), name)
                for place, (name, read) in enumerate(zip(layout.names, reads, strict=True))
            }
            refuse_empty(values, layout.names[: layout.num_required])
        except InputError as error:
            report(placed(error, path, number))
        else:
            yield Row(values, number, path)


def _reader(layout: ColumnLayout, place: int) -> Callable[[object, str], str]:
    """What makes text of the cells of a column."""
    if place >= layout.num_required:
        return to_text_or_json
    return to_text_or_texts if layout.names[place] in layout.lists else to_text


class _Cells:
    """The values of a column, all at once where they are small together, else one by one."""

    def __init__(self, column: Any) -> None:
        sizes = _cell_sizes(column)
        self._too_long = set(np.flatnonzero(sizes > 4 * LONGEST_LINE).tolist())
        self._column, self._values = column, None
        if sizes.sum() <= MOST_BYTES:
            with suppress(UnicodeDecodeError):
                self._values = column.to_pylist()

    def value(self, index: int, name: str) -> object:
        """A cell, unless it is too large or not text."""
        if index in self._too_long:
            raise too_long(name)
        if self._values is not None:
            return self._values[index]
        try:
            return self._column[index].as_py()
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not valid UTF-8 text") from error


def _cell_sizes(column: Any) -> NDArray[np.int64]:
    """The bytes that each cell of a column takes once it is a Python object, roughly."""
    import pyarrow
    from pyarrow import compute

    if isinstance(column, pyarrow.DictionaryArray):
        known = _cell_sizes(column.dictionary)
        places = _numbers(column.indices)
        return known[places] if len(known) else np.zeros(len(column), np.int64)
    if isinstance(column, pyarrow.StructArray):
        parts = [_cell_sizes(part) for part in column.flatten()]
        return sum(parts, np.zeros(len(column), np.int64))
    if isinstance(column, pyarrow.MapArray):
        sides = (column.keys, column.items)
        lists = [pyarrow.ListArray.from_arrays(column.offsets, side) for side in sides]
        return _cell_sizes(lists[0]) + _cell_sizes(lists[1])
    if isinstance(column, pyarrow.lib.BaseListArray):
        ends = np.concatenate([[0], np.cumsum(_cell_sizes(column.flatten()) + _POINTER)])
        last = np.cumsum(_numbers(compute.list_value_length(column)))
        sizes: NDArray[np.int64] = np.diff(ends[np.concatenate([[0], last])]).astype(np.int64)
        return sizes
    try:
        return _numbers(compute.binary_length(column))
    except pyarrow.ArrowNotImplementedError:  # numbers, dates
        return np.full(len(column), _POINTER, np.int64)


def _numbers(column: Any) -> NDArray[np.int64]:
    return np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


@contextmanager
def _seekable(path: str) -> Iterator[IO[bytes]]:
    """A seekable file, as Parquet needs; a compressed one is unpacked to a temporary file."""
    with open_bytes(path) as stream:
        if not split_suffix(path)[1]:
            yield stream
            return
        with TemporaryFile() as unpacked:
            while data := read_block(stream, source=path, row=None):
                unpacked.write(data)
            unpacked.seek(0)
            yield unpacked
