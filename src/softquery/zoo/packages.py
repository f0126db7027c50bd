"""Finds installed packages of models by their metadata, without running any of their code.

A distribution names, in the entry-point group `softquery.models`, its top-level package in which
every folder is a model. Such a package is data: its folder is located and never imported. A
submodule is refused, because locating one would import its parents.
"""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from softquery.errors import BundleError

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "softquery.models"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""What a distribution or a version may be called."""


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """An installed package of models.

    Attributes:
        label: Its distribution and version, as lists show it.
        folders: Where its models lie; several if it is a namespace package in several places.
    """

    label: str
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class FoundPackages:
    """The packages of models of this installation.

    Attributes:
        packages: Those that can be used, by name.
        problems: A line for each that cannot be used.
    """

    packages: tuple[ModelPackage, ...]
    problems: tuple[str, ...]


def find_packages() -> FoundPackages:
    """Search the installed distributions for packages of models.

    Where a distribution is installed twice, the first on `sys.path` counts, as it does for imports.
    """
    from importlib.metadata import distributions  # takes longer than the search itself

    packages: dict[str, ModelPackage | None] = {}
    problems = []
    for distribution in distributions():
        if not _declares_models(distribution):
            continue
        try:
            name = _name(distribution)
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key not in packages:
                packages[key] = None
                packages[key] = _package(name, distribution)
        except BundleError as error:
            problems.append(str(error))
    found = (packages[key] for key in sorted(packages))
    return FoundPackages(tuple(each for each in found if each is not None), tuple(sorted(problems)))


def _declares_models(distribution: "Distribution") -> bool:
    """Whether the group is among the entry points; faults of others are not told here."""
    try:
        return GROUP in (distribution.read_text("entry_points.txt") or "")
    except UnicodeDecodeError as error:
        return GROUP.encode() in error.object
    except OSError:
        return False


def _name(distribution: "Distribution") -> str:
    try:
        name = _field(distribution, "Name")
    except (OSError, UnicodeDecodeError):  # there is none, or it is not text
        name = ""
    if not _NAME.fullmatch(name):
        place = distribution.locate_file("")
        raise BundleError(f"a package of models in {place} has broken metadata")
    return name


def _field(distribution: "Distribution", name: str) -> str:
    metadata = distribution.metadata
    return str(metadata[name]) if name in metadata else ""


def _package(name: str, distribution: "Distribution") -> ModelPackage | None:
    """The package with its folders; None if the group is empty."""
    version = _field(distribution, "Version")
    label = f"{name} {version}" if _NAME.fullmatch(version) else name
    try:
        points = distribution.entry_points.select(group=GROUP)
    except (TypeError, UnicodeDecodeError):  # a line without "=", or not text
        raise BundleError(f"{label}: its entry_points.txt is broken") from None
    modules = sorted({point.value for point in points})
    folders = [folder for module in modules for folder in _folders(module, label)]
    return ModelPackage(label, tuple(folders)) if folders else None


def _folders(module: str, label: str) -> list[Path]:
    """Where a top-level package lies; it is not imported."""
    if not module.isidentifier():
        raise BundleError(
            f"{label}: its entry point must name a top-level package, got {module!r:.80}"
        )
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # a module that is loaded already, and says nothing of itself
        spec = None
    places = [] if spec is None else spec.submodule_search_locations or []
    folders = [Path(place) for place in places if os.path.isdir(place)]
    if not folders:
        raise BundleError(f"{label}: its package {module!r:.80} is not a folder on this disk")
    return folders
