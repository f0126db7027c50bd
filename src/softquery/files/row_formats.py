"""Rows from TSV, CSV, plain text and JSONL files, and from iterables of mappings."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from softquery.errors import InputError, counted
from softquery.files.cell_text import (
    kind_of_value,
    refuse_empty,
    to_text,
    to_text_or_json,
    to_text_or_texts,
)
from softquery.files.delimiters import delimiter_of
from softquery.files.row import ColumnLayout, Report, Row, WantedColumns, listed
from softquery.files.text_lines import (
    LONGEST_TEXT,
    Block,
    Returns,
    text_blocks,
    without_blank_end,
)


def tsv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a TSV: every tab separates, quotes are data, and each line is a row."""
    layout: ColumnLayout | None = None
    for block in without_blank_end(text_blocks(path)):
        if layout is None:
            layout = _tsv_layout(block, path, wanted)
            if not wanted.by_place:
                block = Block(block.first + 1, block.lines[1:], block.faults)
        yield from _tsv_block(block, path, layout, report)
    if layout is None:
        raise InputError("is empty", source=path)


def csv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a CSV, read strictly; the number of a row is that of its first line.

    Its delimiter is a comma, or a semicolon or a tab where these cut the file into columns.
    """
    records = _csv_records(path, report)
    first = next(records, None)
    if first is None:
        raise InputError("is empty", source=path)
    layout = wanted.layout(wanted.header(_stripped(first[1])), source=path, row=first[0])
    if wanted.by_place:
        records = chain([first], records)
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
    header = wanted.header(_stripped(block.lines[0].split("\t")))
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

    def __init__(self, path: str) -> None:
        self.faults: dict[int, InputError] = {}
        self._path, self._start, self._num_characters = path, 1, 0

    def __iter__(self) -> Iterator[str]:
        for block in without_blank_end(text_blocks(self._path, returns=Returns.KEEP)):
            self.faults |= block.faults
            for line in block.lines:
                self._num_characters += len(line)
                if self._num_characters > LONGEST_TEXT:
                    # Nobody knows where the next record would begin, so that none can be skipped.
                    message = f"the record is longer than {LONGEST_TEXT:,} characters"
                    message = f"{message} (is a quote left open in it?)"
                    raise InputError(message, source=self._path, row=self._start)
                yield line + "\n"

    def begin(self, start: int) -> None:
        """Tell that a record begins in this line; quotes can make it as long as the file."""
        self._start, self._num_characters = start, 0

    def spoiled(self, end: int) -> list[InputError]:
        """The faults up to a line; each is returned once."""
        return [self.faults.pop(line) for line in sorted(self.faults) if line <= end]


def _csv_records(path: str, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each starts; a fault in the header is raised."""
    feed = _CsvFeed(path)
    reader = csv.reader(feed, strict=True, delimiter=delimiter_of(path))
    while True:
        start = reader.line_num + 1
        feed.begin(start)
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


ITERABLE = "the data"
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
                report(placed(error, path, number))
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
                raise InputError(f"expected a mapping, found {kind_of_value(mapping)}")
            row = Row(_pick(mapping, wanted), number, ITERABLE)
        except InputError as error:
            report(placed(error, ITERABLE, number))
        else:
            yield row


def _json_object(line: str) -> dict[str, object]:
    try:
        value = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise InputError("not usable JSON (nested too deeply)") from error
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object in braces, found {kind_of_value(value)}")
    return value


def _pick(mapping: Mapping[str, object], wanted: WantedColumns) -> dict[str, str]:
    """The wanted values of one mapping as text."""
    values: dict[str, str] = {}
    for name in wanted.required:
        if wanted.theirs(name) not in mapping:
            raise InputError(wanted.missing([name], list(map(str, mapping))))
        read = to_text_or_texts if name in wanted.lists else to_text
        values[name] = read(mapping[wanted.theirs(name)], name)
    for name in wanted.optional:
        if wanted.theirs(name) in mapping:
            values[name] = to_text_or_json(mapping[wanted.theirs(name)], name)
    refuse_empty(values, wanted.required)
    for name in wanted.others(mapping):
        values[name] = to_text_or_json(mapping[name], name)
    return values


def placed(error: InputError, source: str, row: int) -> InputError:
    """An error with its file and row."""
    return InputError(error.message, source=source, row=row)
