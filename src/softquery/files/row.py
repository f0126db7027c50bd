"""What every reader of rows hands over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from softquery.errors import InputError

Report: TypeAlias = Callable[[InputError], None]
"""Takes a bad row; if it returns, the row is skipped."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file.

    Attributes:
        values: The text of each column by name.
        number: The row as an editor counts lines; the header of a TSV or CSV is row 1.
        source: The file, or `"the iterable"`.
    """

    values: dict[str, str]
    number: int
    source: str
