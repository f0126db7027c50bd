"""What readers and actors of a bulk run tell each other and the driver, as JSON.

A message is a JSON object with its `kind`; the rows of a shard travel beside it as bytes. Errors of
the user travel as messages, too: they are answers about the input, and no reason to try again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any

from softquery.errors import BundleError, ConfigError, InputError, MissingExtra, SoftqueryError
from softquery.files import AskedQuestion, Row, Sentence, UntaggedText

Message = dict[str, Any]
ROW_TYPES: dict[str, type[Any]] = {
    each.__name__: each for each in (Row, UntaggedText, AskedQuestion, Sentence)
}
LEFT_OUT = ("source", "answers")
"""Fields that are not sent: the file is known, and the answers to questions are wanted."""
ERRORS: dict[str, type[SoftqueryError]] = {
    each.__name__: each for each in (BundleError, ConfigError)
}


def packed_rows(rows: Sequence[Any]) -> bytes:
    """Rows of one type as bytes.

    >>> packed_rows([Row({"text": "a"}, 2, "a.tsv")])
    b'["Row", [[{"text": "a"}, 2]]]'
    """
    kind = type(rows[0]) if rows else Row
    names = _names(kind)
    values = [[getattr(row, name) for name in names] for row in rows]
    return json.dumps([kind.__name__, values], ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpacked_rows(contents: bytes, source: str) -> list[Any]:
    """The rows again.

    Args:
        contents: What `packed_rows` gave.
        source: The file that they are from.

    >>> unpacked_rows(b'["Row", [[{"text": "a"}, 2]]]', "a.tsv")
    [Row(values={'text': 'a'}, number=2, source='a.tsv')]
    """
    name, values = json.loads(contents.decode("utf-8", "surrogatepass"))
    kind = ROW_TYPES[name]
    names = _names(kind)
    extra: dict[str, Any] = {"answers": ()} if kind is AskedQuestion else {}
    return [kind(**dict(zip(names, row, strict=True)), source=source, **extra) for row in values]


def digest(contents: bytes) -> str:
    """What tells the rows of a shard from others."""
    return blake2b(contents, digest_size=16).hexdigest()


def told_error(error: SoftqueryError) -> Message:
    """An error as a message."""
    found: Message = {"kind": "error", "class": type(error).__name__}
    if isinstance(error, InputError):
        return {**found, "message": error.message, "source": error.source, "row": error.row}
    if isinstance(error, MissingExtra):
        needed, _, _ = str(error).partition(" needs an optional part")
        return {**found, "message": needed, "extra": error.extra}
    return {**found, "message": str(error)}


def error_of(message: Mapping[str, Any]) -> SoftqueryError:
    """The error that a message tells of."""
    text = message["message"]
    if message["class"] == "InputError":
        return InputError(text, source=message["source"], row=message["row"])
    if message["class"] == "MissingExtra":
        return MissingExtra(message["extra"], needed_for=text)
    return ERRORS.get(message["class"], SoftqueryError)(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardPart:
    """Rows that are answered and committed together: a part of a file.

    Attributes:
        file: The name of the file among the inputs.
        start: How many rows of the file come before; bad rows do not count.
        end: And how many when the shard is done.
        rows: A digest of the rows.
        bad: Number and fault of each bad row that was met on the way.
    """

    file: str
    start: int
    end: int
    rows: str
    bad: tuple[tuple[int | None, str], ...] = ()

    @property
    def name(self) -> str:
        """What its files are called: by input and range, so that every attempt names it alike.

        >>> ShardPart(file="en/dev.tsv", start=0, end=256, rows="").name
        'dev-0b9d567d-000000000000-000000000256'
        """
        stem = self.file.rsplit("/", 1)[-1].partition(".")[0]
        safe = "".join(mark if mark.isalnum() or mark in "-_" else "_" for mark in stem)
        mark = blake2b(self.file.encode(), digest_size=4).hexdigest()
        return f"{safe.lstrip('_') or 'rows'}-{mark}-{self.start:012d}-{self.end:012d}"


def _names(kind: type[Any]) -> list[str]:
    return [each.name for each in fields(kind) if each.name not in LEFT_OUT]
