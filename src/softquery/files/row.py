"""Rows of files, and the columns that a caller asks for."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from typing import TypeAlias

from softquery.errors import InputError

Report: TypeAlias = Callable[[InputError], None]
"""Called with the error of a bad row; if it returns, the row is skipped."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file.

    Attributes:
        values: The text of each column by name.
        number: The row as an editor counts lines; the header of a TSV or CSV is row 1.
        source: The file, or `"the data"`.
    """

    values: dict[str, str]
    number: int
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedSentence:
    """The tokens of a sentence, with their tags where these were asked for.

    Attributes:
        tokens: At least one token.
        tags: One tag per token, or None.
        rows: The row of each token, as an editor counts lines.
        source: The file.
    """

    tokens: list[str]
    tags: list[str] | None
    rows: list[int]
    source: str


@dataclass(frozen=True, slots=True)
class UntaggedText:
    """A text to be tagged: a string, or a list of tokens.

    Attributes:
        text: The string or the tokens.
        number: The row where it begins, as an editor counts lines.
        source: The file.
    """

    text: str | list[str]
    number: int
    source: str


_PLACE = re.compile(r"#[1-9][0-9]*")
"""A column by its place, in a file without a header."""
_MOST_NAMES = 12
_LONGEST_NAME = 40


def parse_columns(spec: str) -> dict[str, str]:
    """Parse `--columns` of the command line: our names to the file's names.

    >>> parse_columns("sentence1=q1, sentence2=q2")
    {'sentence1': 'q1', 'sentence2': 'q2'}
    """
    columns: dict[str, str] = {}
    for part in spec.split(","):
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not (ours and equals and theirs):
            message = f'expected NAME=COLUMN,NAME=COLUMN,… such as sentence1=q1, found "{part}"'
            raise InputError(message, source="--columns")
        if ours in columns:
            raise InputError(f'"{ours}" is named twice', source="--columns")
        columns[ours] = theirs
    return columns


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The indices of the wanted columns in a row, required columns first.

    Attributes:
        names: Our names of the columns.
        indices: Their indices in a row of the file.
        num_required: How many of them must not be empty.
        header: All column names of the file.
        lists: Required columns that may hold a list of texts.
    """

    names: tuple[str, ...]
    indices: tuple[int, ...]
    num_required: int
    header: tuple[str, ...]
    lists: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedColumns:
    """The columns that a caller asks for."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    """Our name to the file's name."""
    keep_others: bool = False
    """Whether other columns of the file are read, too, under the file's names."""
    lists: tuple[str, ...] = ()
    """Required columns that may hold a list of texts, which becomes JSON."""

    def __post_init__(self) -> None:
        known = [*self.required, *self.optional]
        for name in self.rename:
            if name not in known:
                message = (
                    f'no column is called "{name}"{_hint(name, known)}; known: {listed(known)}'
                )
                raise InputError(message, source="--columns")

    @property
    def by_place(self) -> bool:
        """Whether columns are named by their place, because the file has no header."""
        return any(_PLACE.fullmatch(theirs) for theirs in self.rename.values())

    def header(self, first: Sequence[str]) -> list[str]:
        """The names of the columns: the first record, or `#1`, `#2`, … where it is data."""
        return [f"#{place}" for place in range(1, len(first) + 1)] if self.by_place else [*first]

    def theirs(self, name: str) -> str:
        """The name of our column in the file."""
        return self.rename.get(name, name)

    def layout(
        self, header: Sequence[str], *, source: str | PathLike[str], row: int | None
    ) -> ColumnLayout:
        """Find the wanted columns in a header; an `InputError` names those that are missing."""
        places: dict[str, int] = {}
        for place, name in enumerate(header):
            places.setdefault(name, place)
        missing = [name for name in self.required if self.theirs(name) not in places]
        if missing:
            raise InputError(self.missing(missing, header), source=source, row=row)
        optional = [name for name in self.optional if self.theirs(name) in places]
        chosen = {name: places[self.theirs(name)] for name in [*self.required, *optional]}
        others = self.others(places)
        for name in [*map(self.theirs, chosen), *others]:
            if list(header).count(name) > 1:
                raise InputError(f'column "{name}" appears twice', source=source, row=row)
        chosen |= {name: places[name] for name in others}
        return ColumnLayout(
            tuple(chosen), tuple(chosen.values()), len(self.required), tuple(header), self.lists
        )

    def others(self, header: Mapping[str, object]) -> list[str]:
        """The other columns that are read, in the order of the file."""
        if not self.keep_others:
            return []
        ours = {*self.required, *self.optional}
        taken = {self.theirs(name) for name in ours} | ours
        return [name for name in header if name not in taken]

    def missing(self, names: Sequence[str], header: Sequence[str]) -> str:
        """The message for a file that lacks columns."""
        lacking = listed([f'"{self.theirs(name)}"' for name in names])
        hint = _hint(self.theirs(names[0]), header) or _separator_hint(header)
        remedy = ",".join(f"{name}=NAME" for name in names)
        return (
            f"no column {lacking}{hint}; found: {listed(header)}; "
            f"expected: {listed([self.theirs(name) for name in self.required])}; "
            f"other names are given with --columns {remedy}"
        )


def listed(names: Sequence[str]) -> str:
    """Names for a message, shortened in case a row of text is taken for a header.

    >>> listed(["sentence1", "label"]), listed([])
    ('sentence1, label', 'nothing')
    """
    short = [n if len(n) <= _LONGEST_NAME else n[:_LONGEST_NAME] + "…" for n in names[:_MOST_NAMES]]
    more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*short, *more]) or "nothing"


def _hint(name: str, known: Sequence[str]) -> str:
    by_lowercase = {candidate.lower(): candidate for candidate in known}
    nearest = get_close_matches(name.lower(), by_lowercase, n=1)
    return f' (did you mean "{by_lowercase[nearest[0]]}"?)' if nearest else ""


def _separator_hint(header: Sequence[str]) -> str:
    for mark, name in ((";", "semicolons"), (",", "commas"), ("\t", "tabs")):
        if len(header) == 1 and mark in header[0]:
            return f" (are the columns separated by {name}?)"
    return ""
