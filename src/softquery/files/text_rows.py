"""Plain text in any number of files: a corpus without labels."""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path

from softquery.errors import InputError
from softquery.files.archives import BLOCK_SIZE, COMPRESSIONS, check_readable, split_suffix
from softquery.files.columns import listed
from softquery.files.rows import read_rows
from softquery.files.text_lines import open_text

FORMS = (".txt", ".tsv", ".csv", ".jsonl", ".parquet")
COLUMN = "text"
"""The column that holds the text in files that have columns."""


def find_texts(folder: str | PathLike[str], split: str) -> list[Path]:
    """The files of a split in the order of their names: train.txt, or train-00.txt.xz and on.

    Raises:
        InputError: Where there is none, listing what is there.
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
    """Every text of some files, one after the other, streamed.

    Of a .txt each line is one, and blank lines are none; other forms have a column `text`.

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
    """A hash of what files hold and of the order they stand in, whatever their folder is called."""
    digest = sha256()
    for path in paths:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(BLOCK_SIZE):
                digest.update(block)
    return digest.hexdigest()[:16]
