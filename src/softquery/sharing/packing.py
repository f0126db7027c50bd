"""Makes a pip package of a bundle: a wheel, and on request the folder that it could be built of.

A wheel is a zip archive with metadata (PEP 427), so no build tool is needed. Equal bundles give
equal bytes: names in order, and one time for all files.
"""

import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO

from softquery import __version__
from softquery.atomic import atomic_folder, write_atomically
from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, InputError, MissingExtra
from softquery.runtime.classify.backend import is_sentence_head
from softquery.runtime.tag.backend import is_word_head
from softquery.sharing.bundle_files import LEGAL, copy_bounded, copy_bundle, open_plain, travelling
from softquery.sharing.package_metadata import PackageFacts, describe, metadata, project_file
from softquery.sharing.try_out import try_out
from softquery.sharing.wheel_reading import LARGEST_WHEEL, record_hash
from softquery.zoo import check_name, check_unclaimed, entries, resolve
from softquery.zoo.packages import GROUP

_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every file in a wheel: the first that a zip archive knows."""
_MODE = 0o100644 << 16
_TAG = "py3-none-any"


@dataclass(frozen=True, slots=True)
class PackedModel:
    """A package that was made of a bundle.

    Attributes:
        name: The name by which its model will be loaded.
        package: The name of the distribution.
        version: Its version.
        licence: As SPDX writes it; None where the card states none.
        wheel: The wheel.
        source: The source folder; None where none was asked for.
        notes: What its maker should know before publishing it, a line each.
    """

    name: str
    package: str
    version: str
    licence: str | None
    wheel: Path
    source: Path | None
    notes: tuple[str, ...]


def pack(
    folder: str | PathLike[str],
    *,
    name: str | None = None,
    package: str | None = None,
    version: str | None = None,
    output: str | PathLike[str] = "dist",
    with_source: bool = False,
) -> PackedModel:
    """Make a wheel of a bundle, to be installed by pip wherever softquery is.

    The wheel holds data alone: the bundle's files, and a Python package without code around them,
    which the entry-point group `softquery.models` names. Licence, summary and description are those
    of the card.

    Args:
        folder: The bundle, or the name of a model.
        name: The name by which its model will be loaded; that of the folder by default.
        package: The name of the distribution; `softquery-model-NAME` by default.
        version: Its version; by default `version` in the front matter of the card, or 1.0.
        output: The folder of the wheel, which is made.
        with_source: Whether to write the source folder as well, for those who build wheels by
            tools of their own.

    Raises:
        BundleError: The bundle cannot be loaded, or what is wrong with a name.
    """
    path = resolve(folder)
    model = name or os.path.basename(os.path.abspath(path))
    check_name(model)
    check_unclaimed(model, here=False)
    files = dict(travelling(path))
    bundle, notes = _tried(path)
    facts = describe(bundle, model, package=package, version=version)
    place = Path(output)
    try:
        place.mkdir(parents=True, exist_ok=True)
        wheel = place / f"{facts.stem}-{_TAG}.whl"
        with write_atomically(wheel, "wb") as raw:
            _write_wheel(raw, facts, files)
        source = _write_source(place, facts, path, files) if with_source else None
    except InputError as error:
        raise BundleError(str(error)) from None
    except OSError as error:
        raise BundleError(f"{place}: cannot be written ({error.strerror or error})") from None
    notes += _advice(bundle, facts)
    return PackedModel(
        model, facts.package, facts.version, facts.licence, wheel, source, tuple(notes)
    )


def _tried(path: Path) -> tuple[Bundle, list[str]]:
    try:
        return try_out(path), []
    except MissingExtra as error:
        return read_bundle(path), [f"could not be tried out here: {error}"]


def _advice(bundle: Bundle, facts: PackageFacts) -> list[str]:
    """What its maker should know before publishing it."""
    notes = []
    if facts.licence is None:
        notes.append("the card states no licence, so nobody else may use it; add one to README.md")
    is_ready = bundle.is_exported or is_sentence_head(bundle) or is_word_head(bundle)
    if not (is_ready or bundle.config.kind == "vectors"):
        notes.append("it was not exported, so whoever loads it needs torch; see softquery export")
    base = bundle.config.base
    local = [entry.name for entry in entries() if entry.origin == "local"]
    if base is not None and base in local:
        notes.append(f"it stands on your own model {base}, which others lack; pack that one too")
    return notes


def _write_wheel(raw: IO[bytes], facts: PackageFacts, files: dict[str, Path]) -> None:
    if sum(path.stat().st_size for path in files.values()) > LARGEST_WHEEL - (1 << 24):
        raise BundleError(
            f"{facts.model} has more than a wheel can hold, {LARGEST_WHEEL:,} bytes; "
            "share its folder, or put it on a hub"
        )
    record: list[str] = []
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, path in files.items():
            inside = f"{facts.module}/{facts.model}/{name}"
            with open_plain(path) as file:
                record.append(f"{inside},{record_hash(file)},{file.tell()}")
                file.seek(0)
                with archive.open(_entry(inside), "w") as target:
                    copy_bounded(file, target, LARGEST_WHEEL, str(path))
        for name, content in _texts(facts, files):
            encoded = content.encode()
            record.append(f"{name},{record_hash(io.BytesIO(encoded))},{len(encoded)}")
            archive.writestr(_entry(name), encoded)
        listed = f"{facts.stem}.dist-info/RECORD"
        archive.writestr(_entry(listed), "\n".join([*record, f"{listed},,", ""]))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _MODE
    entry.create_system = 3  # Unix, whatever the system: it decides how the mode is read
    return entry


def _legal(files: dict[str, Path]) -> list[str]:
    return [name for name in files if LEGAL.fullmatch(name)]


def _texts(facts: PackageFacts, files: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """The files of a wheel besides those of the bundle, its RECORD aside."""
    about = f"{facts.stem}.dist-info"
    yield f"{facts.module}/__init__.py", facts.init
    yield f"{about}/METADATA", metadata(facts, _legal(files))
    generator = f"Generator: softquery {__version__}"
    purelib = "Root-Is-Purelib: true"
    yield f"{about}/WHEEL", f"Wheel-Version: 1.0\n{generator}\n{purelib}\nTag: {_TAG}\n"
    yield f"{about}/entry_points.txt", f"[{GROUP}]\n{facts.package} = {facts.module}\n"
    for name in _legal(files):
        text = files[name].read_text(encoding="utf-8", errors="replace")
        yield f"{about}/licenses/{name}", text


def _write_source(place: Path, facts: PackageFacts, folder: Path, files: dict[str, Path]) -> Path:
    """The folder that a build tool makes such a wheel of."""
    target = place / facts.stem
    with atomic_folder(target, replace=(target / "pyproject.toml").is_file()) as fresh:
        inner = fresh / "src" / facts.module
        (inner / facts.model).mkdir(parents=True)
        copy_bundle(folder, inner / facts.model)
        (inner / "__init__.py").write_text(facts.init, encoding="utf-8")
        (fresh / "README.md").write_text(facts.description, encoding="utf-8")
        project = project_file(facts, _legal(files))
        (fresh / "pyproject.toml").write_text(project, encoding="utf-8")
        for name in _legal(files):
            (fresh / name).write_bytes(files[name].read_bytes())
    return target
