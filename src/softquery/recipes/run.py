"""A run is a value: model, task, text, data, optimiser and how long, in one frozen dataclass.

`override` changes one of its fields, as `--set optim.lr=3e-4` does.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from softquery.errors import ConfigError
from softquery.models import name_of
from softquery.nn import ElmoSettings
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training

Value = TypeVar("Value")
LARGEST = 2**53
"""Numbers from here on are no settings, and would overflow where they are used."""


def check_least(value: object, least: int, *names: str) -> None:
    """Refuse a dataclass one of whose fields is below what it must be at least; None is allowed."""
    for name in names:
        given = getattr(value, name)
        if given is not None and given < least:
            raise ValueError(f"{name} must be at least {least}, got {given}")


def check_seed(training: Training) -> None:
    """Refuse a seed that torch or numpy cannot take."""
    if not 0 <= training.seed < 2**32:
        raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {training.seed:,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """Which words get a row of the embedding table."""

    min_count: int = 1
    """Rarer words of the training text become `<unk>`."""
    size: int | None = None
    """The most entries; for BPE and WordPiece, how many pieces are learnt."""
    from_vectors: int = 0
    """How many words of the first vectors file, most frequent first, are added to the text's."""
    frozen: bool = False
    """Keep the embedding table as it was filled; a table that nothing fills learns all the same."""

    def __post_init__(self) -> None:
        check_least(self, 1, "min_count", "size")
        if self.from_vectors < 0:
            raise ValueError(f"from_vectors must not be negative, got {self.from_vectors}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Which files of the data folder are read, and how they are cut into batches."""

    train: tuple[str, ...] = ("train",)
    dev: str = "dev"
    tune_share: float = 0.05
    """Share of the training rows that is held back to stop early by and to tune on."""
    tune: str | None = None
    """A split to tune on, in place of a share of the training rows."""
    share: float = 1.0
    """Share of what is then left that is trained on, to see how much of it is needed."""
    batch_size: int = 32
    pad_multiple: int = 8
    num_tokens: int | None = None
    """The most tokens of a batch of documents, padding included; None for no limit."""

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share}")
        if self.batch_size < 1 or self.pad_multiple < 1:
            raise ValueError("batch_size and pad_multiple must be positive")
        if self.num_tokens is not None and self.num_tokens < 1:
            raise ValueError(f"num_tokens must be positive, got {self.num_tokens}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertSettings:
    """The encoder under a head: where it comes from, and how much of it is tuned."""

    bundle: str = ""
    """A pretrained BERT, by its name or its folder; its sizes and its vocabulary are taken."""
    weights: Literal["pretrained", "random"] = "pretrained"
    """`"random"` takes no more than sizes and vocabulary, and without a bundle learns pieces from
    the training text: to see what pretraining is worth."""
    tuned_layers: int | None = None
    """How many of the highest layers learn as well; none for every layer and the embeddings, 0 for
    the head alone."""

    def __post_init__(self) -> None:
        if self.tuned_layers is not None and self.tuned_layers < 0:
            raise ValueError(f"tuned_layers must not be negative, got {self.tuned_layers}")


class TaskSettings(Protocol):
    """What a run says about its task besides the task itself; see `softquery.tasks`."""

    key: ClassVar[str]
    """Under which it stands in `--set` and in `run.json`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Everything that determines a training run of a model for a task, except its data."""

    keyed: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "settings": ("tags", "classes", "writing", "reading", "distill")
    }
    """Fields that stand in `--set` and in `run.json` under one of several keys: that of what they
    hold."""
    counted: ClassVar[str] = "step"
    """What its progress is counted in."""
    refused: ClassVar[Mapping[str, str]] = {}
    """Options of the command line that mean nothing to it, each with the reason."""

    name: str
    summary: str
    model: Any
    """A config of `softquery.models.REGISTRY`."""
    task: Any | None = None
    """Of `softquery.tasks`; without one, classes and tags are those found in the training file."""
    settings: TaskSettings | None = None
    """How rows of the task are read and learnt; None for matching by labels alone."""
    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    vectors: tuple[str, ...] = ()
    """Files of pretrained word vectors, laid side by side."""
    elmo: ElmoSettings | None = None
    """A biLM inside the model, which gives the words vectors in their context."""
    bert: BertSettings | None = None
    """A pretrained encoder under a head."""
    data: Files = field(default_factory=Files)
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        check_seed(self.training)

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def run_dict(run: Any) -> dict[str, Any]:
    """A run as plain values, each under the key that `--set` knows it by."""
    plain = dataclasses.asdict(run)
    found = {key: plain[name] if _is_there(run, key, name) else None for key, name in _keys(run)}
    return {**found, "model_name": name_of(run.model)}


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
