"""The same columns as every kind of table that people hand over, by the name of its package."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

Columns = Mapping[str, Sequence[Any]]


class PlainFrame:
    """A data frame with as little as pandas and polars have in common."""

    def __init__(self, columns: Columns) -> None:
        self._columns = dict(columns)

    @property
    def columns(self) -> "Names":
        """The names, which are neither true nor false, as those of pandas."""
        return Names(self._columns)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))


class Names(list[str]):
    """Refuses to be a condition."""

    def __bool__(self) -> bool:
        raise ValueError("the truth value is ambiguous")


def _data_set(columns: Columns) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(columns)


TABLES: dict[str, Callable[[Columns], Any]] = {
    "dict": dict,
    "plain": PlainFrame,
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    "record batch": lambda columns: pytest.importorskip("pyarrow").RecordBatch.from_pydict(columns),
    "datasets": _data_set,
}
"""Makers of tables; one whose package is missing skips the test and says so."""

STREAMS: dict[str, Callable[[Columns], Any]] = {
    "rows": lambda columns: [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ],
    "streamed datasets": lambda columns: _data_set(columns).to_iterable_dataset(),
}
"""Makers of rows that come one by one."""
