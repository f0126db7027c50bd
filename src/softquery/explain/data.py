"""An alignment as JSON and back, without losing a bit."""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.explain.alignment import PairAlignment

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(alignment: PairAlignment) -> str:
    """The alignment as one JSON object on one line; Chinese stays readable."""
    return one_line_json(alignment.to_dict())


def one_line_json(values: Mapping[str, Any]) -> str:
    r"""Plain values as one line of JSON that UTF-8 can hold.

    >>> one_line_json({"text": "好", "half": chr(0xD800)})
    '{"text": "好", "half": "\\ud800"}'
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)
    # Half of a character can stand in a Python string and in JSON's escapes, but not in UTF-8.
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_json(text: str) -> PairAlignment:
    """The alignment that `to_json` wrote.

    Raises:
        InputError: If the text is not JSON, or does not describe an alignment.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected an alignment as JSON, found a fault: {error}") from error
    return PairAlignment.from_dict(values)


def as_dict(alignment: PairAlignment) -> dict[str, Any]:
    """The fields in their order, as JSON knows them."""
    values = {each.name: getattr(alignment, each.name) for each in fields(alignment)}
    for name in ("first_tokens", "second_tokens"):
        values[name] = list(values[name])
    for name in ("first_to_second", "second_to_first"):
        values[name] = shortest_floats(values[name])
    values["probabilities"] = dict(alignment.probabilities)
    return values


def from_mapping(values: Mapping[str, Any]) -> PairAlignment:
    """Check what came from outside, field by field, before it is believed."""
    if not isinstance(values, Mapping):
        raise InputError(f"expected an alignment as an object, found {type(values).__name__}")
    known = {each.name: each for each in fields(PairAlignment)}
    for name in values:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"unknown field {name!r} in an alignment{hint}")
    for name, each in known.items():
        if name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise InputError(f"an alignment needs the field {name!r}")
    for name, value in values.items():
        _require_kind(name, value)
    try:
        return PairAlignment(**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"not an alignment: {error}") from error


def _require_kind(name: str, value: Any) -> None:
    """Refuse what Python would quietly turn into something else, such as a string into tokens."""
    if name in ("first", "second", "model", "label"):
        fits = isinstance(value, str) or (name == "label" and value is None)
        expected = "a string"
    elif name in ("first_tokens", "second_tokens"):
        fits = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
        expected = "a list of strings"
    elif name == "score":
        fits, expected = _is_number(value), "a number"
    elif name == "probabilities":
        fits = isinstance(value, Mapping) and all(_is_number(each) for each in value.values())
        expected = "an object of numbers"
    else:
        fits, expected = isinstance(value, (list, tuple, np.ndarray)), "a list of rows"
    if not fits:
        raise InputError(f"field {name!r} of an alignment must be {expected}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shortest_floats(weights: NDArray[np.float32]) -> list[list[float]]:
    """Rows of the shortest decimals that still give the same float32 back.

    >>> shortest_floats(np.array([[0.42, 1e-5]], dtype=np.float32))
    [[0.42, 1e-05]]
    """
    rows: list[list[float]] = weights.astype(np.str_).astype(np.float64).tolist()
    return rows
