"""Reading a wheel of models as data: nothing of it is imported, and nothing leaves its place.

A wheel is a zip archive with a list of its files (PEP 427). Whoever made it is not trusted: paths,
sizes, the list and the metadata are checked before a byte is written.
"""

import csv
import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as ParserError
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import IO

from softquery.bundle.config import LARGEST_TEXT
from softquery.errors import BundleError
from softquery.plain_files import is_mostly_holes
from softquery.sharing.bundle_files import (
    CHUNK,
    MOST_FILES,
    check_growth,
    check_size,
    largest,
    open_plain,
)
from softquery.zoo.packages import GROUP

LARGEST_WHEEL = (1 << 31) - 1
"""The most bytes of a wheel, packed or unpacked: what a zip archive holds without extensions."""
LARGEST_DIRECTORY = 1 << 22
"""The most bytes of an archive's list of files, which is read whole."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,99}")
"""What a distribution or a version may be called."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError,
    ValueError, OverflowError, OSError,
)  # fmt: skip
"""What reading a forged archive raises."""
_UNLISTED = ("RECORD.jws", "RECORD.p7s")
"""Signatures, which cannot be in the list that they sign."""


@dataclass(frozen=True, slots=True)
class ModelWheel:
    """An opened wheel of models whose every file fits its list.

    Attributes:
        path: The file.
        label: Its distribution and version.
        models: The files of each model, by name and by path within the model.
        archive: The opened archive.
    """

    path: Path
    label: str
    models: dict[str, dict[str, zipfile.ZipInfo]]
    archive: zipfile.ZipFile

    def copy_model(self, name: str, target: Path) -> None:
        """Write the files of a model that travel into an empty folder."""
        for inner, entry in self.models[name].items():
            if largest(inner) is not None:
                copy = target / inner
                copy.parent.mkdir(exist_ok=True)
                with copy.open("xb") as written:
                    written.writelines(self._chunks(entry))

    def _chunks(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        with faults(self.path), self.archive.open(entry) as file:
            while chunk := file.read(CHUNK):
                yield chunk


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with a wheel."""
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from None
    except _FAULTS as error:
        reason = getattr(error, "strerror", None) or error
        raise BundleError(f"{path}: is not a sound wheel ({reason})") from None


class _Bounded:
    """A file of which no large part is read at once: an archive's list could be gigabytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._read = file.read

    def read(self, size: int = -1, /) -> bytes:
        most = LARGEST_DIRECTORY + 1
        content = self._read(size if 0 <= size < most else most)
        if len(content) == most:
            raise BundleError("its list of files is too long")
        return content


@contextmanager
def open_wheel(path: Path) -> Iterator[ModelWheel]:
    """Open a wheel of models, after checking all that its maker may have forged.

    Raises:
        BundleError: What is wrong with it, in one line.
    """
    with faults(path):
        raw = open_plain(path)
    with raw:
        with faults(path):
            if path.stat().st_size > LARGEST_WHEEL:
                raise BundleError(f"is larger than {LARGEST_WHEEL:,} bytes")
            if is_mostly_holes(path):
                raise BundleError("is mostly holes")
            archive = zipfile.ZipFile(_Bounded(raw))
            entries = _checked_entries(archive)
            about = _about(archive, entries)
            label = _checked_metadata(archive, entries[f"{about}/METADATA"])
            modules = _modules(archive, entries.get(f"{about}/entry_points.txt"))
            models = _models(entries, modules)
            _check_record(archive, entries, about)
        yield ModelWheel(path, label, models, archive)


def _checked_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files of an archive by name, none of which leads out of it."""
    found: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    total = 0
    if len(archive.infolist()) > 50 * MOST_FILES:
        raise BundleError("holds too many files")
    for entry in archive.infolist():
        # As it is stored: `filename` ends at a NUL and has other separators on some systems.
        name = entry.orig_filename
        _check_path(name)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if entry.is_dir() and kind in (0, stat.S_IFDIR):
            continue
        if kind not in (0, stat.S_IFREG):
            raise BundleError(f"{name!r:.200} is a link or a device, not a file")
        if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
            raise BundleError(f"{name!r:.200} is encrypted, or packed in a way of no wheel")
        if name.casefold() in seen:
            raise BundleError(f"{name!r:.200} is in it twice")
        seen.add(name.casefold())
        total += entry.file_size
        if total > LARGEST_WHEEL:
            raise BundleError(f"unpacks to more than {LARGEST_WHEEL:,} bytes")
        found[name] = entry
    return found


def _check_path(name: str) -> None:
    parts = name.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or re.search(r"[\\:]", name):
        raise BundleError(f"{name!r:.200} leads out of the archive")
    if not name.isprintable() or len(name) > 500:
        raise BundleError(f"{name!r:.200} is no name of a file in a wheel")


def _about(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> str:
    """The folder that tells about the wheel."""
    tops = sorted({name.partition("/")[0] for name in entries})
    folders = [top for top in tops if top.endswith(".dist-info")]
    if len(folders) != 1:
        raise BundleError("is not a wheel: it needs one .dist-info folder")
    for name in ("WHEEL", "METADATA", "RECORD"):
        if f"{folders[0]}/{name}" not in entries:
            raise BundleError(f"is not a wheel: {folders[0]}/{name} is missing")
    version = _header(archive, entries[f"{folders[0]}/WHEEL"], "Wheel-Version")
    if not re.fullmatch(r"1\.\d{1,3}", version):
        raise BundleError(f"is a wheel of version {version!r:.40}, expected 1.0")
    return folders[0]


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    if entry.file_size > LARGEST_TEXT:
        raise BundleError(f"{entry.filename!r:.200} is larger than {LARGEST_TEXT:,} bytes")
    with archive.open(entry) as file:
        content = b"".join(iter(lambda: file.read(CHUNK), b""))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BundleError(f"{entry.filename}: is not UTF-8 text (byte {error.start})") from None


def _header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> str:
    return str(HeaderParser().parsestr(_text(archive, entry)).get(name, "")).strip()


def _checked_metadata(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    """The distribution and its version."""
    values = [_header(archive, entry, name) for name in ("Name", "Version")]
    for name, value in zip(("Name", "Version"), values, strict=True):
        if not _LABEL.fullmatch(value):
            raise BundleError(f"its metadata is broken: {name} is {value!r:.80}")
    return " ".join(values)


def _modules(archive: zipfile.ZipFile, entry: zipfile.ZipInfo | None) -> list[str]:
    """The top-level packages in which its models lie."""
    points: dict[str, str] = {}
    if entry is not None:
        parser = ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string(_text(archive, entry))
        except ParserError:
            raise BundleError("its entry_points.txt is broken") from None
        points = dict(parser[GROUP]) if parser.has_section(GROUP) else {}
    if not points:
        raise BundleError(f"brings no models: no entry point in the group {GROUP}")
    for module in points.values():
        if not module.isidentifier():
            raise BundleError(f"its entry point must name a top-level package, got {module!r:.80}")
    return sorted(set(points.values()))


def _models(
    entries: dict[str, zipfile.ZipInfo], modules: list[str]
) -> dict[str, dict[str, zipfile.ZipInfo]]:
    """The folders of its packages, each a model, whose every file a bundle may hold."""
    models: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for name, entry in entries.items():
        module, _, inside = name.partition("/")
        model, _, inner = inside.partition("/")
        if module not in modules or not inner or model.startswith((".", "__")):
            continue
        try:
            check_size(inner, entry.file_size, entry.compress_size)
        except BundleError as error:
            raise BundleError(f"{name!r:.200} {error}") from None
        if len(models.setdefault(model, {})) == MOST_FILES:
            raise BundleError(f"its model {model!r:.100} has more than {MOST_FILES:,} files")
        models[model][inner] = entry
    if not models:
        raise BundleError(f"its package {modules[0]!r:.80} holds no model")
    return models


def _check_record(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], about: str
) -> None:
    """Hold every file against the list of hashes that the wheel brings along."""
    record = f"{about}/RECORD"
    try:
        rows = list(csv.reader(io.StringIO(_text(archive, entries[record]), newline="")))
    except csv.Error as error:
        raise BundleError(f"its RECORD is broken ({error})") from None
    hashes = {row[0]: row[1] if len(row) > 1 else "" for row in rows if row}
    exempt = {record, *(f"{about}/{name}" for name in _UNLISTED)}
    for name in sorted(hashes.keys() - entries.keys()):
        raise BundleError(f"its RECORD lists {name!r:.200}, which is missing")
    for name, entry in entries.items():
        if name in exempt:
            continue
        if name not in hashes:
            raise BundleError(f"{name!r:.200} is not in its RECORD")
        try:
            check_growth(entry.file_size, entry.compress_size)
        except BundleError as error:
            raise BundleError(f"{name!r:.200} {error}") from None
        with archive.open(entry) as file:
            if hashes[name] != record_hash(file):
                raise BundleError(f"{name!r:.200} does not fit the hash in its RECORD")


def record_hash(file: IO[bytes]) -> str:
    """The hash of a file as a RECORD spells it.

    >>> record_hash(io.BytesIO(b""))
    'sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    """
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return f"sha256={urlsafe_b64encode(digest.digest()).decode().rstrip('=')}"
