"""Sentences from any file, one a row: as text, or as words that are cut already."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath

from softquery.errors import InputError
from softquery.files.archives import check_readable, split_suffix
from softquery.files.row import Report, Row
from softquery.files.rows import read_rows
from softquery.files.text_lines import text_blocks, without_blank_end

TEXT, TOKENS = "text", "tokens"
"""The columns of files that have columns; tokens go first where there are both."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One row of a file.

    Attributes:
        text: The text as it stands, blank where the row is, or the words of it.
        number: The row as an editor counts lines.
        source: The file.
    """

    text: str | list[str]
    number: int
    source: str


def read_sentences(
    path: str | PathLike[str],
    *,
    rename: Mapping[str, str] | None = None,
    on_bad: Report | None = None,
) -> Iterator[Sentence]:
    """Stream sentences from .txt, .tsv, .csv, .jsonl or .parquet, each also .gz, .xz or .bz2.

    Of a .txt, each line is one. Other forms have a column `text`, or `tokens` with a list of words,
    written as JSON where the form knows no lists. Blank rows are sentences without words; blank
    lines at the end of a file are none.

    Args:
        path: The file.
        rename: Our column's name to the file's, `{"text": "sentence1"}`.
        on_bad: Receives each bad row instead of the error being raised; the row is skipped.

    Raises:
        InputError: For any fault, naming file, row and what was expected; also for a file without
            a single sentence.
    """
    report = _raise if on_bad is None else on_bad
    source = fspath(path)
    check_readable(source)
    if split_suffix(source)[0] == ".txt":
        found = _lines(source, report)
    else:
        rows = read_rows(path, columns=(), optional=(TEXT, TOKENS), rename=rename, on_bad=on_bad)
        found = _sentences(rows, report)
    return _some(found, source)


def _some(sentences: Iterator[Sentence], source: str) -> Iterator[Sentence]:
    is_blank = True
    for sentence in sentences:
        if is_blank:
            is_blank = not (sentence.text.strip() if isinstance(sentence.text, str) else True)
        yield sentence
    if is_blank:
        raise InputError("holds no sentences", source=source)


def _lines(source: str, report: Report) -> Iterator[Sentence]:
    for block in without_blank_end(text_blocks(source)):
        for number, line in enumerate(block.lines, block.first):
            if number in block.faults:
                report(block.faults[number])
            else:
                yield Sentence(line, number, source)


def _sentences(rows: Iterator[Row], report: Report) -> Iterator[Sentence]:
    for row in rows:
        try:
            yield Sentence(_text(row.values), row.number, row.source)
        except InputError as error:
            report(InputError(error.message, source=row.source, row=row.number))


def _text(values: Mapping[str, str]) -> str | list[str]:
    if not values:
        raise InputError(
            f'no column "{TEXT}", nor "{TOKENS}"; other names are given with --columns {TEXT}=NAME'
        )
    if not values.get(TOKENS):
        return values.get(TEXT, "")
    try:
        words = json.loads(values[TOKENS])
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{TOKENS} must be a list of words, found {values[TOKENS]:.40}")
    return words


def _raise(error: InputError) -> None:
    raise error
