"""Where a run lies while it is under way, and what is left of it when it fails."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC
from os import PathLike
from pathlib import Path

from softquery.bundle import RECORDS
from softquery.errors import InputError, SoftqueryError
from softquery.training.checkpoint import NAME as CHECKPOINT

SETTINGS = "run.json"


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
def kept_if_resumable(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Around a run: what fails before the first checkpoint leaves nothing behind.

    Args:
        folder: Of the run; folders that are made for it go as well.
        say: Told when there is something to go on from.
    """
    fresh = [place for place in (folder, *folder.parents) if not place.exists()]
    before = _age(folder / CHECKPOINT)
    try:
        with _quiet_threads():
            yield
    except BaseException as error:
        after = _age(folder / CHECKPOINT)
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
    """A log's own thread meets a full disk, too; the run tells of it in one line, not in two."""
    before = threading.excepthook

    def tell(found: threading.ExceptHookArgs) -> None:
        if not isinstance(found.exc_value, OSError):
            before(found)

    threading.excepthook = tell
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
