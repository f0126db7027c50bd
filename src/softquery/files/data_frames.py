"""Columns of what others call a table: data frames, Arrow tables, data sets, columns by name.

pandas, polars, pyarrow and `datasets` are told by what they offer and never imported: whoever
hands over a frame has its package already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from softquery.errors import InputError
from softquery.files.row import listed

_LISTS = ("to_pylist", "to_list", "tolist")
"""How Arrow, data frames and arrays give plain Python values."""


class HasColumns(Protocol):
    """A data frame, for whoever checks types."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


class HasColumnNames(Protocol):
    """An Arrow table or a data set, for whoever checks types."""

    @property
    def column_names(self) -> Any:
        """The names of the columns."""


Table = HasColumns | HasColumnNames | Mapping[str, Sequence[Any]]


def is_table(given: object) -> bool:
    """Whether something has columns by name.

    >>> is_table({"text": ["a", "b"]}), is_table({"text": "a"}), is_table(["a"])
    (True, False, False)
    """
    return _names(given) is not None


def column_names(table: object) -> list[Any]:
    """The names of a table's columns."""
    found = _names(table)
    return [] if found is None else list(found)


def column(table: Any, name: str) -> list[Any]:
    """The values of one column as plain Python values.

    >>> column({"text": ["a", "b"]}, "text")
    ['a', 'b']
    """
    return plain_values(table[name])


def table_columns(table: object, names: Sequence[str], *, instead: str) -> list[list[Any]]:
    """Several columns of a table.

    Args:
        table: The table.
        names: The columns that are needed.
        instead: What to type where one of them is called something else.

    Raises:
        InputError: A column is missing, two have its name, or nothing can be read off the table.
    """
    source = f"the {kind_of_table(table)}"
    if _is_lazy(table):
        raise InputError("has not been computed yet; write .collect()", source=source)
    found = column_names(table)
    if isinstance(table, Mapping) and any(is_table(each) for each in table.values()):
        raise InputError(f'holds several tables; choose one, such as ["{found[0]}"]', source=source)
    for name in names:
        if (count := found.count(name)) > 1:
            raise InputError(f'{count} columns are called "{name}"', source=source)
        if not count:
            there = listed([str(each) for each in found])
            raise InputError(f'no column "{name}"; found: {there}; {instead}', source=source)
    columns = [column(table, name) for name in names]
    lengths = {len(each) for each in columns}
    if len(lengths) > 1:
        raise InputError(
            f"columns differ in length: {', '.join(str(len(each)) for each in columns)} rows",
            source=source,
        )
    return columns


def table_rows(table: Any) -> Iterator[dict[str, Any]]:
    """The rows of a table as mappings, what is missing as None.

    >>> list(table_rows({"question": ["a", "b"], "answer": ["x", float("nan")]}))
    [{'question': 'a', 'answer': 'x'}, {'question': 'b', 'answer': None}]
    """
    names = column_names(table)
    columns = table_columns(table, names, instead="name each column once")
    for values in zip(*columns, strict=True):
        yield {name: _present(value) for name, value in zip(names, values, strict=True)}


def given_rows(source: Any) -> Iterable[Mapping[str, object]]:
    """Rows in memory: an iterable of mappings as it is, or the rows of a table.

    Raises:
        TypeError: It is neither.

    >>> given_rows({"question": "How do I pay?"})
    Traceback (most recent call last):
    TypeError: expected a file or a list of mappings, got one mapping; put brackets around it: [{…}]
    """
    if is_table(source):
        return table_rows(source)
    expected = "expected a file or a list of mappings, got"
    if isinstance(source, Mapping):
        raise TypeError(f"{expected} one mapping; put brackets around it: [{{…}}]")
    if isinstance(source, (bytes, bytearray)) or not isinstance(source, Iterable):
        raise TypeError(f"{expected} {type(source).__name__}")
    return source


def plain_values(given: Any) -> list[Any]:
    """A column, an array or another iterable as a list of plain Python values."""
    for name in _LISTS:
        if callable(convert := getattr(given, name, None)):
            found = convert()
            return found if isinstance(found, list) else [found]
    return list(given)


def kind_of_table(table: object) -> str:
    """The table as messages name it: by its class."""
    return type(table).__name__


def _names(given: object) -> Iterable[Any] | None:
    if isinstance(given, Mapping):
        values = list(given.values())
        is_one = values and all(_is_column(each) or is_table(each) for each in values)
        return list(given) if is_one else None
    if isinstance(given, (str, bytes, list, tuple)) or not hasattr(given, "__getitem__"):
        return None
    if _is_lazy(given):
        return ()
    names = getattr(given, "column_names", None)  # Arrow, data sets
    names = getattr(given, "columns", None) if names is None else names  # pandas, polars
    return names if isinstance(names, Iterable) and not isinstance(names, str) else None


def _is_lazy(given: object) -> bool:
    """Whether it is the plan of a table, which is asked for nothing, because that may cost much."""
    return hasattr(given, "collect") and hasattr(type(given), "columns")


def _is_column(given: object) -> bool:
    if isinstance(given, (list, tuple)):
        return True
    has_length = hasattr(given, "__len__") and not isinstance(given, str)
    return has_length and any(hasattr(given, name) for name in _LISTS)


def _present(value: Any) -> Any:
    """A cell; not-a-number is how frames spell what is missing."""
    if isinstance(value, float) and np.isnan(value):
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
