"""Files that clients send to be indexed: checked, indexed beside the others, then shown at once.

An index appears in its folder by renaming, so that it is there whole or not at all, and every
worker that shares the folder finds it.
"""

import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from softquery.errors import ConfigError, InputError, SoftqueryError
from softquery.runtime import Matcher
from softquery.search import Index, is_index
from softquery.search.storage.entries import read_source
from softquery.serve.catalogue import Catalogue, ServedModel, open_index
from softquery.serve.faults import Fault, FaultKind
from softquery.serve.settings import Limits, Settings
from softquery.serve.telemetry import log

MOST_INDEXES = 20
"""The most indexes that a folder of uploads may hold."""
ENDINGS = (".csv", ".tsv", ".jsonl")
"""What may be sent: text without compression, so that its size is known."""
SCRATCH = ".upload-"
"""The beginning of the folder in which an index is built."""
OLD_SECONDS = 3_600
"""Age from which such a folder is of a process that was killed."""
LONGEST_NAME = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file of questions, as a client sends it."""

    name: str
    """The file's name; its stem becomes the name of the index."""
    content: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """Our column names mapped to those of the file."""


class Uploads:
    """The folder of uploaded indexes. Safe from many threads and processes.

    Args:
        folder: Is made if it is not there.
        catalogue: Gets every index of the folder.
        limits: How many rows a file may have, and characters a text.
    """

    def __init__(self, folder: Path, catalogue: Catalogue, limits: Limits) -> None:
        self.folder, self.catalogue, self.limits = folder, catalogue, limits
        self._opening, self._building = threading.Lock(), threading.Lock()
        self._refused: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._remove_old_scratch()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigError(f"--uploads {folder}: cannot be used ({reason})") from None
        self.refresh()

    def refresh(self) -> None:
        """Open what is in the folder and not served yet; what cannot be opened is logged once."""
        with self._opening:
            for place in sorted(self.folder.glob("*.sq")):
                name = place.name.removesuffix(".sq")
                if name in self.catalogue.names or place.name in self._refused:
                    continue
                try:
                    self._open(name, place)
                except (SoftqueryError, OSError) as error:
                    self._refused.add(place.name)
                    fields = {"index": place.name, "reason": str(error)}
                    log(logging.WARNING, "an uploaded index cannot be opened", fields)

    def build(self, upload: Upload, *, until: float, gone: threading.Event) -> ServedModel:
        """Index a file and serve it.

        Args:
            upload: The file.
            until: When the answer is due, by `time.monotonic`.
            gone: Set when nobody waits for the index any more.

        Raises:
            Fault: The file cannot be indexed, there are too many indexes, another file is being
                indexed, or it takes too long.
        """
        if not self._building.acquire(blocking=False):
            message = "another file is being indexed; try again in 2 s"
            raise Fault(FaultKind.OVERLOADED, message, headers={"Retry-After": "2"})
        try:
            self._check_number()
            with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.folder) as scratch:
                return self._built(upload, Path(scratch), partial(_go_on, until, gone))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Fault(FaultKind.UNAVAILABLE, f"the index cannot be written ({reason})") from None
        finally:
            self._building.release()

    def _built(self, upload: Upload, scratch: Path, advance: Callable[[int], None]) -> ServedModel:
        file = scratch / f"upload{_ending(upload.name)}"
        shown = safe_name(upload.name)
        try:
            file.write_text(upload.content, encoding="utf-8", newline="")
            self._check_rows(file, upload.columns)
            advance(0)
            Index.build(file, scratch / "index", columns=upload.columns, threads=1, advance=advance)
        except UnicodeEncodeError:
            message = "holds half of a character (a lone surrogate)"
            raise Fault(FaultKind.VALIDATION, f"{shown}: {message}") from None
        except Fault:
            raise
        except SoftqueryError as error:
            message = str(error).replace(str(file), f"{shown}{file.suffix}")
            raise Fault(FaultKind.VALIDATION, message) from None
        with self._opening:
            name, place = self._placed(scratch / "index", shown)
            return self._open(name, place)

    def _check_number(self) -> None:
        if sum(1 for _ in self.folder.glob("*.sq")) >= MOST_INDEXES:
            message = f"the server holds {MOST_INDEXES} uploaded indexes already; remove one first"
            raise Fault(FaultKind.VALIDATION, message)

    def _check_rows(self, file: Path, columns: Mapping[str, str]) -> None:
        """Refuse more rows, or longer texts, than a file may have."""
        rows = read_source(file, columns=columns).rows
        if len(rows) > self.limits.max_rows:
            message = f"{len(rows):,} rows; an uploaded file may have {self.limits.max_rows:,}"
            raise Fault(FaultKind.VALIDATION, message)
        for row in rows:
            if any(len(value) > self.limits.max_text for value in row.values.values()):
                message = f"a text is longer than {self.limits.max_text:,} characters"
                raise InputError(message, source=file, row=row.number)

    def _placed(self, built: Path, shown: str) -> tuple[str, Path]:
        """Give a complete index the first name that is free."""
        for number in range(1, 2 * MOST_INDEXES + 1):
            name = shown if number == 1 else f"{shown}-{number}"
            place = self.folder / f"{name}.sq"
            if name in self.catalogue.names or place.exists():
                continue
            os.rename(built, place)
            return name, place
        raise Fault(FaultKind.VALIDATION, f"too many indexes are called {shown}; rename the file")

    def _open(self, name: str, place: Path) -> ServedModel:
        if not is_index(place):
            raise InputError("holds no index", source=place)
        models = [*self.catalogue.models, *self.catalogue.indexes]
        matchers = [
            getattr(each.model, "matcher", each.model)
            for each in models
            if isinstance(getattr(each.model, "matcher", each.model), Matcher)
        ]
        served = open_index(name, str(place), matchers=matchers)
        self.catalogue.add(served)
        return served

    def _remove_old_scratch(self) -> None:
        for place in self.folder.glob(f"{SCRATCH}*"):
            if place.is_dir() and time.time() - place.stat().st_mtime > OLD_SECONDS:
                shutil.rmtree(place, ignore_errors=True)


def open_uploads(settings: Settings, catalogue: Catalogue) -> Uploads | None:
    """The folder that the settings name, whose indexes are added to the catalogue; None if none."""
    if settings.uploads is None:
        return None
    return Uploads(Path(settings.uploads), catalogue, settings.limits)


def safe_name(file: str) -> str:
    """The name of an index that comes from a file: letters, digits, dots and dashes.

    >>> safe_name("../My FAQ (new).csv"), safe_name("常见问题.csv"), safe_name("....tsv")
    ('My-FAQ-new', '常见问题', 'upload')
    """
    stem = re.split(r"[/\\\\]", file)[-1].rpartition(".")[0]
    return re.sub(r"[^\w.]+|_+", "-", stem).strip("-.")[:LONGEST_NAME].strip("-.") or "upload"


def _ending(file: str) -> str:
    ending = next((each for each in ENDINGS if file.lower().endswith(each)), None)
    if ending is None:
        raise Fault(FaultKind.VALIDATION, f"the file's name must end in {', '.join(ENDINGS)}")
    return ending


def _go_on(until: float, gone: threading.Event, done: int) -> None:
    """Stop indexing when nobody waits for it, or it takes too long."""
    if gone.is_set() or time.monotonic() > until:
        message = "indexing the file took too long; send fewer rows, or use `softquery index`"
        raise Fault(FaultKind.UNAVAILABLE, message, headers={"Retry-After": "60"})
