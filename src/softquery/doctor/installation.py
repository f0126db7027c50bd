"""What is installed: versions, extras and what they lack, models."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata

from softquery import __version__
from softquery.zoo import absent, entries, find_packages, local_folder

ALWAYS_SHOWN = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "softquery-models",
    "usearch",
    "bm25s",
    "torch",
)
"""Packages whose versions somebody who is asked for help wants to know."""
NOT_FOR_USERS = frozenset({"dev", "docs"})
"""Extras for working on softquery itself."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """An installation of softquery.

    Attributes:
        softquery: Its version.
        python: The version of Python.
        packages: The version of each package that matters; None where it is not installed.
        extras: The packages that each extra lacks; none where it is complete.
        models: How many models can be loaded by name.
        absent_models: The models of `softquery-models` that are not installed.
        problems: What is wrong with models, one line each.
        local_folder: Where models of one's own lie.
    """

    softquery: str
    python: str
    packages: dict[str, str | None]
    extras: dict[str, tuple[str, ...]]
    models: int
    absent_models: tuple[str, ...]
    problems: tuple[str, ...]
    local_folder: str


def find_installation() -> Installation:
    """Look at what is installed, without importing any of it.

    >>> find_installation().packages["numpy"] is not None
    True
    """
    listed = entries()
    damaged = [f"{each.name}: {each.problem}" for each in listed if each.problem is not None]
    return Installation(
        softquery=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        packages={name: version_of(name) for name in ALWAYS_SHOWN},
        extras=missing_of_extras(_requirements(), version_of),
        models=sum(each.problem is None for each in listed),
        absent_models=tuple(absent()),
        problems=(*damaged, *find_packages().problems),
        local_folder=str(local_folder()),
    )


def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def missing_of_extras(
    requirements: Sequence[str], version: Callable[[str], str | None]
) -> dict[str, tuple[str, ...]]:
    """The packages that each extra asks for and that are not there.

    Args:
        requirements: As the metadata of a distribution lists them.
        version: The version of a package, None where it is not installed.

    >>> asked = ["numpy>=1.26", "bm25s; extra == 'search'", "torch>=2.10; extra == 'train'"]
    >>> missing_of_extras(asked, {"bm25s": "0.3"}.get)
    {'search': (), 'train': ('torch',)}
    """
    found: dict[str, list[str]] = {}
    for line in requirements:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is None or extra is None or extra["extra"] in NOT_FOR_USERS:
            continue
        missing = found.setdefault(extra["extra"], [])
        if version(name[0]) is None and name[0] not in missing:
            missing.append(name[0])
    return {extra: tuple(missing) for extra, missing in sorted(found.items())}


def _requirements() -> Sequence[str]:
    try:
        return metadata.requires("softquery") or ()
    except metadata.PackageNotFoundError:
        return ()
