"""Errors that a user can cause, each told in one line.

They derive from `SoftqueryError`; the command line prints them as one line and exits with code 2.
Any other exception is a bug in softquery and keeps its traceback.
"""

from os import PathLike, fspath


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as every message to a user counts.

    Args:
        number: How many.
        noun: The singular.
        plural: The plural; the noun with an s by default.

    >>> counted(1, "text"), counted(2_000, "text"), counted(0, "entry", "entries")
    ('1 text', '2,000 texts', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class SoftqueryError(Exception):
    """A mistake in what was asked for, never in how it was computed."""


class InputError(SoftqueryError):
    r"""Input that cannot be used, named by its source and row.

    Args:
        message: What was found and what was expected, without a final full stop.
        source: The file (or a word such as `"the data"`) that holds the input.
        row: The number of the row, counted from 1 as a text editor counts lines.

    >>> print(InputError("expected 3 columns, found 2", source="pairs.tsv", row=7))
    pairs.tsv, row 7: expected 3 columns, found 2
    """

    def __init__(
        self, message: str, *, source: str | PathLike[str] | None = None, row: int | None = None
    ) -> None:
        self.message = " ".join(message.split())
        self.source = None if source is None else fspath(source)
        self.row = row
        place = ", ".join(
            part for part in (self.source, None if row is None else f"row {row}") if part
        )
        super().__init__(f"{place}: {self.message}" if place else self.message)


class StoreError(InputError):
    """A database that holds an index and cannot be asked at the moment, or failed at it."""


class ConfigError(SoftqueryError):
    """A setting that is unknown or does not fit."""


class BundleError(SoftqueryError):
    r"""A model folder that is missing, damaged, or from a version that cannot be read.

    Parts of the message may come from the folder; it stays one line, of a length that can be read.

    >>> print(BundleError("m/config.json: kind is \x1b[31m"))
    m/config.json: kind is \x1b[31m
    """

    def __init__(self, message: str) -> None:
        shown = "".join(mark if mark.isprintable() else _escaped(mark) for mark in message)
        super().__init__(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…")


_LONGEST = 900
"""The most characters of a message that may quote a folder."""


def _escaped(mark: str) -> str:
    return " " if mark.isspace() else mark.encode("unicode_escape").decode("ascii")


class MissingExtra(SoftqueryError):  # noqa: N818  (it names what is missing, not what went wrong)
    """An optional part that this action needs and that is not installed.

    >>> print(MissingExtra("parquet", needed_for="reading .parquet files"))
    reading .parquet files needs an optional part: pip install "softquery[parquet]"
    """

    def __init__(self, extra: str, *, needed_for: str) -> None:
        self.extra = extra
        super().__init__(f'{needed_for} needs an optional part: pip install "softquery[{extra}]"')
