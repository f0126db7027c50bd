"""Where a run lies while it is under way, by what it is resumed, and what is left when it ends."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

from softquery.bundle import RECORDS
from softquery.errors import ConfigError, InputError, SoftqueryError
from softquery.files import write_json
from softquery.recipes.fitted import Fitted
from softquery.running.run_options import RunOptions, Say
from softquery.training import Training, launch
from softquery.training.run_records import NAME as CHECKPOINT

SETTINGS = "run.json"
DATA = "data_fingerprint"
FITTED = "fitted"
_MAY_CHANGE = {
    FITTED,  # its values are compared by themselves
    "training.checkpoint_seconds",
    "training.max_epochs",
    "training.max_steps",
    "training.patience",
    "training.sharding",  # a checkpoint is whole
}


def enter(training: Training, options: RunOptions) -> Fabric | None:
    """Check the places of a run and start its processes.

    Args:
        training: For precision and seed.
        options: For the rest.

    Returns:
        None where the bundle is complete, and only the clearing up had been interrupted.
    """
    target, folder = Path(options.output), partial_folder(options.output)
    finished = options.resume and is_finished(target, folder)
    if not finished:
        check_places(target, folder, resume=options.resume)
    fabric = launch(
        devices=options.devices,
        precision=training.precision,
        seed=training.seed,
        sharding=training.sharding,
    )
    if not finished:
        return fabric
    if fabric.is_global_zero:
        clear_up(folder, target)
    return None


def partial_folder(output: str | PathLike[str]) -> Path:
    """Where a run lies until its bundle is complete."""
    target = Path(output)
    if not target.name:
        raise InputError("already exists; name another --output", source=target)
    return target.with_name(target.name + ".partial")


def check_places(target: Path, folder: Path, *, resume: bool) -> None:
    """Refuse, before any work, places that are taken and runs that are not there."""
    if target.exists():
        raise InputError("already exists; name another --output", source=target)
    if folder.exists() and not folder.is_dir():
        raise InputError("is in the way: a file, expected no such name", source=folder)
    if folder.exists() and not resume:
        raise InputError(
            "holds an interrupted run; go on with --resume, or remove the folder", source=folder
        )
    if resume and not _is_run(folder):
        raise InputError("there is no interrupted run here to resume", source=folder)


def _is_run(folder: Path) -> bool:
    """Whether the folder is ours: everything in it goes when the run is complete."""
    if (folder / RECORDS / SETTINGS).is_file():
        return True
    # A run that was killed in its first moments may have left no more than empty folders.
    return folder.is_dir() and not any(
        path.is_file() and not path.name.startswith(".") for path in folder.rglob("*")
    )


@contextmanager
def kept_if_resumable(
    folder: Path, say: Say, *, writes: bool = True, also: str = CHECKPOINT
) -> Iterator[None]:
    """Around a run: what fails before the first checkpoint leaves nothing behind.

    Args:
        folder: Of the run; folders that are made for it are removed as well.
        say: Receives a line where there is something to go on from.
        writes: Whether this process is the one that writes; others leave the folder alone.
        also: What else in the folder is worth going on from, such as a teacher's vectors.
    """
    if not writes:
        yield
        return
    fresh = [place for place in (folder, *folder.parents) if not place.exists()]
    before = _age(folder / CHECKPOINT) or _age(folder / also)
    try:
        with _quiet_threads():
            yield
    except BaseException as error:
        after = _age(folder / CHECKPOINT) or _age(folder / also)
        if after is None and fresh:
            _remove(fresh)
        elif after != before and isinstance(error, (OSError, SoftqueryError)):
            say(f"{folder} holds the run so far; go on with --resume")
        if isinstance(error, OSError) and error.filename is None:
            full = error.errno == ENOSPC
            reason = "no space left on the disk" if full else error.strerror or str(error)
            raise InputError(f"cannot be written ({reason})", source=folder) from error
        raise


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """A log's own thread meets a full disk, too; the run reports it in one line, not in two."""
    before = threading.excepthook

    def report(found: threading.ExceptHookArgs) -> None:
        if not isinstance(found.exc_value, OSError):
            before(found)

    threading.excepthook = report
    try:
        yield
    finally:
        threading.excepthook = before


def _age(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _remove(fresh: list[Path]) -> None:
    shutil.rmtree(fresh[0], ignore_errors=True)
    for parent in fresh[1:]:
        with suppress(OSError):  # somebody else may have put something there
            parent.rmdir()


def is_finished(target: Path, folder: Path) -> bool:
    """Whether the bundle is complete and only the clearing up was interrupted."""
    ours, theirs = (place / RECORDS / SETTINGS for place in (folder, target))
    if not folder.exists() or not theirs.is_file():
        return False
    return not ours.exists() or ours.read_bytes() == theirs.read_bytes()


def clear_up(folder: Path, target: Path) -> None:
    """Remove what the run needed on its way, and what killed attempts at the bundle left."""
    shutil.rmtree(folder, ignore_errors=True)
    for left in target.parent.glob(f".{escape(target.name[:40])}.{'[0-9a-f]' * 16}.tmp"):
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


def recorded_values(output: str | PathLike[str]) -> dict[str, Fitted] | None:
    """What an interrupted run was fitted to; None where it left no settings.

    A run of an earlier version, which fitted nothing, has an empty record. What is damaged is
    reported where the settings are compared.
    """
    note = partial_folder(output) / RECORDS / SETTINGS
    try:
        found = json.loads(note.read_text(encoding="utf-8")).get(FITTED, [])
        return {each["setting"]: Fitted(**each) for each in found}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {} if note.exists() else None


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
