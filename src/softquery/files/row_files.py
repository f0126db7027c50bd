"""Rows with named columns from any file or iterable, streamed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import InputError
from softquery.files.data_frames import given_rows
from softquery.files.parquet_rows import parquet_rows
from softquery.files.row import Report, Row, WantedColumns, listed
from softquery.files.row_formats import (
    csv_rows,
    jsonl_rows,
    mapping_rows,
    tsv_rows,
    txt_rows,
)
from softquery.files.text_lines import COMPRESSIONS, check_readable, open_text, split_suffix

_READERS: dict[str, Callable[[str, WantedColumns, Report], Iterator[Row]]] = {
    ".tsv": tsv_rows,
    ".csv": csv_rows,
    ".jsonl": jsonl_rows,
    ".parquet": parquet_rows,
    ".txt": txt_rows,
}
"""Readers by the ending of a file, which may be followed by one of `COMPRESSIONS`."""


def read_rows(
    source: str | PathLike[str] | Iterable[Mapping[str, object]],
    *,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    keep_others: bool = False,
    lists: Sequence[str] = (),
    on_bad: Callable[[InputError], None] | None = None,
) -> Iterator[Row]:
    r"""Stream rows from .tsv, .csv, .jsonl, .parquet or .txt, each also .gz, .xz or .bz2.

    A TSV has no quoting: every tab separates and quotes are data. A CSV is read strictly and may
    hold line ends inside quotes; semicolons or tabs may stand in place of its commas. JSONL holds
    one object per line; numbers become text as written. A .txt holds one text per line, for the
    single required column. Blank lines at the end of a file are ignored. A header without rows
    yields nothing.

    Args:
        source: A file; or an iterable of mappings, a data frame, an Arrow table or a data set.
        columns: Columns that must exist and must not be blank.
        optional: Columns that are read where the file has them, and may be empty.
        rename: Our name to the file's name, as `parse_columns` reads it; `#1` is the first column
            of a table without a header.
        keep_others: Whether other columns are read, too, under the file's names.
        lists: Those of `columns` that may hold a list of texts, which becomes JSON.
        on_bad: Called with the error of each bad row, which is then skipped. Faults of the whole
            file (a truncated archive, a missing column) are raised in any case.

    Raises:
        InputError: For any fault, naming file, row and what was expected.

    >>> next(read_rows([{"q1": "a man eats"}], columns=["text"], rename={"text": "q1"}))
    Row(values={'text': 'a man eats'}, number=1, source='the data')
    """
    wanted = WantedColumns(
        required=tuple(columns),
        optional=tuple(optional),
        rename=checked_names(rename),
        keep_others=keep_others,
        lists=tuple(lists),
    )
    report = _raise if on_bad is None else on_bad
    if not isinstance(source, (str, PathLike)):
        return mapping_rows(given_rows(source), wanted, report)
    path = fspath(source)
    check_readable(path)
    reader = _READERS.get(split_suffix(path)[0])
    if reader is None:
        message = f"unknown kind of file; expected a name ending in {_known_suffixes()}"
        raise InputError(message, source=path)
    return reader(path, wanted, report)


def checked_names(names: Mapping[str, str] | None) -> dict[str, str]:
    """Our column names to those of a file, as a caller gives them.

    >>> checked_names(["text"])
    Traceback (most recent call last):
    TypeError: expected column names such as {"text": "title"}, got ['text']
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise TypeError(f'expected column names such as {{"text": "title"}}, got {names!r:.40}')
    return dict(names)


def find_split(
    folder: str | PathLike[str], split: str, *, forms: Sequence[str] | None = None
) -> Path:
    """The one file of a data folder that holds a split, such as train.tsv or train.jsonl.gz.

    Args:
        folder: The data folder.
        split: Such as `"train"`.
        forms: Possible endings; by default those that `read_rows` knows.

    Raises:
        InputError: If there is no such file or more than one, listing the files.
    """
    try:
        names = sorted(entry.name for entry in Path(folder).iterdir())
    except NotADirectoryError as error:
        raise InputError("is a file, expected a folder", source=folder) from error
    except OSError as error:
        raise InputError(f"no such folder ({error.strerror})", source=folder) from error
    endings = tuple(_READERS) if forms is None else tuple(forms)
    known = {split + form + packed for form in endings for packed in ["", *COMPRESSIONS]}
    found = [name for name in names if name in known]
    if len(found) == 1:
        return Path(folder) / found[0]
    if found:
        raise InputError(f"expected one file for {split}, found {listed(found)}", source=folder)
    examples = f"{split}{endings[0]} or {split}.jsonl.gz"
    message = f"no file for {split}, such as {examples}; found: {listed(names)}"
    raise InputError(message, source=folder)


def _known_suffixes() -> str:
    return f"{', '.join(_READERS)}, each plain or {', '.join(COMPRESSIONS)}"


def _raise(error: InputError) -> None:
    raise error


def read_aligned(
    folder: str | PathLike[str], split: str, endings: tuple[str, str]
) -> tuple[list[Row], int]:
    """Rows with `source` and `target` from two files that are aligned line by line.

    Such files are a text and its translation, `train.de` and `train.en`. Pairs with a blank side
    are omitted.

    Args:
        folder: Holds the files, plain or compressed.
        split: Such as `"train"`.
        endings: The endings of both files, the source first, such as `("de", "en")`.

    Returns:
        The rows, and how many pairs were omitted.

    Raises:
        InputError: If a file is missing, or the files differ in the number of lines.
    """
    paths = [find_split(folder, split, forms=(f".{ending}",)) for ending in endings]
    rows: list[Row] = []
    number = num_blank = 0
    with open_text(paths[0]) as sources, open_text(paths[1]) as targets:
        for source, target in zip_longest(sources, targets):
            number += 1
            if source is None or target is None:
                shorter = paths[0 if source is None else 1]
                raise InputError(
                    f"ends here, but {_other(paths, shorter).name} goes on; "
                    "expected as many lines in both",
                    source=shorter,
                    row=number,
                )
            if source.strip() and target.strip():
                rows.append(Row({"source": source, "target": target}, number, str(paths[0])))
            else:
                num_blank += 1
    return rows, num_blank


def _other(paths: list[Path], one: Path) -> Path:
    return paths[1] if one == paths[0] else paths[0]
