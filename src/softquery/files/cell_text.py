"""Values of cells as text: what a table, a JSON object or a mapping holds, checked."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from numbers import Real

import numpy as np

from softquery.errors import InputError
from softquery.files.text_lines import LONGEST_LINE


def to_text(value: object, name: str) -> str:
    """A value as the text that a TSV would hold; None is empty text."""
    if isinstance(value, str):
        return sound_text(value, name)
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (Real, Decimal, date, time)):
        return str(value)
    if isinstance(value, bytes):  # how some tools store text in Parquet
        return _decoded(value, name)
    raise InputError(f"{name} is {kind_of_value(value)}, expected text or a number")


def to_text_or_json(value: object, name: str) -> str:
    """Like `to_text`, for optional columns: lists and objects become JSON."""
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return to_text(value, name)


def to_text_or_texts(value: object, name: str) -> str:
    """Like `to_text`, for columns that may hold a list of texts, which becomes JSON."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        return json.dumps([sound_text(each, name) for each in value], ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        raise InputError(f"{name} is a list of something else than texts")
    return to_text(value, name)


def refuse_empty(values: Mapping[str, str], required: Sequence[str]) -> None:
    """Refuse a row whose required values are not all there."""
    for name in required:
        if not values[name].strip():
            raise InputError(f"{name} is empty")


def sound_text(text: str, name: str) -> str:
    """Refuse text that UTF-8 cannot encode, that holds NUL, or that is too long."""
    if len(text) > LONGEST_LINE:
        raise too_long(name)
    if "\0" in text:
        raise InputError(f"{name} holds a NUL character, expected text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(text[error.start]):04X} at character {error.start + 1}"
            raise InputError(f"{name} holds half a character ({half}), expected text") from error
    return str(text)


def too_long(name: str) -> InputError:
    """The error of a cell that no text is as long as."""
    return InputError(f"{name} is longer than {LONGEST_LINE:,} characters")


def kind_of_value(value: object) -> str:
    """What a value is, for a message."""
    kinds = {list: "a list", dict: "an object", str: "text or a number", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _decoded(value: bytes, name: str) -> str:
    try:
        return sound_text(value.decode(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not valid UTF-8 text") from error
