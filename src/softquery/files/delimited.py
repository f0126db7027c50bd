"""Rows from TSV, CSV and plain text files."""

import csv
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from softquery.errors import InputError, counted
from softquery.files.columns import ColumnLayout, WantedColumns, listed
from softquery.files.row import Report, Row
from softquery.files.text_lines import Block, Returns, text_blocks, without_blank_end


def tsv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a TSV: every tab separates, quotes are data, a line is a row."""
    layout: ColumnLayout | None = None
    for block in without_blank_end(text_blocks(path)):
        if layout is None:
            layout = _tsv_layout(block, path, wanted)
            block = Block(block.first + 1, block.lines[1:], block.faults)
        yield from _tsv_block(block, path, layout, report)
    if layout is None:
        raise InputError("is empty", source=path)


def csv_rows(path: str, wanted: WantedColumns, report: Report) -> Iterator[Row]:
    """Rows of a CSV, read strictly; a row is numbered by the line on which it starts."""
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
    """Rows of a plain text file: one text a line, for the single required column."""
    if len(wanted.required) != 1:
        message = (
            f"a .txt holds one text a line, but {len(wanted.required)} columns are needed "
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
    """The rows of one block; the loop that files of millions of rows are read by."""
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
    """Lines for the CSV reader; faults are kept until the record around them is known."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self.faults: dict[int, InputError] = {}
        self._blocks = blocks

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            self.faults |= block.faults
            for line in block.lines:
                yield line + "\n"

    def spoiled(self, end: int) -> list[InputError]:
        """The faults up to a line, each told once."""
        return [self.faults.pop(line) for line in sorted(self.faults) if line <= end]


def _csv_records(path: str, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Records with the line on which each starts; the first, a header, must be sound."""
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
    """Takes the wanted columns from a row."""
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
