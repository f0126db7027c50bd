"""The folder of an index as a place: links in it are refused, and leftovers are swept.

An index may come from a stranger. A link in it might lead to files of whoever opens it, which a
change would then overwrite or remove. So an index has no links, and sweeping removes files only, by
names that softquery itself gives, from folders that are held open.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from softquery.errors import InputError
from softquery.search.storage.index_files import is_link
from softquery.search.storage.manifest import DELETED_NAME, MANIFEST, SEGMENT_NAME

LOCK, SEGMENTS, TUNINGS = "lock", "segments", "tunings"
_TEMPORARY = r"\.[0-9a-f]{16}\.tmp"
_OLD_MANIFEST = re.compile(rf"\.{re.escape(MANIFEST)}{_TEMPORARY}")
_OLD_SEGMENT = re.compile(rf"{SEGMENT_NAME.pattern}|\.{SEGMENT_NAME.pattern}{_TEMPORARY}")
_OLD_DELETED = re.compile(rf"{DELETED_NAME.pattern}|\.{DELETED_NAME.pattern}{_TEMPORARY}")
_TUNING_FILE = re.compile(r"[A-Za-z_-]+\.(bin|json|md|safetensors|onnx|png|jsonl|tsv|log)")
_TRAINED = ("matcher", "encoder")
_BUNDLE_PARTS = ("onnx", "training")
_SEGMENT_FILE = re.compile(r"[a-z_]+\.(bin|json|usearch)")


def refuse_link(path: Path) -> None:
    """Refuse the folder of an index, or its lock, if it is a link."""
    if path.is_symlink():
        message = f"is a link; name the folder itself, {os.path.realpath(path)}"
        raise is_link(path) if path.name == LOCK else InputError(message, source=path)


def refuse_links(folder: Path) -> None:
    """Refuse a folder inside an index, or the index itself, if it is a link or holds one.

    Raises:
        InputError: There is a link, or the folder is a file.
        FileNotFoundError: There is no such folder.
    """
    if folder.is_symlink():
        raise is_link(folder)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise is_link(Path(entry.path))
    except NotADirectoryError:
        raise InputError("is not a folder", source=folder) from None


def sweep(folder: Path, named: Mapping[str, str | None], tuning: str | None = None) -> None:
    """Remove what crashes and merges have left: files and folders with names of our own.

    Args:
        folder: The index, locked by this process.
        named: The segments that stay, each with its file of deleted rows.
        tuning: The tuning that stays, if there is one.
    """
    if not hasattr(os, "O_DIRECTORY"):  # Windows, which cannot hold a folder open
        return
    with suppress(OSError), _held(folder) as top:
        _remove_files(top, lambda name: _OLD_MANIFEST.fullmatch(name) is not None)
        with _held(SEGMENTS, top) as segments:
            for name in os.listdir(segments):
                if name in named:
                    _sweep_segment(segments, name, named[name])
                elif _OLD_SEGMENT.fullmatch(name):
                    _remove_segment(segments, name)
    with suppress(OSError), _held(folder) as top, _held(TUNINGS, top) as tunings:
        for name in os.listdir(tunings):
            if name != tuning and _OLD_SEGMENT.fullmatch(name):
                _remove_tuning(tunings, name)


def _sweep_segment(segments: int, name: str, deleted: str | None) -> None:
    """Remove outdated files of deleted rows."""
    with suppress(OSError), _held(name, segments) as segment:
        _remove_files(
            segment, lambda file: file != deleted and _OLD_DELETED.fullmatch(file) is not None
        )


def _remove_segment(segments: int, name: str) -> None:
    """Remove a segment; if somebody has put other files there, they and the folder stay."""

    def is_ours(file: str) -> bool:
        return _SEGMENT_FILE.fullmatch(file) is not None or _OLD_DELETED.fullmatch(file) is not None

    with suppress(OSError):
        with _held(name, segments) as segment:
            _remove_files(segment, is_ours)
        os.rmdir(name, dir_fd=segments)


def _remove_tuning(tunings: int, name: str) -> None:
    """Remove a tuning with the models in it; other files that somebody has put there stay."""

    def is_ours(file: str) -> bool:
        return _TUNING_FILE.fullmatch(file) is not None

    def remove(within: int, folder: str, parts: tuple[str, ...]) -> None:
        with suppress(OSError):
            with _held(folder, within) as held:
                _remove_files(held, is_ours)
                for part in parts:
                    remove(held, part, _BUNDLE_PARTS if part in _TRAINED else ())
            os.rmdir(folder, dir_fd=within)

    remove(tunings, name, _TRAINED)


def _remove_files(folder: int, is_old: Callable[[str], bool]) -> None:
    for name in os.listdir(folder):
        if is_old(name):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


@contextmanager
def _held(path: str | PathLike[str], within: int | None = None) -> Iterator[int]:
    """Hold a folder open, which is not a link: what is removed in it is removed nowhere else."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_CONTENTS = {
    "cells": "texts",
    "cell": "texts",
    "words": "words",
    "word": "words",
    "vectors": "vectors",
    "encodings": "encodings",
    "encoding": "encodings",
}


def folder_sizes(folders: Iterable[Path]) -> dict[str, int]:
    """Bytes on disk of several segments, by what they hold."""
    sizes: dict[str, int] = {}
    for folder in folders:
        for path in folder.iterdir():
            kind = path.name.partition(".")[0].partition("_")[0].partition("-")[0]
            name = _CONTENTS.get(kind, "other")
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return sizes
