"""The settings of a server: what it serves, where, and within which limits."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from softquery.errors import ConfigError

VARIABLE = "SOFTQUERY_SERVING"
"""The environment variable that passes the settings to worker processes."""


_COUNTS = ("max_body", "max_text", "max_texts", "max_rows", "max_tokens", "queue", "batch_tokens")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much one request may ask, and how many requests there may be at once."""

    max_body: int = 2_000_000
    """Bytes of a request."""
    max_text: int = 20_000
    """Characters of one text."""
    max_texts: int = 1_000
    """Texts, candidates or pairs of one request."""
    max_rows: int = 2_000
    """Rows of a file that is uploaded to be indexed."""
    max_tokens: int = 300_000
    """Tokens that one request may make a model compute."""
    queue: int = 256
    """Requests that may be in progress, computed or waiting; the next one is refused."""
    timeout: float = 30.0
    """Seconds from the first byte of a request to its answer."""
    batch_tokens: int = 1_024
    """Tokens of a batch, unless one text alone has more."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.timeout < math.inf:
            raise ConfigError(f"timeout must be a number of seconds above 0, got {self.timeout}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What to serve, and how.

    >>> Settings(models=("mine=folder/of/mine",)).named_models()
    {'mine': 'folder/of/mine'}
    """

    models: tuple[str, ...] = ()
    """Names from the zoo or folders, each alone or as `NAME=MODEL`."""
    indexes: tuple[str, ...] = ()
    """Folders that `softquery index` made, each alone or as `NAME=FOLDER`."""
    uploads: str | None = None
    """The folder of the indexes that clients may make of files; without it, they may make none."""
    host: str = "127.0.0.1"
    port: int = 8000
    """0 for any free port."""
    workers: int = 1
    """Processes behind one socket."""
    threads: int | None = None
    """Batches that one process computes at a time; by default the cores, shared by the workers."""
    keys: str | None = None
    """The file of hashed keys; without it, no key is needed."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may send requests from a browser."""
    drain: float = 30.0
    """Seconds that requests in progress may take to end after the server was told to stop."""
    linger: float = 0.0
    """Seconds to go on serving after the server was told to stop, while `/ready` says so."""
    slow: float | None = None
    """Seconds from which a request is logged with what took how long; None for never."""
    usage: str | None = None
    """The file in which the usage of keys lasts; by default it ends with the server."""
    traces: bool = False
    """Whether requests are traced by OpenTelemetry."""
    log_text: bool = False
    """Whether logs may hold what users wrote: bodies, paths, and messages of exceptions."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.models and not self.indexes:
            raise ConfigError("nothing to serve: give --model or --index")
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"port must be from 0 to 65535, got {self.port}")
        if self.workers < 1:
            raise ConfigError(f"workers must be at least 1, got {self.workers}")
        if self.threads is not None and self.threads < 1:
            raise ConfigError(f"threads must be at least 1, got {self.threads}")
        for name, seconds in (("drain", self.drain), ("linger", self.linger)):
            if not 0 <= seconds < math.inf:
                raise ConfigError(f"{name} must be a number of seconds, got {seconds}")
        if self.slow is not None and not 0 < self.slow < math.inf:
            raise ConfigError(f"slow must be a number of seconds above 0, got {self.slow}")
        for origin in self.cors:
            if origin != "*" and not origin.startswith(("http://", "https://")):
                raise ConfigError(f"cors takes origins such as https://example.org, got {origin!r}")

    @property
    def num_threads(self) -> int:
        """Threads of one process."""
        return self.threads or max(1, (os.cpu_count() or 1) // self.workers)

    def named_models(self) -> dict[str, str]:
        """The models to open, by the name that requests give."""
        return _named(self.models, "model")

    def named_indexes(self) -> dict[str, str]:
        """The indexes to open, by the name that requests give: by default that of the folder."""
        return _named(self.indexes, "index")

    def to_json(self) -> str:
        """The settings as one line, for the environment of worker processes."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """The settings that `to_json` wrote.

        >>> settings = Settings(models=("match-en",), limits=Limits(queue=3))
        >>> Settings.from_json(settings.to_json()) == settings
        True
        """
        values: dict[str, Any] = json.loads(text)
        for name in ("models", "indexes", "cors"):
            values[name] = tuple(values[name])
        return cls(**{**values, "limits": Limits(**values["limits"])})


def _last_name(address: str, noun: str) -> str:
    """What an address is called if nobody says so.

    >>> _last_name("models/mine", "model"), _last_name("shards/*.sq", "index")
    ('mine', 'shards')
    >>> _last_name("postgresql:///shop?host=/run#faq", "index")
    'faq'
    """
    place = os.path.normpath(address)
    if noun != "index":
        return os.path.basename(place)
    from softquery.search.stores.address import is_store, parse_store
    from softquery.search.stores.shards import is_pattern

    if is_store(address):
        return parse_store(address).name
    if is_pattern(place):
        place = os.path.dirname(os.path.abspath(place))
    return os.path.basename(place)


def _named(given: tuple[str, ...], noun: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, mark, source = each.partition("=")
        if not mark or os.sep in name:
            name, source = _last_name(each, noun), each
        name = name.removesuffix(".sq") if noun == "index" and not mark else name
        if not name or not source:
            raise ConfigError(f"--{noun} takes NAME or NAME=FOLDER, got {each!r}")
        if name in found:
            raise ConfigError(
                f"two --{noun} values are called {name!r}; rename one: --{noun} NAME={source}"
            )
        found[name] = source
    return found


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that a parent process passed to its workers."""
    return Settings.from_json(environment[VARIABLE])
