"""Puts models into the user's folder: from a folder, a wheel, or the hub; whole or not at all."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from softquery.atomic import atomic_folder
from softquery.errors import BundleError, InputError, MissingExtra
from softquery.sharing.bundle_files import copy_bundle, travelling
from softquery.sharing.hub import PREFIX, fetch, parse_place
from softquery.sharing.try_out import try_out
from softquery.sharing.wheel_reading import open_wheel
from softquery.zoo import check_name, check_unclaimed, local_folder
from softquery.zoo.glance import SOURCE_NOTE, printable

Fill = Callable[[Path], tuple[str, str]]
"""Writes a bundle into an empty folder; returns where it came from, and what messages call it."""


@dataclass(frozen=True, slots=True)
class AddedModel:
    """A model that is now among the user's own.

    Attributes:
        name: The name by which it is loaded.
        path: Its folder.
        source: Where it came from: a folder, a wheel's distribution and version, a commit of a hub.
        untried: Why it could be read but not opened here, such as a missing extra; None if it was.
    """

    name: str
    path: Path
    source: str
    untried: str | None


def add(
    source: str | PathLike[str], *, name: str | None = None, replace: bool = False
) -> list[AddedModel]:
    """Copy models into the user's folder, where they are found by name from then on.

    Nothing of them is executed. Each is opened as `softquery.load` would open it before it gets its
    name; a wheel of several models is added as a whole or not at all.

    Args:
        source: A model folder, a wheel of models, or `hub:OWNER/NAME[@REVISION]`, which is the only
            one that needs a network.
        name: What the model is called; by default as its folder, or as its repository.
        replace: Whether a model of the user's own with this name gives way.

    Raises:
        BundleError: What is wrong with it, in one line; nothing is left of it.
        MissingExtra: The hub needs the extra `[hub]`.
    """
    spelt = os.fspath(source)
    if spelt.startswith(PREFIX):
        place = parse_place(spelt)

        def fetched(folder: Path) -> tuple[str, str]:
            return str(fetch(place, folder)), str(place)

        return _add_all({name or place.name: fetched}, replace=replace)
    path = Path(os.path.expanduser(spelt))
    if path.is_dir():
        return _add_all({name or _folder_name(path): _copied(path)}, replace=replace)
    if not os.path.lexists(path):
        raise BundleError(printable(f"{path}: no such model folder or wheel"))
    if path.suffix.lower() != ".whl":
        raise BundleError(
            printable(f"{path}: expected a model folder, a wheel (.whl), or hub:OWNER/NAME")
        )
    return _add_wheel(path, name, replace=replace)


def _folder_name(path: Path) -> str:
    return os.path.basename(os.path.abspath(path))


def _copied(path: Path) -> Fill:
    def fill(folder: Path) -> tuple[str, str]:
        if not (path / "config.json").exists():
            raise BundleError(f"{path}: is no model folder (config.json is missing)")
        copy_bundle(path, folder)
        return os.path.abspath(path), str(path)

    return fill


def _add_wheel(path: Path, name: str | None, *, replace: bool) -> list[AddedModel]:
    with open_wheel(path) as wheel:
        if name is not None and len(wheel.models) > 1:
            names = ", ".join(wheel.models)
            raise BundleError(f"{path}: holds several models ({names}); --name is for a single one")

        def unpacked(model: str) -> Fill:
            def fill(folder: Path) -> tuple[str, str]:
                wheel.copy_model(model, folder)
                return wheel.label, f"{path}: {model}"

            return fill

        return _add_all({name or model: unpacked(model) for model in wheel.models}, replace=replace)


def _add_all(models: dict[str, Fill], *, replace: bool) -> list[AddedModel]:
    """Write every model beside its place, try it out, and give all of them their names at last."""
    for name in models:
        check_name(name)
        check_unclaimed(name)
        _check_free(name, replace=replace)
    added: list[AddedModel] = []
    try:
        with _own_folder() as own, _undone_on_failure(own, models), ExitStack() as stack:
            for name, fill in models.items():
                fresh = stack.enter_context(atomic_folder(own / name, replace=replace))
                source, untried = _fill_checked(fresh, fill)
                added.append(AddedModel(name, own / name, source, untried))
    except InputError as error:
        raise BundleError(str(error)) from None
    except OSError as error:
        place = error.filename or local_folder()
        raise BundleError(f"{place}: cannot be written ({error.strerror or error})") from None
    return added


def _fill_checked(fresh: Path, fill: Fill) -> tuple[str, str | None]:
    """Where a bundle came from, and why it could not be tried out; messages name its origin."""
    source, label = fill(fresh)
    for left in fresh.glob(".*"):  # what the hub's client notes about its downloads
        shutil.rmtree(left)
    untried = None
    try:
        list(travelling(fresh))  # for their sizes, whatever the hub said before
        try_out(fresh)
    except MissingExtra as error:
        untried = str(error)
    except BundleError as error:
        raise BundleError(str(error).replace(str(fresh), label)) from None
    (fresh / SOURCE_NOTE).write_text(json.dumps({"source": source}) + "\n", encoding="utf-8")
    return source, untried


def _check_free(name: str, *, replace: bool) -> None:
    target = local_folder() / name
    if not os.path.lexists(target):
        return
    if not replace:
        raise BundleError(f"{target}: exists already; replace it with --replace, or see --name")
    if target.is_symlink() or not (target / "config.json").is_file():
        raise BundleError(f"{target}: is not replaced, because it is no model folder")


@contextmanager
def _own_folder() -> Iterator[Path]:
    """The folder of the user's models; if it had to be made for nothing, it goes again."""
    own = local_folder()
    made = [folder for folder in (own, *own.parents) if not folder.exists()]
    own.mkdir(parents=True, exist_ok=True)
    try:
        yield own
    except BaseException:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def _undone_on_failure(own: Path, models: dict[str, Fill]) -> Iterator[None]:
    """Take away models that got their names before another one failed to."""
    stood = {name for name in models if (own / name).exists()}
    try:
        yield
    except BaseException:
        for name in models.keys() - stood:
            shutil.rmtree(own / name, ignore_errors=True)
        raise
