"""The rows that go into an index: read from any file, checked, each identified by an id."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from os import PathLike

from softquery.errors import InputError
from softquery.files import Row, read_rows
from softquery.files.data_frames import Table, given_rows
from softquery.text import TextConfig, normalise
from softquery.text.languages import language_of

Source = str | PathLike[str] | Iterable[Mapping[str, object]] | Table
ID, QUESTION, ANSWER = "id", "question", "answer"
FIRST = (ID, QUESTION, ANSWER)
"""Columns with a meaning of their own, in the order in which they are kept."""
TAKEN = ("score", "alignment")
"""Keys of a hit that are not columns of its row."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A row whose question an earlier row of the same source already asks."""

    row: int
    earlier: int
    question: str


@dataclass(frozen=True, slots=True)
class Entries:
    """Rows that are ready to be stored.

    Attributes:
        rows: The columns of each row by its id; of a repeated id the last row.
        repeats: Rows whose question occurs more than once.
        languages: How many of the rows are in each language; None where nothing tells.
    """

    rows: dict[str, dict[str, str]]
    repeats: list[Repeat]
    languages: Mapping[str | None, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of a source as they are, and how many of them are in each language."""

    rows: list[Row]
    languages: Mapping[str | None, int]
    name: str | PathLike[str]
    """The source as messages name it."""


def read_source(
    source: Source, *, columns: Mapping[str, str] | None = None, language: str | None = None
) -> SourceRows:
    """Every row of a file, of an iterable of mappings, or of a data frame.

    Args:
        source: Has a column `question`; all other columns are kept. A data frame, an Arrow table
            or a data set is read row by row, what is missing as nothing.
        columns: Our column names mapped to those of the file.
        language: Rows in other languages are left out; those that tell none are kept.

    Raises:
        InputError: A row is bad, a column has a name that hits use, or there are no rows.
    """
    name = _name(source)
    if not isinstance(source, (str, PathLike)):
        source = _checked(given_rows(source), (columns or {}).get(QUESTION, QUESTION))
    found = read_rows(
        source, columns=(QUESTION,), optional=(ID, ANSWER), rename=columns, keep_others=True
    )
    rows: list[Row] = []
    languages: Counter[str | None] = Counter()
    for row in found:
        _refuse_names(row)
        its_own = language_of(row.values[QUESTION])
        if language is None or its_own in (language, None):
            languages[its_own] += 1
            rows.append(row)
    if not rows:
        message = "holds no rows" if language is None else f"holds no rows in {language!r}"
        raise InputError(message, source=name)
    return SourceRows(rows, languages, name)


def to_entries(source: SourceRows, text: TextConfig) -> Entries:
    """Rows by their ids.

    A row without an `id` is identified by its question: a later row with the same question, as the
    bundle normalises it, replaces it.

    Args:
        source: The rows.
        text: How the bundle normalises text.

    Raises:
        InputError: An id occurs twice.
    """
    rows: dict[str, dict[str, str]] = {}
    numbers: dict[str, int] = {}
    last_rows: dict[str, int] = {}
    repeats: list[Repeat] = []
    for row in source.rows:
        question = row.values[QUESTION]
        normalised = normalise(question, text)
        own = row.values.get(ID, "").strip()
        key = own or made_id(normalised)
        if own and key in numbers:
            message = f"id {key!r:.60} is already used by row {numbers[key]}"
            raise InputError(message, source=row.source, row=row.number)
        if normalised in last_rows:
            repeats.append(Repeat(row.number, last_rows[normalised], question))
        last_rows[normalised] = numbers[key] = row.number
        rows[key] = {ID: key, **{name: row.values[name] for name in row.values if name != ID}}
    return Entries(rows, repeats, source.languages)


def _checked(
    mappings: Iterable[Mapping[str, object]], question: str
) -> Iterator[Mapping[str, object]]:
    """The same mappings; what cannot be meant as text is refused instead of being spelt out.

    In a file everything is text. A question in memory that is a number or bytes is a mistake.
    """
    for number, mapping in enumerate(mappings, 1):
        if isinstance(mapping, Mapping):  # what is none is refused by `read_rows`
            for name, value in mapping.items():
                fault = _fault(name, value, is_question=name == question)
                if fault:
                    raise InputError(fault, source="the iterable", row=number)
        yield mapping


def _fault(name: object, value: object, *, is_question: bool) -> str | None:
    """What is wrong with a value of a row in memory, if anything is."""
    if not isinstance(name, str):
        return f"the column name {name!r:.40} is not a text"
    if value is None or isinstance(value, str):
        return None
    shown = QUESTION if is_question else name
    if is_question and isinstance(value, (Real, Decimal)):
        return f"{shown} is a number ({value!s:.40}), expected text"
    if is_question or isinstance(value, (bytes, bytearray, memoryview)):
        return f"{shown} is of type {type(value).__name__}, expected text"
    if isinstance(value, (Real, Decimal)) and not math.isfinite(value):
        return f"{shown} is {value!s:.40}, expected text or a number; leave out what is missing"
    return None


def made_id(normalised: str) -> str:
    """The id given to a row that has none, derived from its question.

    >>> made_id("how do i pay?")
    'q-571c48bb400c'
    """
    return f"q-{blake2b(normalised.encode(), digest_size=6).hexdigest()}"


def is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8; JSON may hold lone surrogates, which cannot.

    >>> is_text("é"), is_text(chr(0xD800))
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def ordered_columns(known: Sequence[str], rows: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """All columns: those with a meaning of their own, then the others in order of appearance."""
    found = dict.fromkeys(known)
    for row in rows:
        found.update(dict.fromkeys(row))
    first = [name for name in FIRST if name in found]
    return (*first, *(name for name in found if name not in FIRST))


def _refuse_names(row: Row) -> None:
    for name in row.values:
        if not is_text(name):
            message = f"the column name {name!a:.60} holds half a character (a lone surrogate)"
            raise InputError(message, source=row.source, row=row.number)
        if "\0" in name:
            message = f"the column name {name!r:.60} holds a NUL character"
            raise InputError(message, source=row.source, row=row.number)
    for name in TAKEN:
        if name in row.values:
            message = f'column "{name}" has a name that hits use for something else; rename it'
            raise InputError(message, source=row.source, row=1)


def _name(source: Source) -> str | PathLike[str]:
    return source if isinstance(source, (str, PathLike)) else "the iterable"
