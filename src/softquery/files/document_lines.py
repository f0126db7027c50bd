"""Running text by documents: where one ends and the next begins."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from softquery.files.archives import split_suffix
from softquery.files.rows import read_rows
from softquery.files.text_lines import open_text
from softquery.files.text_rows import COLUMN

HEADING: Final = re.compile(r"\s*=\s[^=](?:.*[^=])?\s=\s*")
"""A title as Wikipedia's plain text marks it, `= Title =`; sections have more signs."""


class DocumentLine(NamedTuple):
    """A line of text, and whether it opens a document."""

    text: str
    opens: bool


def read_lines(
    paths: Iterable[Path], *, rename: Mapping[str, str] | None = None
) -> Iterator[DocumentLine]:
    """Every line of some files, streamed.

    Of a .txt, a document ends at a blank line, before a heading such as `= Title =`, and with the
    file. In other forms every row of the column `text` is a document.

    Args:
        paths: Files, plain or compressed.
        rename: Our column's name to that of the files, `{"text": "sentence1"}`.
    """
    for path in paths:
        if split_suffix(path)[0] == ".txt":
            yield from _lines(path)
        else:
            rows = read_rows(path, columns=[COLUMN], rename=rename)
            yield from (DocumentLine(row.values[COLUMN], True) for row in rows)


def _lines(path: Path) -> Iterator[DocumentLine]:
    opens = True
    with open_text(path) as lines:
        for line in lines:
            if not line or line.isspace():
                opens = True
                continue
            yield DocumentLine(line, opens or HEADING.fullmatch(line) is not None)
            opens = False
