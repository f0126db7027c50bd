"""Filters of a search for engines: the same rows meet them as in a folder.

What a cell measures, as a number or as a time, is computed when a row is stored, so that an engine
compares numbers and reads no text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from softquery.errors import InputError
from softquery.search.query.filters import (
    NUMBER,
    TIME,
    Where,
    as_text,
    bound_of,
    number_of,
    time_of,
)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A column has exactly one of some texts; or none of them, rows without any included."""

    column: str
    values: tuple[str, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Within:
    """What a column measures is within a bound.

    Attributes:
        column: The column.
        kind: `"number"` or `"time"`.
        operator: `<`, `<=`, `>` or `>=`.
        value: The bound; times are seconds since 1970.
        shown: The bound as it was given.
    """

    column: str
    kind: str
    operator: str
    value: float
    shown: str


Condition = OneOf | Within


def parsed_conditions(where: Where, columns: Sequence[str]) -> list[Condition]:
    """All conditions, each by itself; all of them must hold.

    Raises:
        InputError: The index has no such column.

    >>> parsed_conditions({"price": {"<": 20}}, ["price"])
    [Within(column='price', kind='number', operator='<', value=20.0, shown='20')]
    """
    found: list[Condition] = []
    for column, condition in where.items():
        if column not in columns:
            known = ", ".join(columns)
            raise InputError(f"no column {column!r:.60} to filter by; found: {known}")
        if isinstance(condition, Mapping):
            for operator, value in condition.items():
                if operator == "!=":
                    found.append(OneOf(column, (as_text(value),), is_negated=True))
                else:
                    kind, compared, least = bound_of(operator, value)
                    found.append(Within(column, kind, compared, least, as_text(value)))
        else:
            values = (condition,) if isinstance(condition, str) else tuple(condition)
            found.append(OneOf(column, values))
    return found


def measured(columns: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """What the cells of a row measure, by kind and column.

    >>> measured({"id": "7b", "price": "19.90", "begins": "1970-01-02"})
    {'number': {'price': 19.9}, 'time': {'begins': 86400.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for kind, read in ((NUMBER, number_of), (TIME, time_of)):
        values = {name: read(text) for name, text in columns.items()}
        found[kind] = {name: value for name, value in values.items() if value == value}
    return found
