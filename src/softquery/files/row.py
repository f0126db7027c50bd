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


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedSentence:
    """Tokens as they stand in a file, each with its tag where tags were asked for.

    Attributes:
        tokens: At least one.
        tags: As many, or None.
        rows: The row of each token, as an editor counts lines.
        source: The file.
    """

    tokens: list[str]
    tags: list[str] | None
    rows: list[int]
    source: str


@dataclass(frozen=True, slots=True)
class UntaggedText:
    """A text as it is written, or as a list of tokens.

    Attributes:
        text: One or the other.
        number: The row where it begins, as an editor counts lines.
        source: The file.
    """

    text: str | list[str]
    number: int
    source: str
