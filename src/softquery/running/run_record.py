"""What a run notes about itself, by which it is resumed, and what goes when it is complete."""

import json
import shutil
from glob import escape
from pathlib import Path
from typing import Any

from softquery.bundle import RECORDS
from softquery.errors import ConfigError, InputError
from softquery.files import write_json
from softquery.running.run_folder import SETTINGS

DATA = "data_fingerprint"
_MAY_CHANGE = {
    "training.checkpoint_seconds",
    "training.max_epochs",
    "training.max_steps",
    "training.patience",
}


def is_finished(target: Path, folder: Path) -> bool:
    """Whether the bundle is complete and only the clearing up was interrupted."""
    ours, theirs = (place / RECORDS / SETTINGS for place in (folder, target))
    if not folder.exists() or not theirs.is_file():
        return False
    return not ours.exists() or ours.read_bytes() == theirs.read_bytes()


def clear_up(folder: Path, target: Path) -> None:
    """Remove what the run needed on its way, and what killed attempts at the bundle left."""
    shutil.rmtree(folder, ignore_errors=True)
    for left in target.parent.glob(f".{escape(target.name[:40])}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)


def note_settings(
    folder: Path, settings: dict[str, Any], *, fingerprint: str, resume: bool
) -> None:
    """Write `run.json`, or make sure that a resumed run is the one that was interrupted."""
    note = folder / RECORDS / SETTINGS
    plain = json.loads(json.dumps({**settings, DATA: fingerprint}))
    if resume and note.exists():
        before, now = _flat(_read_settings(note)), _flat(plain)
        if before.get(DATA) != now[DATA]:
            raise ConfigError(f"{note}: the training data has changed since the run was started")
        for key in now:
            if before.get(key) != now[key] and key not in _MAY_CHANGE:
                raise ConfigError(
                    f"{note}: the interrupted run had {key} = {before.get(key)!r}, now {now[key]!r}"
                )
        return
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", source=folder) from None
    write_json(note, plain)


def _read_settings(note: Path) -> dict[str, Any]:
    try:
        settings: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        settings.keys()
    except (ValueError, AttributeError) as error:
        raise ConfigError(f"{note}: is damaged ({error}); remove {note.parents[1]}") from None
    return settings


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix.rstrip("."): value}
    return {
        key: each
        for name, part in value.items()
        for key, each in _flat(part, f"{prefix}{name}.").items()
    }
