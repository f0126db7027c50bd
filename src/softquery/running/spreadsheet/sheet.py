"""Read a spreadsheet whatever it looks like: delimiter, header or the lack of one, and rows.

Nothing is guessed in silence: `Sheet.told` says what was taken for what.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import InputError, counted
from softquery.files import Row, read_rows
from softquery.files.delimiters import DELIMITERS, delimiter_of
from softquery.files.text_lines import split_suffix
from softquery.running.spreadsheet.column_names import is_known

Given = str | PathLike[str] | Iterable[Mapping[str, object]]
"""A file; or rows in memory: a data frame, a data set, or a list of mappings."""
FORMS = (".csv", ".tsv", ".jsonl", ".parquet")
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
MOST_BAD = 0.05
"""Share of rows that may be unreadable before the file is refused."""
LOOKED_AT = 300
"""Rows by which it is decided whether the first one is a header."""
IN_MEMORY = "the rows"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """The rows of a table with all their columns."""

    source: str
    names: tuple[str, ...]
    """Of the columns; `#1`, `#2`, … where the file has no header."""
    rows: list[Row]
    told: tuple[str, ...]
    """What was found, a line each."""
    bad: tuple[InputError, ...] = ()
    """Rows that could not be read, and are left out."""

    @property
    def has_header(self) -> bool:
        """Whether columns have names."""
        return not self.names[0].startswith("#")

    def column(self, name: str) -> list[str]:
        """The cells of a column."""
        return [row.values.get(name, "") for row in self.rows]


def read_sheet(given: Given, rename: Mapping[str, str] | None = None) -> Sheet:
    """Read a table.

    Args:
        given: The file, or rows in memory.
        rename: What a user says of the columns: `#1` says that there is no header.

    Raises:
        InputError: It is no table, or too much of it cannot be read.
    """
    if not isinstance(given, (str, PathLike)):
        return _rows_in_memory(given)
    path = fspath(given)
    form = split_suffix(path)[0]
    _check_form(path, form)
    if form in (".jsonl", ".parquet"):
        return _read(path, (), f"{path}: {form.removeprefix('.').upper()}")
    delimiter = "\t" if form == ".tsv" else delimiter_of(path)
    first = _records(path, False)
    width = len(first[0].values)
    told = f"{path}: {DELIMITERS[delimiter]} between {counted(width, 'column')}"
    if any(theirs.startswith("#") for theirs in (rename or {}).values()):
        return _read(path, _places(width), f"{told}, no header (--columns names places)")
    if rename:
        return _read(path, (), f"{told}, the first row is the header")
    reason = header_reason(_records(path, True))
    if reason is None:
        return _read(path, _places(width), f"{told}, no header (row 1 is like the others)")
    return _read(path, (), f"{told}, the first row is the header ({reason})")


def _check_form(path: str, form: str) -> None:
    if form in WORKBOOKS:
        raise InputError(
            "is a workbook; save the sheet as “CSV UTF-8” (File, Save as) and name that file",
            source=path,
        )
    if form not in FORMS:
        raise InputError(
            f"expected a table whose name ends in {', '.join(FORMS)}, plain or .gz, .xz, .bz2",
            source=path,
        )


def _places(width: int) -> tuple[str, ...]:
    return tuple(f"#{place}" for place in range(1, width + 1))


def _records(path: str, by_place: bool) -> list[Row]:
    """The first records, the header among them, with the cells by their places."""
    # As many places as there are is known once a record has been read; one is always there.
    bad: list[InputError] = []  # is told when all rows are read
    rows = read_rows(
        path,
        columns=(),
        optional=("#1",),
        rename={"#1": "#1"},
        keep_others=True,
        on_bad=bad.append,
    )
    found = list(islice(rows, LOOKED_AT if by_place else 1))
    if not found:
        raise InputError("is empty", source=path)
    return found


def header_reason(records: Sequence[Row]) -> str | None:
    """Why the first record is a header; None where it is data.

    A header is told by a name that columns often have, and by being unlike what stands below it.
    """
    first, *rest = [list(record.values.values()) for record in records]
    known = [cell for cell in first if is_known(cell)]
    if known:
        return f"it names “{known[0]}”"
    if not all(cell.strip() for cell in first) or len(set(first)) < len(first):
        return None
    if not rest or any(_is_number(cell) for cell in first):
        return None
    columns = list(zip(*(each for each in rest if len(each) == len(first)), strict=True))
    for name, cells in zip(first, columns, strict=False):
        if all(_is_number(cell) for cell in cells):
            return f"“{name}” stands above numbers"
    if any(name in cells for name, cells in zip(first, columns, strict=False)):
        return None  # a label that comes again, or a text
    longest = max(len(cell) for cell in first)
    usual = max((sum(map(len, cells)) / len(cells) for cells in columns), default=0.0)
    if longest <= 30 and longest < usual:
        return "its cells are short, and none of them comes again"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _read(path: str, places: tuple[str, ...], told: str) -> Sheet:
    bad: list[InputError] = []
    rows = list(
        read_rows(
            path,
            columns=(),
            optional=places[:1],
            rename={name: name for name in places[:1]},
            keep_others=True,
            on_bad=bad.append,
        )
    )
    if not rows:
        if bad:
            raise bad[0]
        raise InputError("holds a header and no rows", source=path)
    if len(bad) > MOST_BAD * (len(rows) + len(bad)):
        raise bad[0]
    names = places or tuple(dict.fromkeys(name for row in rows[:LOOKED_AT] for name in row.values))
    return Sheet(source=path, names=names, rows=rows, told=(told,), bad=tuple(bad))


def _rows_in_memory(given: Iterable[Mapping[str, object]]) -> Sheet:
    rows = [
        Row(row.values, row.number, IN_MEMORY)
        for row in read_rows(given, columns=(), keep_others=True)
    ]
    if not rows:
        raise InputError("there are none", source=IN_MEMORY)
    names = tuple(dict.fromkeys(name for row in rows[:LOOKED_AT] for name in row.values))
    if not names:
        raise InputError("have no columns", source=IN_MEMORY)
    return Sheet(source=IN_MEMORY, names=names, rows=rows, told=())


def output_of(given: Given) -> Path | None:
    """The folder that a run on a file writes by default, named after the file."""
    if not isinstance(given, (str, PathLike)):
        return None
    name = Path(fspath(given)).name
    stem = name.split(".")[0]
    return Path(stem if stem and stem != name else f"{name}-model")
