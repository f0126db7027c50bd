"""The folder of an index: read by many, written by one at a time, whole after any crash.

| place | holds |
|---|---|
| `manifest.json` | what the index is at this moment |
| `segments/NAME/` | rows, written once |
| `segments/NAME/deleted-G.bin` | which of them are gone since generation G |
| `lock` | is locked while somebody writes |

A change writes new files first, makes them reach the disk, and then replaces the manifest. A reader
that finds a segment gone reads the manifest again: it was merged away in between.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from softquery.atomic import atomic_folder
from softquery.errors import InputError
from softquery.search.manifest import (
    MANIFEST,
    IndexSettings,
    Manifest,
    SegmentEntry,
    read_manifest,
)
from softquery.search.segment import Segment, mark_deleted

LOCK, SEGMENTS = "lock", "segments"
TRIES = 20
"""How often a reader may be overtaken by a writer before it gives up."""


def create(folder: Path, manifest: Manifest) -> None:
    """Make an index without rows; the folder appears with its manifest inside."""
    with atomic_folder(folder) as place:
        (place / SEGMENTS).mkdir()
        (place / LOCK).touch()
        # Plainly: the folder is not there yet, and it is by its name that a full disk is told of.
        (place / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


class Store:
    """An index's folder as one process sees it. Its view changes by `refresh` and `commit` alone.

    Args:
        folder: It is an index.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest, self.segments = self._read({})

    def refresh(self) -> bool:
        """Take up what others have written; whether there was anything."""
        if read_manifest(self.folder) == self.manifest:
            return False
        known = {segment.entry.name: segment for segment in self.segments}
        self.manifest, self.segments = self._read(known)
        return True

    def segment_folder(self, name: str) -> Path:
        """Where a segment lies."""
        return self.folder / SEGMENTS / name

    def new_segment(self) -> Path:
        """A place for a segment."""
        name = f"{self.manifest.generation + 1:06d}-{secrets.token_hex(4)}"
        return self.segment_folder(name)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other writers out, and begin with what they have left."""
        with _locked(self.folder / LOCK, self.folder):
            self.refresh()
            self._sweep()
            yield

    def commit(
        self,
        *,
        new: Sequence[SegmentEntry] = (),
        gone: Mapping[str, Iterable[int]] | None = None,
        dropped: Iterable[str] = (),
        columns: Sequence[str] | None = None,
        unfinished: bool | None = None,
        settings: IndexSettings | None = None,
    ) -> None:
        """Make a change lasting: all of it, or none if the process ends before.

        Args:
            new: Segments that are on the disk.
            gone: Rows that are there no more, by segment.
            dropped: Segments whose rows are in `new` ones.
            columns: All columns, where there are further ones.
            unfinished: Whether the first indexing still goes on.
            settings: Where they change.
        """
        before = self.manifest
        marked = self._marked(gone or {}, before.generation + 1)
        left_out = set(dropped)
        kept = [marked.get(each.name, each) for each in before.segments]
        kept = [each for each in kept if each.name not in left_out]
        after = replace(
            before,
            generation=before.generation + 1,
            segments=tuple(each for each in (*kept, *new) if each.num_deleted < each.num_rows),
            columns=before.columns if columns is None else tuple(columns),
            unfinished=before.unfinished if unfinished is None else unfinished,
            settings=settings or before.settings,
        )
        after.write(self.folder)
        known = {segment.entry.name: segment for segment in self.segments}
        self.manifest, self.segments = self._read(known)
        self._sweep()

    def _marked(
        self, gone: Mapping[str, Iterable[int]], generation: int
    ) -> dict[str, SegmentEntry]:
        segments = {segment.entry.name: segment for segment in self.segments}
        marked = {}
        for name, rows in gone.items():
            place = self.segment_folder(name)
            marked[name] = mark_deleted(place, segments[name], rows, generation=generation)
        return marked

    def _read(self, known: Mapping[str, Segment]) -> tuple[Manifest, tuple[Segment, ...]]:
        """The newest state of which everything could be opened."""
        for _ in range(TRIES):
            manifest = read_manifest(self.folder)
            try:
                return manifest, tuple(
                    self._opened(entry, known.get(entry.name)) for entry in manifest.segments
                )
            except FileNotFoundError as error:
                if read_manifest(self.folder).generation == manifest.generation:
                    message = "is missing; restore the index, or build it anew"
                    raise InputError(message, source=error.filename) from None
        raise InputError("changes too fast to be read; try again", source=self.folder)

    def _opened(self, entry: SegmentEntry, known: Segment | None) -> Segment:
        if known is not None and known.entry == entry:
            return known
        return Segment(self.segment_folder(entry.name), entry, known)

    def _sweep(self) -> None:
        """Remove what the manifest does not name; readers that still use it keep it mapped."""
        named = {each.name: each.deleted for each in self.manifest.segments}
        with suppress(OSError):
            for place in (self.folder / SEGMENTS).iterdir():
                if place.name not in named:
                    shutil.rmtree(place, ignore_errors=True)
                    continue
                for path in place.iterdir():
                    is_old = path.name.startswith("deleted-") and path.name != named[place.name]
                    if is_old or path.name.endswith(".tmp"):
                        path.unlink(missing_ok=True)
        with suppress(OSError):
            for path in self.folder.glob(".manifest.json.*.tmp"):
                path.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path, folder: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however that ends."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        message = f"cannot be written ({error.strerror})"
        raise InputError(message, source=folder) from None
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows, which has no such locks
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError("is being written by another process", source=folder) from None
    except OSError:  # a file system without locks
        return
