"""Rows from JSONL, Parquet and iterables of mappings, whose values are not all text."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from numbers import Real
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from softquery.errors import InputError, MissingExtra
from softquery.files.archives import open_bytes, read_block, split_suffix
from softquery.files.columns import ColumnLayout, WantedColumns
from softquery.files.row import Report, Row
from softquery.files.text_lines import LONGEST_LINE, text_blocks, without_blank_end

ITERABLE = "the iterable"
_BATCH_SIZE = 8192
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Leaves numbers as they are written: 1.50 stays 1.50, and no integer is too long."""


def jsonl_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a JSONL file: one object a line, numbers as they are written."""
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
    """A column's values; text that is not all valid UTF-8 stays bytes, for `_to_text` to refuse."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        import pyarrow

        return list(column.cast(pyarrow.large_binary()).to_pylist())


@contextmanager
def _seekable(path: str) -> Iterator[IO[bytes]]:
    """A file that can be jumped about in, as Parquet needs; unpacked beside where compressed."""
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
    """A value as the text that a TSV would hold; nothing (None) is empty text."""
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
    """Like `_to_text`, for columns that need not be there: lists and objects stay JSON."""
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return _to_text(value, name)


def _decoded(value: bytes, name: str) -> str:
    try:
        return sound_text(value.decode(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not valid UTF-8 text") from error


def sound_text(text: str, name: str) -> str:
    """Refuse text that no file of UTF-8 could hold, or that is too long."""
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
