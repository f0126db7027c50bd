"""The names of the user's own models: which may be given, and which can be taken out again."""

import os
import re
import shutil
from pathlib import Path

from softquery.errors import BundleError
from softquery.zoo.glance import printable
from softquery.zoo.zoo import IN_MODELS_PACKAGE, MODELS_PACKAGE, ZooEntry, entries, local_folder

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")
_OF_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
COMMANDS = ("add", "card", "pack", "remove")
"""Words after `softquery models` that are no names."""


def check_name(name: str) -> None:
    """Refuse what no model can be called: a name is that of a folder, on every system.

    >>> check_name("add")
    Traceback (most recent call last):
    softquery.errors.BundleError: a model cannot be called 'add', which is a command; see --name
    """
    if not _NAME.fullmatch(name) or _OF_WINDOWS.fullmatch(name.lower()):
        raise BundleError(
            f"a model cannot be called {name!r:.100}: expected up to 100 letters, digits, '.', "
            "'_' and '-'; see --name"
        )
    if name in COMMANDS:
        raise BundleError(f"a model cannot be called {name!r}, which is a command; see --name")


def check_unclaimed(name: str, *, here: bool = True) -> None:
    """Refuse the name of a model that would always be taken in place of the user's own.

    Those are the models of softquery, of softquery-models, and of other packages that are installed
    here. Names that differ only in capitals are one name, as they are on some disks.

    Args:
        name: What a model shall be called.
        here: Whether it shall be used here; otherwise the other packages do not count.
    """
    owners = {
        entry.name.casefold(): entry.package
        for entry in entries()
        if entry.origin == "shipped" or (here and entry.origin == "package")
    }
    for known in IN_MODELS_PACKAGE:
        owners.setdefault(known.casefold(), MODELS_PACKAGE)
    owner = owners.get(name.casefold())
    if owner is not None:
        raise BundleError(
            f"{name} is the name of a model of {owner}, which would be taken in its place; "
            "choose another name with --name"
        )


def removable(name: str) -> ZooEntry:
    """The user's own model of a name.

    Raises:
        BundleError: There is none; says who brings the model of that name, if anybody does.
    """
    named = [entry for entry in entries() if entry.name == name]
    for entry in named:
        if entry.origin == "local":
            return entry
    if not named:
        own = [entry.name for entry in entries() if entry.origin == "local"]
        known = ", ".join(own) or "none"
        raise BundleError(
            printable(f"no model called {name!r:.100} in {local_folder()}; there are: {known}")
        )
    if named[0].origin == "shipped":
        raise BundleError(f"{name} is part of softquery and cannot be removed by itself")
    package = named[0].package
    raise BundleError(
        f"{name} belongs to the package {package}: pip uninstall {package.partition(' ')[0]}"
    )


def remove(name: str) -> Path:
    """Take a model out of the user's folder; where it is a link, the link alone.

    Returns:
        The folder that is gone.
    """
    path = removable(name).path
    try:
        if path.is_symlink():
            path.unlink()
            return path
        # Renamed first, so that nobody finds a part of it.
        going = path.with_name(f".{path.name[:40]}.{os.getpid()}.tmp")
        path.rename(going)
        shutil.rmtree(going)
    except OSError as error:
        raise BundleError(f"{path}: cannot be removed ({error.strerror or error})") from None
    return path
