"""Which rows a search may find: conditions on columns, by equality, by number and by date.

| condition | holds for |
|---|---|
| `"refunds"` | rows with exactly this text |
| `["refunds", "payment"]` | rows with one of these texts |
| `{"<": 20, ">=": 5}` | rows whose column is a number within bounds |
| `{">=": "2026-01-01"}` | rows whose column is a date or a time within bounds |
| `{"!=": "draft"}` | rows with another text, or without any |
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, InputError
from softquery.search.storage.segment import Segment

Bound = str | int | float | date
Bounds = Mapping[Any, Bound]
Where = Mapping[str, str | Sequence[str] | Bounds]
"""Columns, each with the value that it must have, with several of which it must have one, or with
operators and the values to compare with."""
Masks = Sequence[NDArray[np.bool_]]
"""Which rows of each segment may be found."""
Mask = NDArray[np.bool_]
OPERATORS = ("<", "<=", ">", ">=", "!=")
NUMBER, TIME = "number", "time"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
DAY = 86_400.0


def allowed_rows(segments: Sequence[Segment], where: Where) -> list[Mask]:
    """Which rows of each segment are not deleted and meet all conditions.

    Raises:
        InputError: No row has such a column, or a column holds nothing that could be compared.
    """
    known = dict.fromkeys(column for segment in segments for column in segment.shape.columns)
    for column in where:
        if segments and column not in known:
            raise InputError(f"no column {column!r:.60} to filter by; found: {', '.join(known)}")
    masks: list[Mask] = [segment.live for segment in segments]
    for column, condition in where.items():
        if isinstance(condition, Mapping):
            found = _within(segments, column, condition)
        else:
            values = [condition] if isinstance(condition, str) else condition
            found = [segment.cells.holds(column, *values) for segment in segments]
        masks = [mask & each for mask, each in zip(masks, found, strict=True)]
    return masks


def _within(segments: Sequence[Segment], column: str, bounds: Bounds) -> list[Mask]:
    """Which rows of each segment are within bounds."""
    masks = [np.ones(len(segment), dtype=np.bool_) for segment in segments]
    for operator, value in bounds.items():
        if operator == "!=":
            each = [~segment.cells.holds(column, as_text(value)) for segment in segments]
        else:
            each = _compared(segments, column, operator, value)
        masks = [mask & more for mask, more in zip(masks, each, strict=True)]
    return masks


def _compared(segments: Sequence[Segment], column: str, operator: str, value: Bound) -> list[Mask]:
    kind, operator, least = bound_of(operator, value)
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[operator]
    read = number_of if kind == NUMBER else time_of
    values = [segment.cells.measured(column, kind, read) for segment in segments]
    if any(map(len, values)) and all(bool(np.isnan(each).all()) for each in values):
        what = "a number" if kind == NUMBER else "a date such as 2026-01-31"
        message = f"column {column!r:.60} holds nowhere {what} to compare with {as_text(value)!r}"
        raise InputError(message)
    return [compare(each, least) for each in values]  # NaN is within no bounds


def bound_of(operator: str, value: Bound) -> tuple[str, str, float]:
    """What a bound compares: whether numbers or times, by which operator, and with what.

    >>> bound_of("<=", "1970-01-01"), bound_of("<=", 5)
    (('time', '<', 86400.0), ('number', '<=', 5.0))
    """
    kind, least, is_day = parsed_bound(value)
    if is_day and operator in ("<=", ">"):  # all of that day, whatever the time
        return kind, {"<=": "<", ">": ">="}[operator], least + DAY
    return kind, operator, least


def parsed_bound(value: Bound) -> tuple[str, float, bool]:
    """Whether a bound is a number or a time, its value, and whether it is a whole day.

    Raises:
        ConfigError: It is neither.

    >>> parsed_bound("20"), parsed_bound("1970-01-02")
    (('number', 20.0, False), ('time', 86400.0, True))
    """
    text = as_text(value).strip()
    if not math.isnan(number := number_of(text)):
        return NUMBER, number, False
    if not math.isnan(moment := time_of(text)):
        return TIME, moment, _DATE.fullmatch(text) is not None
    raise ConfigError(
        f"where compares with a number or a date such as 2026-01-31, got {text!r:.40}"
    )


def number_of(text: str) -> float:
    """A text as a finite number, or NaN.

    >>> number_of(" 19.90 "), number_of("19 euros"), number_of("1_000")
    (19.9, nan, nan)
    """
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) and "_" not in text else math.nan


def time_of(text: str) -> float:
    """An ISO date or time as seconds since 1970, or NaN; without a zone, UTC is meant.

    >>> time_of("1970-01-01T02:00+01:00"), time_of("1970-01-01 00:00:05Z"), time_of("tomorrow")
    (3600.0, 5.0, nan)
    """
    text = text.strip()
    if not _DATE.match(text):
        return math.nan
    try:
        found = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return math.nan
    zoned = found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    return (zoned - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(seconds=1)


def check_where(where: object) -> None:
    """Refuse conditions that no row can meet."""
    if not isinstance(where, Mapping):
        message = f"where is of type {type(where).__name__}, expected columns with their values"
        raise ConfigError(message)
    for column, value in where.items():
        if not isinstance(column, str):
            raise ConfigError(f"where names a column {column!r:.40}, expected text")
        if isinstance(value, Mapping):
            _check_bounds(column, value)
            continue
        is_one = isinstance(value, (str, bytes)) or not isinstance(value, Collection)
        for each in [value] if is_one else value:
            if not isinstance(each, str):
                kind = type(each).__name__
                raise ConfigError(
                    f"where: the value of {column!r:.40} is of type {kind}, expected text"
                )


def _check_bounds(column: str, bounds: Mapping[object, object]) -> None:
    if not bounds:
        raise ConfigError(f"where: {column!r:.40} has no bounds, expected such as {{'<': 20}}")
    for operator, value in bounds.items():
        if operator not in OPERATORS:
            known = " ".join(OPERATORS)
            raise ConfigError(
                f"where: {column!r:.40} has {operator!r:.40}, expected one of {known}"
            )
        if isinstance(value, bool) or not isinstance(value, (str, int, float, date)):
            kind = type(value).__name__
            message = f"where: {column!r:.40} {operator} a value of type {kind}"
            raise ConfigError(f"{message}, expected a number, a date or text")
        if operator != "!=":
            parsed_bound(value)


def as_text(value: Bound) -> str:
    """A bound as a cell would hold it."""
    return value.isoformat() if isinstance(value, date) else str(value)


def parse_conditions(conditions: Sequence[str]) -> dict[str, str | list[str] | dict[str, str]]:
    """Conditions as they are typed; of several values of one column, any will do.

    Raises:
        ConfigError: One is none, or a column has a value and bounds.

    >>> parse_conditions(["category=refunds", "category=payment", "price<20", "price >= 5"])
    {'category': ['refunds', 'payment'], 'price': {'<': '20', '>=': '5'}}
    """
    values: dict[str, list[str]] = {}
    bounds: dict[str, dict[str, str]] = {}
    for condition in conditions:
        found = re.match(r"([^=<>!]*)(<=|>=|!=|<|>|=)(.*)", condition, re.DOTALL)
        if found is None or not found[1].strip():
            message = f"--where takes column=value, or < <= > >= != for =, got {condition!r:.60}"
            raise ConfigError(message)
        column, operator, value = found[1].strip(), found[2], found[3]
        if operator == "=":
            values.setdefault(column, []).append(value)
            continue
        its_own = bounds.setdefault(column, {})
        if operator in its_own:
            raise ConfigError(f"--where names {column!r:.40} {operator} twice")
        its_own[operator] = value.strip()
    for column in values.keys() & bounds.keys():
        raise ConfigError(f"--where names {column!r:.40} with = and with bounds; name one of them")
    return {**values, **bounds}
