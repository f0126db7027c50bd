"""The rows that go into an index: read from any file, checked, each identified by an id."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b
from numbers import Real
from os import PathLike
from typing import Union

from softquery.errors import InputError
from softquery.files import Row, read_rows
from softquery.files.data_frames import Table, given_rows
from softquery.files.row_files import checked_names
from softquery.text import TextConfig, normalise
from softquery.text.languages import language_of

Source = Union[str, PathLike[str], Iterable[Mapping[str, object]], Table, "SourceRows"]
ID, QUESTION, ANSWER = "id", "question", "answer"
PHRASINGS, WEIGHT, MATCHED = "phrasings", "weight", "matched"
FIRST = (ID, QUESTION, ANSWER)
"""Columns with a meaning of their own, in the order in which they are kept."""
TAKEN = ("score", "alignment", MATCHED)
"""Keys of a hit that are not columns of its row."""


Expand = Callable[[Mapping[str, str]], list[dict[str, str]]]


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
    if isinstance(source, SourceRows):
        return source
    name = _name(source)
    columns = checked_names(columns)
    if not isinstance(source, (str, PathLike)):
        source = _checked(given_rows(source), columns.get(QUESTION, QUESTION))
    found = read_rows(
        source,
        columns=(QUESTION,),
        optional=(ID, ANSWER, PHRASINGS, WEIGHT),
        lists=(QUESTION,),
        rename=columns,
        keep_others=True,
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


def to_entries(
    source: SourceRows, text: TextConfig, expand: Expand = lambda row: [dict(row)]
) -> Entries:
    """Rows by their ids.

    A row without an `id` is identified by its question: a later row with the same question, as the
    bundle normalises it, replaces it. Rows with the same id are phrasings of one question.

    Args:
        source: The rows.
        text: How the bundle normalises text.
        expand: The rows as which one is stored: itself, and its further texts.

    Raises:
        InputError: Rows with the same id differ in more than their question.
    """
    rows: dict[str, dict[str, str]] = {}
    numbers: dict[str, int] = {}
    last_rows: dict[str, int] = {}
    repeats: list[Repeat] = []
    for row in source.rows:
        values = phrased(row)
        normalised = normalise(values[QUESTION], text)
        own = values.get(ID, "").strip()
        key = own or made_id(normalised)
        _check_id(key, row)
        values = {ID: key, **{name: value for name, value in values.items() if name != ID}}
        if normalised in last_rows:
            repeats.append(Repeat(row.number, last_rows[normalised], values[QUESTION]))
        last_rows[normalised] = row.number
        if own and key in numbers:
            values = joined(rows[key], values, row, numbers[key])
        numbers.setdefault(key, row.number)
        rows[key] = values
    stored: dict[str, dict[str, str]] = {}
    for key, values in rows.items():
        try:
            stored.update((each[ID], each) for each in expand(values))
        except InputError as error:
            raise InputError(error.message, source=source.name, row=numbers[key]) from None
    return Entries(stored, repeats, source.languages)


def phrased(row: Row) -> dict[str, str]:
    """The columns of a row, with its first phrasing as its question.

    Raises:
        InputError: A phrasing is empty.
    """
    values = dict(row.values)
    questions = [*_listed(values[QUESTION], row), *_more(values.get(PHRASINGS, ""), row)]
    values[QUESTION] = questions[0]
    values.pop(PHRASINGS, None)
    if len(questions) > 1:
        values[PHRASINGS] = json.dumps(list(dict.fromkeys(questions[1:])), ensure_ascii=False)
    return values


def joined(
    known: Mapping[str, str], more: Mapping[str, str], row: Row, number: int
) -> dict[str, str]:
    """Two rows with the same id as one; what the later one leaves empty is that of the earlier."""
    names = [name for name in more if name not in (QUESTION, PHRASINGS) and more[name].strip()]
    for name in names:
        if known.get(name, "").strip() and known[name] != more[name]:
            message = f"id {known[ID]!r:.60} is already used by row {number}, with another {name}; "
            message += "rows with one id are phrasings of one question"
            raise InputError(message, source=row.source, row=row.number)
    questions = [*phrasings_of(known), more[QUESTION], *phrasings_of(more)]
    others = [each for each in dict.fromkeys(questions) if each != known[QUESTION]]
    values = {**known, **{name: more[name] for name in names}}
    if others:
        values[PHRASINGS] = json.dumps(others, ensure_ascii=False)
    return values


def phrasings_of(row: Mapping[str, str]) -> list[str]:
    """The phrasings of a stored row beside its question."""
    try:
        found = json.loads(row.get(PHRASINGS, "") or "[]")
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _listed(text: str, row: Row) -> list[str]:
    """A text, or several as a JSON list, none of them empty."""
    found = [text]
    if text.lstrip()[:1] == "[":
        with suppress(ValueError):
            given = json.loads(text)
            if given and all(isinstance(each, str) for each in given):
                found = given
    for each in found:
        if not each.strip():
            raise InputError("a phrasing is empty", source=row.source, row=row.number)
    return list(found)


def _more(text: str, row: Row) -> list[str]:
    """Further phrasings: a JSON list, or with `|` or line ends between them."""
    if text.lstrip()[:1] == "[":
        return _listed(text, row)
    return [each.strip() for each in text.replace("\n", "|").split("|") if each.strip()]


def _check_id(key: str, row: Row) -> None:
    if "\x1f" in key:
        message = f"id {key!r:.60} holds a unit separator (U+001F)"
        raise InputError(message, source=row.source, row=row.number)


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
                    raise InputError(fault, source="the data", row=number)
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
    is_list = isinstance(value, (list, tuple))
    if (is_question and not is_list) or isinstance(value, (bytes, bytearray, memoryview)):
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
    return source if isinstance(source, (str, PathLike)) else "the data"
