"""What the JSON files of an index must hold: every value is checked before anything uses it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any


@dataclass(frozen=True, slots=True)
class Expected:
    """What a value must be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def whole_number(least: int, most: int) -> Expected:
    """A whole number within bounds; `true` is none, although Python counts it as 1."""
    return Expected(
        f"a whole number from {least:,} to {most:,}",
        lambda value: type(value) is int and least <= value <= most,
    )


def spelt(pattern: re.Pattern[str], words: str) -> Expected:
    """A text that matches a pattern as a whole."""
    return Expected(
        words, lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None
    )


def one_of(known: Sequence[str]) -> Expected:
    """One of several texts."""
    return Expected(" or ".join(known), lambda value: isinstance(value, str) and value in known)


def or_null(expected: Expected) -> Expected:
    """A value that may be missing."""
    return Expected(
        f"{expected.words}, or null", lambda value: value is None or expected.holds(value)
    )


def _is_text(value: object) -> bool:
    """Whether a value is a text that can be stored and printed: no NUL, no lone surrogate."""
    if not isinstance(value, str) or "\0" in value:
        return False
    return not any("\ud800" <= mark <= "\udfff" for mark in value)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


TEXT = Expected("a text", _is_text)
TEXTS = Expected("a list of different texts", _are_names)
FLAG = Expected("true or false", lambda value: isinstance(value, bool))


def check_fields(data: object, expected: Mapping[str, Expected], name: str) -> dict[str, Any]:
    """The values of a JSON object, each of which is there and as expected.

    Args:
        data: What JSON holds.
        expected: What each value must be, by its key.
        name: What the object is called.

    Raises:
        ValueError: One of them is not; the message names it.

    >>> check_fields({"rows": True}, {"rows": whole_number(0, 9)}, "a segment")
    Traceback (most recent call last):
        ...
    ValueError: rows of a segment is True, expected a whole number from 0 to 9
    """
    if not isinstance(data, dict):
        raise ValueError(f"{name} is {shortened(data)}, expected an object")
    for key in data:
        if key not in expected:
            raise ValueError(f"{name} has an unknown key {shortened(key)}")
    for key, wanted in expected.items():
        if key not in data:
            raise ValueError(f"no {key!r} in {name}")
        if not wanted.holds(data[key]):
            found = shortened(data[key])
            raise ValueError(f"{key} of {name} is {found}, expected {wanted.words}")
    return dict(data)
