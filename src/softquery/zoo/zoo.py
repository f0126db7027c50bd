"""Lists models, and finds one by name.

This finds folders and reads their small files; `softquery.bundle` opens them.
"""

import difflib
import os
import sys
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from softquery.errors import BundleError
from softquery.zoo.glance import check_complete, folder_size, glance_card, glance_json, printable

Origin = Literal["shipped", "local"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ZooEntry:
    """A model folder as a list shows it; of a damaged one, `problem` says why."""

    name: str
    path: Path
    origin: Origin
    kind: str = ""
    model: str = ""
    licence: str = ""
    summary: str = ""
    size_bytes: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


def shipped() -> list[ZooEntry]:
    """The models that are shipped with the package, by name."""
    folder = shipped_folder()
    return [_entry(folder / name, "shipped") for name in _names(folder)]


def local() -> list[ZooEntry]:
    """The user's own models, by name."""
    folder = local_folder()
    return [_entry(folder / name, "local") for name in _names(folder)]


def resolve(name_or_path: str | PathLike[str]) -> Path:
    """The folder of a model: an existing folder, otherwise a shipped name, otherwise a local one.

    Raises:
        BundleError: If there is none; gives the nearest name and all known ones.

    >>> resolve("no/such/folder")
    Traceback (most recent call last):
    softquery.errors.BundleError: no/such/folder: no such model folder
    """
    name = os.path.expanduser(os.fspath(name_or_path))
    if os.path.isdir(name):
        return Path(name)
    if os.path.isfile(name):
        raise BundleError(printable(f"{name}: is a file, but a model is a folder"))
    if any(mark in name for mark in (os.sep, os.altsep) if mark):
        raise BundleError(printable(f"{name}: no such model folder"))
    for folder in (shipped_folder(), local_folder()):
        if name in _names(folder):
            return folder / name
    raise BundleError(_unknown(name))


def _unknown(name: str) -> str:
    known = {"shipped": _names(shipped_folder()), "local": _names(local_folder())}
    near = difflib.get_close_matches(name, [*known["shipped"], *known["local"]], n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    lists = "; ".join(f"{origin}: {', '.join(names) or 'none'}" for origin, names in known.items())
    return printable(f"no model called {name!r:.100}; {hint}{lists}")


def _names(folder: Path) -> list[str]:
    """Folders that may be models; hidden ones are left over from interrupted writes."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith((".", "__")))


def _entry(path: Path, origin: Origin) -> ZooEntry:
    try:
        return _sound_entry(path, origin)
    except BundleError as error:
        problem = str(error)
    except OSError as error:
        problem = printable(error.strerror or str(error))
    return ZooEntry(name=path.name, path=path, origin=origin, problem=problem)


def _sound_entry(path: Path, origin: Origin) -> ZooEntry:
    check_complete(path)
    config = glance_json(path / "config.json")
    model = config.get("model")
    licence, summary = glance_card(path / "README.md")
    return ZooEntry(
        name=path.name,
        path=path,
        origin=origin,
        kind=str(config.get("kind", "")),
        model=str(model.get("name", "")) if isinstance(model, dict) else "",
        licence=licence,
        summary=summary,
        size_bytes=folder_size(path),
        metrics=glance_json(path / "metrics.json"),
    )


def shipped_folder() -> Path:
    """The folder of the shipped models."""
    return Path(__file__).parent / "models"


def home() -> Path:
    """The folder of softquery for this user: `$SOFTQUERY_HOME`, or one of the system.

    That is `%LOCALAPPDATA%` on Windows, `~/Library/Caches` on macOS, and elsewhere
    `$XDG_CACHE_HOME` or `~/.cache`, each with `softquery` below it.
    """
    chosen = os.environ.get("SOFTQUERY_HOME")
    if chosen:
        return Path(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "softquery"


def local_folder() -> Path:
    """The folder of the user's own models, which may not exist."""
    return home() / "models"
