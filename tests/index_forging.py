"""Forged indexes: files changed at will, and all sizes and checksums made right again."""

import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANIFEST, FACTS, GRAPH = "manifest.json", "segment.json", "vectors.usearch"


def segment_folders(index: Path) -> list[Path]:
    """The folders of an index's segments."""
    return sorted(path for path in (index / "segments").iterdir() if path.is_dir())


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Change what a JSON file holds; a change that returns nothing was made in place."""
    data = json.loads(path.read_bytes())
    changed = change(data)
    path.write_text(json.dumps(data if changed is None else changed), encoding="utf-8")


def put(data: Any, keys: tuple[str | int, ...], value: object) -> None:
    """Give a value inside a JSON document another one."""
    for key in keys[:-1]:
        data = data[key]
    data[keys[-1]] = value


def seal(index: Path) -> None:
    """Make the recorded sizes and checksums those of the files, wherever that is possible."""
    if not _is_plain(index / MANIFEST):  # a pipe, for one, would block
        return
    try:
        manifest = json.loads((index / MANIFEST).read_bytes())
        entries = [entry for entry in manifest["segments"] if isinstance(entry, dict)]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return
    for entry in entries:
        folder = index / "segments" / str(entry.get("name"))
        if "\0" not in str(folder) and folder.is_dir():
            _seal_segment(folder, entry)
    (index / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def _seal_segment(folder: Path, entry: dict[str, Any]) -> None:
    facts = folder / FACTS
    if _is_plain(facts):
        try:
            described = json.loads(facts.read_bytes())
            for name, recorded in described["files"].items():
                if _is_plain(folder / name) and isinstance(recorded, dict):
                    content = (folder / name).read_bytes()
                    recorded |= {"size": len(content), "crc": zlib.crc32(content)}
            facts.write_text(json.dumps(described), encoding="utf-8")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass
        entry["crc"] = zlib.crc32(facts.read_bytes())
    deleted = entry.get("deleted")
    if isinstance(deleted, str) and "\0" not in deleted and _is_plain(folder / deleted):
        entry["deleted_crc"] = zlib.crc32((folder / deleted).read_bytes())


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def tree(folder: Path) -> dict[str, str]:
    """Every name below a folder with what it is: a folder, where a link leads, or a hash."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder"
    return found


def write_canaries(folder: Path) -> Path:
    """A tree that nobody may touch, with the names that an index uses among others."""
    for name in ("notes", "000001-0123abcd", ".000002-0123abcd.0123456789abcdef.tmp"):
        place = folder / name
        (place / "deeper").mkdir(parents=True)
        for file in ("letter.txt", "cells.bin", "deleted-1.bin", "deeper/photo.jpg"):
            (place / file).write_text(f"{name}/{file}", encoding="utf-8")
    (folder / ".manifest.json.0123456789abcdef.tmp").write_text("mine", encoding="utf-8")
    (folder / "profile").write_text("export PATH", encoding="utf-8")
    return folder
