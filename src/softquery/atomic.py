"""Atomic files and folders: written under a temporary name, then renamed into place."""

import bz2
import errno
import gzip
import json
import lzma
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import TextIOWrapper
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, Literal, cast, overload

from softquery.errors import InputError

_PACKERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    # No file name and no time in the header, so that equal contents give equal files.
    ".gz": lambda raw: cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=raw, mtime=0)),
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115  (`_layers` closes it)
    ".bz2": lambda raw: bz2.BZ2File(raw, "wb"),
}

_WHILE_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Faults of the disk; any other `OSError` in a caller's block is not about the file written."""

_REASONS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.ENOENT: "no such folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EISDIR: "is a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


@overload
def write_atomically(
    path: str | PathLike[str], mode: Literal["w"] = "w"
) -> AbstractContextManager[IO[str]]: ...
@overload
def write_atomically(
    path: str | PathLike[str], mode: Literal["wb"]
) -> AbstractContextManager[IO[bytes]]: ...
def write_atomically(
    path: str | PathLike[str], mode: Literal["w", "wb"] = "w"
) -> AbstractContextManager[IO[Any]]:
    r"""Write a file atomically: it appears complete or not at all.

    The contents go to a temporary file in the same folder, which is synced to the disk and then
    renamed. After any exception the temporary file is removed and an older file is untouched.
    Text is UTF-8 with `\n`; a name ending in .gz, .xz or .bz2 is compressed on the way. Devices and
    pipes (`/dev/stdout`) are written directly.

    Args:
        path: The file to write; its folder must exist.
        mode: `"w"` for text, `"wb"` for bytes.

    Raises:
        InputError: If the file cannot be written: disk full, no such folder, no permission.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(folder + "/answer.txt") as handle:
    ...         _ = handle.write("yes")
    ...     os.listdir(folder)
    ['answer.txt']
    """
    if mode not in ("w", "wb"):
        raise ValueError(f'mode must be "w" or "wb", got {mode!r}')
    return _write_atomically(fspath(path), mode)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file atomically."""
    with write_atomically(path) as handle:
        handle.write(text)


def write_bytes(path: str | PathLike[str], contents: bytes) -> None:
    """Write a file of bytes atomically."""
    with write_atomically(path, "wb") as handle:
        handle.write(contents)


def write_json(path: str | PathLike[str], value: object) -> None:
    """Write indented JSON atomically; NaN and infinity, which JSON lacks, raise a `ValueError`."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def atomic_folder(path: str | PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """Build a folder under a temporary name and rename it into place when it is complete.

    Args:
        path: The folder to create; its parent must exist. It may exist already if it is empty.
        replace: Whether to replace an existing folder; it is untouched until the end.

    Raises:
        InputError: If the target exists, or cannot be written.
    """
    source = fspath(path)
    target = os.path.realpath(source)
    _refuse_standing(target, source, replace=replace)
    building = _beside(target)
    with _disk_faults(source):
        os.mkdir(building)
    try:
        with _disk_faults(source, within=building):
            yield Path(building)
        with _disk_faults(source):
            _sync_tree(building)
            _refuse_standing(target, source, replace=replace)
            _move_folder(building, target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


@contextmanager
def _write_atomically(source: str, mode: str) -> Iterator[IO[Any]]:
    if _is_special(source):
        with _disk_faults(source), open(source, "wb") as raw, _layers(raw, source, mode) as handle:
            yield handle
        return
    target = os.path.realpath(source)
    with _disk_faults(source):
        if os.path.isdir(target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary = _beside(target)
        # O_EXCL never opens another writer's file, and the umask applies as usual.
        raw = os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb")
    try:
        with _disk_faults(source, within=temporary), raw, _layers(raw, source, mode) as handle:
            yield handle
        with _disk_faults(source):
            _keep_mode(target, temporary)
            os.replace(temporary, target)
            _sync_folder(os.path.dirname(target))
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def _layers(raw: IO[bytes], source: str, mode: str) -> Iterator[IO[Any]]:
    """Compression and text encoding around raw bytes; on success everything is synced."""
    pack = _PACKERS.get(os.path.splitext(source)[1].lower())
    packed = raw if pack is None else pack(raw)
    handle = packed if mode == "wb" else TextIOWrapper(packed, encoding="utf-8", newline="\n")
    try:
        yield handle
        handle.flush()
        if isinstance(handle, TextIOWrapper):
            handle.detach()
        if packed is not raw:
            packed.close()
        raw.flush()
        # A device or pipe cannot be synced.
        with suppress(OSError) if _is_special(source) else nullcontext():
            os.fsync(raw.fileno())
    except BaseException:
        # Closed here, so that a full disk is not reported again when the handle is collected.
        for layer in (handle, packed, raw):
            with suppress(OSError, ValueError):
                layer.close()
        raise


@contextmanager
def _disk_faults(source: str, *, within: str | None = None) -> Iterator[None]:
    """Turn an `OSError` about the target into an `InputError` of one line.

    Args:
        source: The target, for the error.
        within: Given around a caller's block: only faults of the disk itself and of files inside
            this path are converted, not those of other files that the caller uses.
    """
    try:
        yield
    except OSError as error:
        if within is not None and not _is_about(error, within):
            raise
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise InputError(f"cannot be written ({reason})", source=source) from error


def _is_about(error: OSError, path: str) -> bool:
    if error.filename is None:
        return error.errno in _WHILE_WRITING
    return os.path.realpath(os.fsdecode(error.filename)).startswith(path)


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _beside(target: str) -> str:
    """An unused hidden name in the target's folder, short enough for any file system."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}.tmp")


def _keep_mode(target: str, temporary: str) -> None:
    with suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))


def _refuse_standing(target: str, source: str, *, replace: bool) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise InputError("is a file, expected a new folder", source=source)
    with _disk_faults(source):
        if not replace and os.listdir(target):
            raise InputError("exists already; choose another folder or remove it", source=source)


def _move_folder(building: str, target: str) -> None:
    """Rename the new folder into place; an old one is moved away, and back if that fails."""
    old = _beside(target)
    stood = os.path.isdir(target)
    if stood:
        os.rename(target, old)
    try:
        os.rename(building, target)
    except BaseException:
        if stood:
            os.rename(old, target)
        raise
    _sync_folder(os.path.dirname(target))
    shutil.rmtree(old, ignore_errors=True)


def _sync_tree(folder: str) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as handle:
                os.fsync(handle.fileno())
        _sync_folder(place)


def _sync_folder(folder: str) -> None:
    """Sync a rename to the disk; systems that cannot open folders (Windows) need no sync."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
