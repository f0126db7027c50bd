"""Runs as plain values, and `--set`: one field of a frozen dataclass changed by its path.

Needs no torch.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from softquery.errors import ConfigError

Value = TypeVar("Value")
LARGEST = 2**53
"""Numbers from here on are no settings, and would overflow where they are used."""


class Seeded(Protocol):
    """Whatever has a seed."""

    @property
    def seed(self) -> int:
        """Of all that is drawn."""


def check_seed(training: Seeded) -> None:
    """Refuse a seed that torch or numpy cannot take."""
    if not 0 <= training.seed < 2**32:
        raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {training.seed:,}")


def check_least(value: object, least: int, *names: str) -> None:
    """Refuse a dataclass one of whose fields is below what it must be at least; None is allowed."""
    for name in names:
        given = getattr(value, name)
        if given is not None and given < least:
            raise ValueError(f"{name} must be at least {least}, got {given}")


def run_dict(run: Any) -> dict[str, Any]:
    """A run as plain values, each under the key that `--set` knows it by."""
    plain = dataclasses.asdict(run)
    found = {key: plain[name] if _is_there(run, key, name) else None for key, name in _keys(run)}
    return {**found, "model_name": run.model_name()}


def _keys(value: Any) -> list[tuple[str, str]]:
    """The keys of a dataclass with the field that each stands for, in order."""
    keyed: Mapping[str, tuple[str, ...]] = getattr(value, "keyed", {})
    names = [each.name for each in dataclasses.fields(value)]
    return [(key, name) for name in names for key in keyed.get(name, (name,))]


def _is_there(value: Any, key: str, name: str) -> bool:
    """Whether a field holds what this key stands for."""
    return key == name or getattr(getattr(value, name), "key", None) == key


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
    names = dict(_keys(value))
    if keys[0] not in names:
        raise ConfigError(_unknown(path, keys[0], list(names)))
    name = names[keys[0]]
    is_there = _is_there(value, keys[0], name)
    current = getattr(value, name) if is_there else None
    if len(keys) > 1:
        if not dataclasses.is_dataclass(current):
            raise ConfigError(f"{path}: {keys[0]} has no parts to set in this recipe")
        return _rebuilt(value, name, _replaced(current, keys[1:], text, path), path)
    if dataclasses.is_dataclass(current):
        inner = ", ".join(f"{path}.{each.name}" for each in dataclasses.fields(current))
        raise ConfigError(f"{path} is a group; set one of its fields: {inner}")
    new = parse(text, typing.get_type_hints(type(value))[name], path)
    return _rebuilt(value, name, new, path) if is_there else value


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
