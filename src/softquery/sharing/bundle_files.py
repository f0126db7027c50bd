"""Which files of a bundle travel, how large each may be, and how they are copied.

A bundle that comes from somebody else is copied file by file: only what a bundle may hold is taken,
and nothing is followed, executed or unpickled.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from softquery.bundle.config import (
    CALIBRATION,
    CARD,
    CONFIG,
    GRAPHS,
    LARGEST_TEXT,
    LARGEST_TOKENIZER,
    METRICS,
    RECORDS,
    REPORT,
    REPORT_PAGE,
    SOURCE_TOKENIZER,
    TOKENIZER,
    WEIGHTS,
)
from softquery.errors import BundleError
from softquery.plain_files import LARGEST_SPARSE, MOST_TIMES, is_mostly_holes

LARGEST_WEIGHTS = 1 << 33
LARGEST_GRAPH = 1 << 22
"""As `softquery.runtime.graphs` reads them."""
MOST_FILES = 1000
"""Of one bundle."""
CHUNK = 1 << 20

_LIMITS = {
    CONFIG: LARGEST_TEXT,
    METRICS: LARGEST_TEXT,
    CALIBRATION: LARGEST_TEXT,
    CARD: LARGEST_TEXT,
    TOKENIZER: LARGEST_TOKENIZER,
    SOURCE_TOKENIZER: LARGEST_TOKENIZER,
    WEIGHTS: LARGEST_WEIGHTS,
}
LEGAL = re.compile(r"(LICEN[CS]E|NOTICE)(\.(txt|md))?")
"""Texts of licences, which may lie beside the files that are read."""
_LOCAL_CARD = re.compile(r"README\.[a-z]{2}\.md")
"""A card in another language, such as `README.zh.md`."""
_GRAPH = re.compile(rf"{GRAPHS}/(?:[a-z][a-z0-9_]{{0,60}}\.onnx|weights\.json)")
_RECORD = re.compile(rf"{RECORDS}/[A-Za-z0-9][\w.-]{{0,99}}\.(?:json|csv|tsv|txt|md|png|svg)")
_PICKLE = re.compile(r".*\.(bin|pt|pth|pkl|pickle|ckpt|joblib|npy|npz|h5)", re.IGNORECASE)


def largest(name: str) -> int | None:
    """The most bytes of a file of a bundle by its path within; None for what is left behind.

    Hidden files are left behind, and so are the report of a run on a file, which quotes its rows,
    and records of training other than settings, tables and pictures: a log of TensorBoard bears
    the name of the machine that wrote it.

    Raises:
        BundleError: A bundle holds no such file.

    >>> largest("config.json"), largest(".gitattributes"), largest("onnx/encode.onnx")
    (16777216, None, 4194304)
    >>> largest("README.zh.md") == largest("README.md")
    True
    >>> largest("setup.py")
    Traceback (most recent call last):
    softquery.errors.BundleError: is no file of a bundle
    """
    if any(part.startswith(".") for part in name.split("/")):
        return None
    if name in _LIMITS:
        return _LIMITS[name]
    if LEGAL.fullmatch(name) or _LOCAL_CARD.fullmatch(name):
        return LARGEST_TEXT
    if _GRAPH.fullmatch(name):
        return LARGEST_GRAPH
    if name in (REPORT, REPORT_PAGE):
        return None
    if name.startswith(f"{RECORDS}/"):
        return LARGEST_TEXT if _RECORD.fullmatch(name) else None
    if _PICKLE.fullmatch(name):
        raise BundleError("may be a pickle, which can run code and is never loaded")
    raise BundleError("is no file of a bundle")


def check_size(name: str, size: int, packed: int | None = None) -> None:
    """Refuse a file that is too large for its name, or grows too much when it is unpacked."""
    most = largest(name)
    if most is not None and size > most:
        raise BundleError(f"is larger than {most:,} bytes")
    check_growth(size, packed)


def check_growth(size: int, packed: int | None) -> None:
    """Refuse what takes little room in an archive and far more memory, as a sparse file does."""
    if packed is not None and size > LARGEST_SPARSE and size > packed * MOST_TIMES:
        raise BundleError(f"unpacks to more than {MOST_TIMES} times its size, {size:,} bytes")


def travelling(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a bundle that travel, by their path within, in order.

    Raises:
        BundleError: A link, a pipe, a file that no bundle holds, or one that is too large.
    """
    found = []
    for parent, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            if not name.startswith(".") and path.is_symlink():
                raise BundleError(f"{path}: is a link; a model that travels holds plain files only")
        found += [Path(parent, name) for name in names]
        folders[:] = [name for name in folders if not name.startswith(".")]
        if len(found) > MOST_FILES:
            raise BundleError(f"{folder}: holds more than {MOST_FILES:,} files")
    for path in sorted(found):
        name = path.relative_to(folder).as_posix()
        if _is_taken(name, path):
            yield name, path


def _is_taken(name: str, path: Path) -> bool:
    try:
        if largest(name) is None:
            return False
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("is not a file")
        check_size(name, status.st_size)
        if is_mostly_holes(path):
            raise BundleError("is mostly holes")
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from None
    return True


def _refuse_unreadable(error: OSError) -> None:
    raise BundleError(f"{error.filename}: {error.strerror}") from None


def open_plain(path: Path) -> IO[bytes]:
    """Open a plain file, and nothing that a link leads to or that would be waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BundleError("is not a file")
    return os.fdopen(descriptor, "rb")


def copy_bundle(folder: Path, target: Path) -> None:
    """Copy the files of a bundle that travel into an empty folder."""
    for name, path in travelling(folder):
        copy = target / name
        copy.parent.mkdir(exist_ok=True)
        try:
            source = open_plain(path)
        except (BundleError, OSError) as error:
            raise BundleError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        with source, copy.open("xb") as written:
            copy_bounded(source, written, largest(name) or 0, str(path))


def copy_bounded(source: IO[bytes], target: IO[bytes], most: int, label: str) -> None:
    """Copy a stream that may not be longer than it should be."""
    left = most
    while chunk := source.read(CHUNK):
        left -= len(chunk)
        if left < 0:
            raise BundleError(f"{label}: is larger than {most:,} bytes")
        target.write(chunk)
