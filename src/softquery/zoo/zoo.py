"""Lists models, and finds one by name.

This finds folders and reads their small files; `softquery.bundle` opens them.
"""

import difflib
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from softquery.errors import BundleError
from softquery.zoo.glance import (
    check_complete,
    folder_size,
    glance_card,
    glance_json,
    glance_source,
    leads_out,
    printable,
)
from softquery.zoo.packages import find_packages

Origin = Literal["shipped", "package", "local"]

MODELS_PACKAGE = "softquery-models"
IN_MODELS_PACKAGE = (
    "bert-mini-en",
    "couplet-zh",
    "elmo-en",
    "ner-en",
    "ner-zh",
    "read-en",
    "sentiment-en",
    "sentiment-zh",
    "tagger-en",
    "topic-zh",
    "translate-de-en",
)
"""What that package brings; known here too, so that whoever lacks it is told what to install."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZooEntry:
    """A model folder as a list shows it; of one that cannot be used, `problem` says why.

    Attributes:
        name: The name by which it is loaded.
        path: Its folder.
        origin: `"shipped"` with softquery itself, of an installed `"package"`, or `"local"`.
        package: `"softquery"`, or the distribution and version; empty for a local one.
        source: Of a local one, where it was added from; empty where it was put there by hand.
        kind: What it is for.
        model: The system.
        licence: As the card states it.
        summary: The first line of the card.
        size_bytes: Of all its files.
        metrics: What was measured.
        problem: Why it cannot be used; None if it can.
    """

    name: str
    path: Path
    origin: Origin
    package: str = ""
    source: str = ""
    kind: str = ""
    model: str = ""
    licence: str = ""
    summary: str = ""
    size_bytes: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder that may be a model, and who brings it."""

    path: Path
    origin: Origin
    package: str = ""

    @property
    def owner(self) -> str:
        """Who brings it, in words."""
        return self.package or f"the folder {self.path.parent}"


def entries() -> list[ZooEntry]:
    """All models, in the order in which a name is looked up: shipped, of packages, local."""
    first: dict[str, _Place] = {}
    listed = []
    for place in _places():
        used = first.setdefault(place.path.name, place)
        entry = _entry(place)
        hidden = f"not used: {used.owner} has a model of this name"
        listed.append(entry if used is place else replace(entry, problem=hidden))
    return listed


def shipped() -> list[ZooEntry]:
    """The models that are shipped with softquery itself, by name."""
    return [entry for entry in entries() if entry.origin == "shipped"]


def packaged() -> list[ZooEntry]:
    """The models of installed packages such as `softquery-models`, by package and name."""
    return [entry for entry in entries() if entry.origin == "package"]


def local() -> list[ZooEntry]:
    """The user's own models, by name."""
    return [entry for entry in entries() if entry.origin == "local"]


def absent() -> list[str]:
    """The models of `softquery-models` that are not installed, by name."""
    present = {place.path.name for place in _places()}
    return [name for name in IN_MODELS_PACKAGE if name not in present]


def resolve(name_or_path: str | PathLike[str]) -> Path:
    """The folder of a model: an existing folder, otherwise the first model of that name.

    A name is looked up among the models of softquery itself, then of installed packages, then among
    local ones. If others have the name too, a warning says which one is taken.

    Raises:
        BundleError: If there is none; gives the command that installs it, or the nearest name
            and all known ones.

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
    found = [place for place in _places() if place.path.name == name]
    if not found:
        raise BundleError(_missing(name))
    for hidden in found[1:]:
        warnings.warn(_hidden(name, found[0], hidden), stacklevel=1)  # once for all callers
    _check_inside(found[0])
    return found[0].path


def _missing(name: str) -> str:
    """How to get a model, and what is wrong with packages of models, which may be the reason."""
    install = f"{name} is not installed: pip install {MODELS_PACKAGE}"
    said = install if name in IN_MODELS_PACKAGE else _unknown(name)
    return printable("; ".join([said, *find_packages().problems]))


def _unknown(name: str) -> str:
    known: dict[str, list[str]] = {"shipped": []}
    for place in _places():
        heading = place.package if place.origin == "package" else place.origin
        known.setdefault(heading, []).append(place.path.name)
    known["local"] = known.pop("local", [])
    near = difflib.get_close_matches(
        name, [*(each for names in known.values() for each in names), *IN_MODELS_PACKAGE], n=1
    )
    hint = f"did you mean {near[0]!r}? " if near else ""
    lists = "; ".join(f"{origin}: {', '.join(names) or 'none'}" for origin, names in known.items())
    return f"no model called {name!r:.100}; {hint}{lists}"


def _hidden(name: str, used: _Place, hidden: _Place) -> str:
    return printable(
        f"{name} is taken from {used.owner}; {hidden.owner} has a model of this name too, "
        "which is not used"
    )


def _places() -> Iterator[_Place]:
    """Every folder that may be a model, in the order in which a name is looked up."""
    for name in _names(shipped_folder()):
        yield _Place(shipped_folder() / name, "shipped", "softquery")
    for package in find_packages().packages:
        for folder in package.folders:
            for name in _names(folder):
                yield _Place(folder / name, "package", package.label)
    for name in _names(local_folder()):
        yield _Place(local_folder() / name, "local")


def _names(folder: Path) -> list[str]:
    """Folders that may be models; hidden ones are left over from interrupted writes."""
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if entry.is_dir()]
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith((".", "__")))


def _check_inside(place: _Place) -> None:
    """Refuse a folder of a package that is a link to somewhere else: a package holds its models."""
    if place.origin == "package" and leads_out(place.path, place.path.parent):
        raise BundleError(printable(f"{place.path}: is a link that leads out of its package"))


def _entry(place: _Place) -> ZooEntry:
    try:
        return _sound_entry(place)
    except BundleError as error:
        problem = str(error)
    except OSError as error:
        problem = printable(error.strerror or str(error))
    return ZooEntry(
        name=place.path.name,
        path=place.path,
        origin=place.origin,
        package=place.package,
        problem=problem,
    )


def _sound_entry(place: _Place) -> ZooEntry:
    path = place.path
    _check_inside(place)
    check_complete(path)
    config = glance_json(path / "config.json")
    model = config.get("model")
    licence, summary = glance_card(path / "README.md")
    return ZooEntry(
        name=path.name,
        path=path,
        origin=place.origin,
        package=place.package,
        source=glance_source(path) if place.origin == "local" else "",
        kind=str(config.get("kind", "")),
        model=str(model.get("name", "")) if isinstance(model, dict) else "",
        licence=licence,
        summary=summary,
        size_bytes=folder_size(path),
        metrics=glance_json(path / "metrics.json"),
    )


def shipped_folder() -> Path:
    """The folder of the models that are shipped with softquery itself."""
    return Path(__file__).parent / "models"


def home() -> Path:
    """The folder of softquery for this user: `$SOFTQUERY_HOME`, or one of the system.

    That is `%LOCALAPPDATA%` on Windows, `~/Library/Application Support` on macOS, and elsewhere
    `$XDG_DATA_HOME` or `~/.local/share`, each with `softquery` below it.
    """
    chosen = os.environ.get("SOFTQUERY_HOME")
    if chosen:
        return Path(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):  # as the XDG specification has it
            base = os.path.expanduser("~/.local/share")
    return Path(base) / "softquery"


def local_folder() -> Path:
    """The folder of the user's own models, which may not exist."""
    return home() / "models"
