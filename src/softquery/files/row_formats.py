"""Rows from TSV, CSV, plain text, JSONL and Parquet files, and from iterables of mappings."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from softquery.errors import InputError, MissingExtra, counted
from softquery.files.row import ColumnLayout, Report, Row, WantedColumns, listed
from softquery.files.text_lines import (
    LONGEST_LINE,
    Block,
    Returns,
    open_bytes,
    read_block,
    split_suffix,
    text_blocks,
    without_blank_end,
)


def tsv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a TSV: every tab separates, quotes are data, and each line is a row."""
    layout: ColumnLayout | None = None
    for block in without_blank_end(text_blocks(path)):
        if layout is None:
            layout = _tsv_layout(block, path, wanted)
            block = Block(block.first + 1, block.lines[1:], block.faults)
        yield from _tsv_block(block, path, layout, report)
    if layout is None:
        raise InputError("is empty", source=path)


def csv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a CSV, read strictly; the number of a row is that of its first line."""
    records = _csv_records(path, report)
    first = next(records, None)
    if first is None:
        raise InputError("is empty", source=path)
    layout = wanted.layout(_stripped(first[1]), source=path, row=first[0])
    pick, width = _picker(layout), len(layout.header)
    for number, fields in records:
        if len(fields) != width:
            report(InputError(_wrong_width(layout, fields), source=path, row=number))
            continue
        picked = pick(fields)
        if not all(map(str.strip, picked[: layout.num_required])):
            report(InputError(_which_empty(layout, picked), source=path, row=number))
            continue
        yield Row(dict(zip(layout.names, picked, strict=True)), number, path)


def txt_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a plain text file: one text per line, for the single required column."""
    if len(wanted.required) != 1:
        message = (
            f"a .txt holds one text per line, but {len(wanted.required)} columns are needed "
            f"({listed(wanted.required)}); use a .tsv, .csv, .jsonl or .parquet"
        )
        raise InputError(message, source=path)
    (name,) = wanted.required
    block = None
    for block in without_blank_end(text_blocks(path)):
        for number, line in enumerate(block.lines, block.first):
            if number in block.faults:
                report(block.faults[number])
            elif not line.strip():
                report(InputError(f"{name} is empty", source=path, row=number))
            else:
                yield Row({name: line}, number, path)
    if block is None:
        raise InputError("is empty", source=path)


def _tsv_layout(block: Block, path: str, wanted: WantedColumns) -> ColumnLayout:
    if block.first in block.faults:
        raise block.faults[block.first]
    header = _stripped(block.lines[0].split("\t"))
    return wanted.layout(header, source=path, row=block.first)


def _tsv_block(block: Block, path: str, layout: ColumnLayout, report: Report) -> Iterator[Row]:
    """The rows of one block; a loop that must be fast for files of millions of rows."""
    pick, width = _picker(layout), len(layout.header)
    names, num_required, faults = layout.names, layout.num_required, block.faults
    for number, line in enumerate(block.lines, block.first):
        if number in faults:
            report(faults[number])
            continue
        fields = line.split("\t")
        if len(fields) != width:
            report(InputError(_wrong_width(layout, fields), source=path, row=number))
            continue
        picked = pick(fields)
        if not all(map(str.strip, picked[:num_required])):
            report(InputError(_which_empty(layout, picked), source=path, row=number))
            continue
        yield Row(dict(zip(names, picked)), number, path)  # noqa: B905  (equal by construction)


class _CsvFeed:
    """Lines for `csv.reader`; faults are kept until the record that contains them is known."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self.faults: dict[int, InputError] = {}
        self._blocks = blocks

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            self.faults |= block.faults
            for line in block.lines:
                yield line + "\n"

    def spoiled(self, end: int) -> list[InputError]:
        """The faults up to a line; each is returned once."""
        return [self.faults.pop(line) for line in sorted(self.faults) if line <= end]


def _csv_records(path: str, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each starts; a fault in the header is raised."""
    feed = _CsvFeed(without_blank_end(text_blocks(path, returns=Returns.KEEP)))
    reader = csv.reader(feed, strict=True)
    while True:
        start = reader.line_num + 1
        fields: list[str] | None = None
        faults: list[InputError] = []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            faults = [InputError(_csv_fault(error, start, reader.line_num), source=path, row=start)]
        if feed.faults:
            faults = feed.spoiled(reader.line_num) or faults
        if fields is not None and not faults:
            yield start, fields
        for fault in faults:
            if start == 1:
                raise fault
            report(fault)


def _csv_fault(error: csv.Error, start: int, end: int) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "a quote is opened and never closed"
    if "field limit" in text:
        limit = csv.field_size_limit()
        return f"a column is longer than {limit:,} characters (is a quote left open in it?)"
    if "expected after" in text:
        return 'text follows a closing quote; a quote inside quotes is written twice ("")'
    if "new-line character" in text:
        return "a carriage return stands outside quotes; lines end in \\n or \\r\\n"
    place = "" if end <= start else f" (up to row {end})"
    return f"not valid CSV{place}: {text}"


def _picker(layout: ColumnLayout) -> Callable[[list[str]], Sequence[str]]:
    """A function that picks the wanted columns of a row."""
    if layout.indices == tuple(range(len(layout.header))):
        return lambda fields: fields
    if len(layout.indices) == 1:
        (index,) = layout.indices
        return lambda fields: (fields[index],)
    return itemgetter(*layout.indices) if layout.indices else lambda fields: ()


def _stripped(header: Sequence[str]) -> list[str]:
    return [name.strip() for name in header]


