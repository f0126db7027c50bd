"""The rows that an index is tuned on."""

from collections.abc import Iterable, Mapping
from os import PathLike

from softquery.errors import InputError
from softquery.files import Row, read_rows

TuneSource = str | PathLike[str] | Iterable[Mapping[str, object]]
OPTIONAL = ("doc", "relevance", "shown", "chosen")


def read_tune_rows(source: TuneSource, columns: Mapping[str, str] | None) -> list[Row]:
    """Labelled queries, or a log of clicks; the file says by its columns which.

    Raises:
        InputError: A row is bad, or there is none.
    """
    rows = list(read_rows(source, columns=("query",), optional=OPTIONAL, rename=columns))
    if not rows:
        name = source if isinstance(source, (str, PathLike)) else "the data"
        raise InputError("holds no rows", source=name)
    return rows
