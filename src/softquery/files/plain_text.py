"""Text without labels: texts, documents and sentences from any number of files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import Final, NamedTuple

from softquery.errors import InputError
from softquery.files.row import Report, Row, listed
from softquery.files.row_files import read_rows
from softquery.files.text_lines import (
    BLOCK_SIZE,
    COMPRESSIONS,
    check_readable,
    open_text,
    split_suffix,
    text_blocks,
    without_blank_end,
)

FORMS = (".txt", ".tsv", ".csv", ".jsonl", ".parquet")
COLUMN = "text"
"""The column of the text in files with columns."""


def find_texts(folder: str | PathLike[str], split: str) -> list[Path]:
    """The files of a split in the order of their names: train.txt, or train-00.txt.xz and so on.

    Raises:
        InputError: If there is none, listing the files.
    """
    try:
        names = sorted(entry.name for entry in Path(folder).iterdir())
    except NotADirectoryError as error:
        raise InputError("is a file, expected a folder", source=folder) from error
    except OSError as error:
        raise InputError(f"no such folder ({error.strerror})", source=folder) from error
    endings = [form + packed for form in FORMS for packed in ["", *COMPRESSIONS]]
    named = re.compile(rf"{re.escape(split)}(-[^.]*)?({'|'.join(map(re.escape, endings))})")
    found = [Path(folder) / name for name in names if named.fullmatch(name)]
    if not found:
        raise InputError(
            f"no text for {split}, such as {split}.txt or {split}-00.txt.xz; found: "
            f"{listed(names)}",
            source=folder,
        )
    for path in found:
        check_readable(path)
    return found


def read_texts(paths: Iterable[Path], *, rename: Mapping[str, str] | None = None) -> Iterator[str]:
    """Stream the texts of some files.

    In a .txt each line that is not blank is a text; other formats have a column `text`.

    Args:
        paths: Files, plain or compressed.
        rename: Our column's name to that of the files, `{"text": "sentence1"}`.
    """
    for path in paths:
        if split_suffix(path)[0] == ".txt":
            with open_text(path) as lines:
                yield from (line for line in lines if line and not line.isspace())
        else:
            rows = read_rows(path, columns=[COLUMN], rename=rename)
            yield from (row.values[COLUMN] for row in rows)


def fingerprint(paths: Iterable[Path]) -> str:
    """A hash of the names, contents and order of files, regardless of their folder."""
    digest = sha256()
    for path in paths:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(BLOCK_SIZE):
                digest.update(block)
    return digest.hexdigest()[:16]


HEADING: Final = re.compile(r"\s*=\s[^=](?:.*[^=])?\s=\s*")
"""A title in Wikipedia's plain text, `= Title =`; sections have more equals signs."""


class DocumentLine(NamedTuple):
    """A line of text, and whether it begins a document."""

    text: str
    opens: bool


def read_lines(
    paths: Iterable[Path], *, rename: Mapping[str, str] | None = None
) -> Iterator[DocumentLine]:
    """Stream the lines of some files.

    In a .txt, a document ends at a blank line, before a heading such as `= Title =`, and with the
    file. In other formats every row of the column `text` is a document.

    Args:
        paths: Files, plain or compressed.
        rename: Our column's name to that of the files, `{"text": "sentence1"}`.
    """
    for path in paths:
        if split_suffix(path)[0] == ".txt":
            yield from _document_lines(path)
        else:
            rows = read_rows(path, columns=[COLUMN], rename=rename)
            yield from (DocumentLine(row.values[COLUMN], True) for row in rows)


def _document_lines(path: Path) -> Iterator[DocumentLine]:
    opens = True
    with open_text(path) as lines:
        for line in lines:
            if not line or line.isspace():
                opens = True
                continue
            yield DocumentLine(line, opens or HEADING.fullmatch(line) is not None)
            opens = False


TRAIN = "train"


def find_shards(path: str | PathLike[str]) -> list[Path]:
    """The text files of a corpus, in the order of their names.

    In a folder these are the files that end in `.txt`, plain or compressed. If the names of some
    begin with `train`, the others are ignored: they are for evaluation. Language models, which need
    splits, use `find_texts`.

    Args:
        path: A text file with any name, or a folder.

    Raises:
        InputError: If there is no file to read.
    """
    place = Path(path)
    if not place.is_dir():
        check_readable(place)
        return [place]
    try:
        texts = sorted(each for each in place.iterdir() if split_suffix(each)[0] == ".txt")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from error
    files = [each for each in texts if each.is_file() and not each.name.startswith(".")]
    if not files:
        raise InputError("holds no .txt files (plain or .gz, .xz, .bz2)", source=path)
    chosen = [each for each in files if each.name.startswith(TRAIN)]
    return chosen or files


TEXT, TOKENS = "text", "tokens"
"""The columns of files with columns; tokens take precedence over text."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One row of a file.

    Attributes:
        text: The text of the row, which may be blank, or its words.
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

    In a .txt, each line is a sentence. Other formats have a column `text`, or `tokens` with a list
    of words, as JSON where the format has no lists. Blank rows are sentences without words; blank
    lines at the end of a file are ignored.

    Args:
        path: The file.
        rename: Our column's name to the file's, `{"text": "sentence1"}`.
        on_bad: Called with the error of each bad row, which is then skipped.

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