def _wrong_width(layout: ColumnLayout, fields: Sequence[str]) -> str:
    width = len(layout.header)
    expected = f"expected {counted(width, 'column')} ({listed(layout.header)})"
    if list(fields) in ([], [""]):
        return f"{expected}, found a blank line"
    return f"{expected}, found {len(fields)}"


def _which_empty(layout: ColumnLayout, picked: Sequence[str]) -> str:
    empty = [n for n, v in zip(layout.names, picked, strict=True) if not v.strip()]
    return f"{empty[0]} is empty"


ITERABLE = "the iterable"
_BATCH_SIZE = 8192
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Keeps numbers as written: 1.50 stays 1.50, and no integer is too long."""


def jsonl_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a JSONL file: one object per line, numbers as written."""
    block = None
    for block in without_blank_end(text_blocks(path)):
        for number, line in enumerate(block.lines, block.first):
            try:
                if number in block.faults:
                    raise block.faults[number]
                row = Row(_pick(_json_object(line), wanted), number, path)
            except InputError as error:
                report(_placed(error, path, number))
            else:
                yield row
    if block is None:
        raise InputError("is empty", source=path)


def mapping_rows(
    mappings: Iterable[Mapping[str, object]], wanted: WantedColumns, report: Report
) -> Iterator[Row]:
    """Rows of an iterable of mappings, such as a Hugging Face data set."""
    for number, mapping in enumerate(mappings, 1):
        try:
            if not isinstance(mapping, Mapping):
                raise InputError(f"expected a mapping, found {_kind(mapping)}")
            row = Row(_pick(mapping, wanted), number, ITERABLE)
        except InputError as error:
            report(_placed(error, ITERABLE, number))
        else:
            yield row


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
            for batch in file.iter_batches(batch_size=_BATCH_SIZE, columns=theirs):
                columns = [batch.column(batch.schema.get_field_index(name)) for name in theirs]
                yield from _parquet_batch(columns, layout, path, number, report)
                number += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            message = f"not a readable Parquet file ({str(error).splitlines()[0]})"
            raise InputError(message, source=path, row=number + 1 if number else None) from error


def _parquet_batch(
    columns: Sequence[Any], layout: ColumnLayout, path: str, before: int, report: Report
) -> Iterator[Row]:
    cells = [_cells(column) for column in columns]
    num_rows = len(columns[0]) if columns else 0
    for index in range(num_rows):
        number = before + index + 1
        try:
            values = {
                name: (_to_text if place < layout.num_required else _to_text_or_json)(
                    column[index], name
                )
                for place, (name, column) in enumerate(zip(layout.names, cells, strict=True))
            }
            _refuse_empty(values, layout.names[: layout.num_required])
        except InputError as error:
            report(_placed(error, path, number))
        else:
            yield Row(values, number, path)


def _cells(column: Any) -> list[object]:
    """The values of a column; invalid UTF-8 stays bytes, which `_to_text` refuses."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        import pyarrow

        return list(column.cast(pyarrow.large_binary()).to_pylist())


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


def _json_object(line: str) -> dict[str, object]:
    try:
        value = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise InputError("not usable JSON (nested too deeply)") from error
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object in braces, found {_kind(value)}")
    return value


def _pick(mapping: Mapping[str, object], wanted: WantedColumns) -> dict[str, str]:
    """The wanted values of one mapping as text."""
    values: dict[str, str] = {}
    for name in wanted.required:
        if wanted.theirs(name) not in mapping:
            raise InputError(wanted.missing([name], list(map(str, mapping))))
        values[name] = _to_text(mapping[wanted.theirs(name)], name)
    for name in wanted.optional:
        if wanted.theirs(name) in mapping:
            values[name] = _to_text_or_json(mapping[wanted.theirs(name)], name)
    _refuse_empty(values, wanted.required)
    for name in wanted.others(mapping):
        values[name] = _to_text_or_json(mapping[name], name)
    return values


def _refuse_empty(values: Mapping[str, str], required: Sequence[str]) -> None:
    for name in required:
        if not values[name].strip():
            raise InputError(f"{name} is empty")


def _to_text(value: object, name: str) -> str:
    """A value as the text that a TSV would hold; None is empty text."""
    if isinstance(value, str):
        return sound_text(value, name)
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (Real, Decimal, date, time)):
        return str(value)
    if isinstance(value, bytes):  # how some tools store text in Parquet
        return _decoded(value, name)
    raise InputError(f"{name} is {_kind(value)}, expected text or a number")


def _to_text_or_json(value: object, name: str) -> str:
    """Like `_to_text`, for optional columns: lists and objects become JSON."""
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return _to_text(value, name)


def _decoded(value: bytes, name: str) -> str:
    try:
        return sound_text(value.decode(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not valid UTF-8 text") from error


def sound_text(text: str, name: str) -> str:
    """Refuse text that UTF-8 cannot encode, that holds NUL, or that is too long."""
    if len(text) > LONGEST_LINE:
        raise InputError(f"{name} is longer than {LONGEST_LINE:,} characters")
    if "\0" in text:
        raise InputError(f"{name} holds a NUL character, expected text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(text[error.start]):04X} at character {error.start + 1}"
            raise InputError(f"{name} holds half a character ({half}), expected text") from error
    return str(text)


def _kind(value: object) -> str:
    kinds = {list: "a list", dict: "an object", str: "text or a number", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _placed(error: InputError, source: str, row: int) -> InputError:
    return InputError(error.message, source=source, row=row)
