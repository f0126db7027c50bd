"""`--set optim.lr=3e-4`: one field of a nested dataclass, typed as it is declared."""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

from softquery.errors import ConfigError

Value = TypeVar("Value")
LARGEST = 2**53
"""Numbers from here on are no settings, and would overflow where they are used."""


def override(value: Value, settings: Iterable[str]) -> Value:
    """A copy of a frozen dataclass with some fields changed.

    >>> from softquery.training import Optim
    >>> changed = override(Optim(), ["lr=0.1", "betas=0.8,0.9"])
    >>> changed.lr, changed.betas
    (0.1, (0.8, 0.9))
    """
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set takes key=value, got {setting!r}")
        value = _replaced(value, path.strip().split("."), text.strip(), path.strip())
    return value


def _replaced(value: Any, keys: list[str], text: str, path: str) -> Any:
    names = [each.name for each in dataclasses.fields(value)]
    if keys[0] not in names:
        raise ConfigError(_unknown(path, keys[0], names))
    current = getattr(value, keys[0])
    if len(keys) > 1:
        if not dataclasses.is_dataclass(current):
            raise ConfigError(f"{path}: {keys[0]} has no parts to set in this recipe")
        return _rebuilt(value, keys[0], _replaced(current, keys[1:], text, path), path)
    if dataclasses.is_dataclass(current):
        inner = ", ".join(f"{path}.{each.name}" for each in dataclasses.fields(current))
        raise ConfigError(f"{path} is a group; set one of its fields: {inner}")
    kind = typing.get_type_hints(type(value))[keys[0]]
    return _rebuilt(value, keys[0], parse(text, kind, path), path)


def _rebuilt(value: Any, name: str, new: Any, path: str) -> Any:
    try:
        return dataclasses.replace(value, **{name: new})
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _unknown(path: str, key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown setting {path!r}: there is no {key!r}{hint} (known: {', '.join(names)})"


def parse(text: str, kind: Any, path: str) -> Any:
    """Read a text as the type that a field declares.

    >>> parse("none", int | None, "size"), parse("a,b", tuple[str, ...], "labels")
    (None, ('a', 'b'))
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _parse_union(text, arguments, path)
    if origin is typing.Literal:
        if text not in arguments:
            known = ", ".join(map(str, arguments))
            raise ConfigError(f"{path} must be one of {known}, got {text!r}")
        return text
    if origin is tuple:
        items = [item.strip() for item in text.split(",") if item.strip()]
        inner = arguments[:1] * len(items) if arguments[-1] is ... else arguments
        if len(inner) != len(items):
            raise ConfigError(f"{path} takes {len(inner)} values, got {text!r}")
        return tuple(parse(item, each, path) for item, each in zip(items, inner, strict=True))
    return _parse_plain(text, kind, path)


def _parse_union(text: str, kinds: tuple[Any, ...], path: str) -> Any:
    if type(None) in kinds and text.lower() in ("none", ""):
        return None
    plain = [kind for kind in kinds if kind is not type(None)]
    if len(plain) != 1:
        raise ConfigError(f"{path} cannot be set on the command line")
    return parse(text, plain[0], path)


def _parse_plain(text: str, kind: Any, path: str) -> Any:
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() in words:
            return words[text.lower()]
    elif kind in (int, float):
        with suppress(ValueError):
            value = kind(text)
            if abs(value) < LARGEST:
                return value
            if math.isfinite(value):
                raise ConfigError(f"{path} must be below {LARGEST:,}, got {text!r:.100}")
    elif kind is str:
        return text
    else:
        raise ConfigError(f"{path} cannot be set on the command line")
    names = {int: "a whole number", float: "a finite number", bool: "true or false"}
    raise ConfigError(f"{path} must be {names[kind]}, got {text!r:.100}")
