"""The folder of an index: read by many, written by one at a time, intact after any crash.

| place | holds |
|---|---|
| `manifest.json` | the state of the index |
| `segments/NAME/` | rows, written once |
| `segments/NAME/deleted-G.bin` | which of them are deleted as of generation G |
| `tunings/NAME/` | what was learned from labelled queries, written once |
| `lock` | locked while a process writes |

A change writes new files first, syncs them to disk, and then replaces the manifest. A process that
finds a segment missing reads the manifest again: the segment was merged away in the meantime.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from softquery.atomic import atomic_folder
from softquery.errors import InputError
from softquery.search.storage.index_files import damaged
from softquery.search.storage.index_folder import (
    LOCK,
    SEGMENTS,
    TUNINGS,
    refuse_link,
    refuse_links,
    sweep,
)
from softquery.search.storage.manifest import (
    MANIFEST,
    MOST_CHANGES,
    IndexSettings,
    Manifest,
    SegmentEntry,
    read_manifest,
)
from softquery.search.storage.segment import FACTS, Segment, SegmentShape, mark_deleted
from softquery.search.storage.tuning_files import StoredTuning, new_tuning, read_tuning

TRIES = 20
"""How often another process may change the index while this one opens it."""


def create(folder: Path, manifest: Manifest) -> None:
    """Create an index without rows; the folder appears with its manifest in it."""
    with atomic_folder(folder) as place:
        (place / SEGMENTS).mkdir()
        (place / LOCK).touch()
        # Written plainly, so that an error such as a full disk names the index itself.
        (place / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


class Store:
    """An index's folder as one process sees it; only `refresh` and `commit` change that view.

    Args:
        folder: The folder of an existing index.
    """

    def __init__(self, folder: Path) -> None:
        refuse_link(folder)
        self.folder = folder
        self._shape: SegmentShape | None = None
        self.tuning: StoredTuning | None = None
        self.manifest, self.segments = self._read({})

    def require_shape(self, shape: SegmentShape) -> None:
        """Refuse segments, also later ones, that other models have written; columns may differ."""
        self._shape = shape
        for segment in self.segments:
            self._check_shape(segment)

    def refresh(self) -> bool:
        """Load what other processes have changed, and return whether there was anything."""
        if read_manifest(self.folder) == self.manifest:
            return False
        known = {segment.entry.name: segment for segment in self.segments}
        self.manifest, self.segments = self._read(known)
        return True

    def segment_folder(self, name: str) -> Path:
        """The folder of a segment."""
        return self.folder / SEGMENTS / name

    def new_segment(self) -> Path:
        """The folder for a segment that is yet to be written."""
        name = f"{self.manifest.generation + 1:06d}-{secrets.token_hex(4)}"
        return self.segment_folder(name)

    def new_tuning(self) -> Path:
        """The folder for a tuning that is yet to be written."""
        return new_tuning(self.folder, self.manifest)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock out other writers, and start from the state that they left."""
        refuse_link(self.folder)
        with locked(self.folder / LOCK, self.folder):
            self.refresh()
            self._refuse_links()
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
        """Commit a change: all of it, or nothing if the process dies before the end.

        Args:
            new: Segments that are already on disk.
            gone: Rows to be deleted, by segment.
            dropped: Segments whose rows are in `new` ones.
            columns: All columns, if there are new ones.
            unfinished: Whether the first indexing is still running; None for no change.
            settings: The new settings, if they change.
        """
        before = self.manifest
        marked = self._marked(gone or {}, before.generation + 1)
        left_out = set(dropped)
        kept = [marked.get(each.name, each) for each in before.segments]
        kept = [each for each in kept if each.name not in left_out]
        after = replace(
            before,
            segments=tuple(each for each in (*kept, *new) if each.num_deleted < each.num_rows),
            columns=before.columns if columns is None else tuple(columns),
            unfinished=before.unfinished if unfinished is None else unfinished,
            settings=settings or before.settings,
        )
        self.become(after)

    def become(self, after: Manifest) -> None:
        """Commit another state as the next generation; all of its files are on disk already."""
        generation = self.manifest.generation
        if generation >= MOST_CHANGES:
            raise InputError("cannot be changed any more; build it anew", source=self.folder)
        replace(after, generation=generation + 1).write(self.folder)
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
        """The newest state whose segments could all be opened."""
        for _ in range(TRIES):
            manifest = read_manifest(self.folder)
            self._check_models(manifest)
            try:
                refuse_links(self.folder)
                refuse_links(self.folder / SEGMENTS)
                segments = tuple(
                    self._opened(entry, known.get(entry.name)) for entry in manifest.segments
                )
                self.tuning = self._tuning_of(manifest)
                return manifest, segments
            except FileNotFoundError as error:
                if read_manifest(self.folder).generation == manifest.generation:
                    message = "is missing; restore the index, or build it again"
                    raise InputError(message, source=error.filename) from None
        raise InputError("is being changed too fast to be opened; try again", source=self.folder)

    def _opened(self, entry: SegmentEntry, known: Segment | None) -> Segment:
        if known is not None and known.entry == entry:
            return known
        segment = Segment(self.segment_folder(entry.name), entry, known)
        self._check_shape(segment)
        return segment

    def _tuning_of(self, manifest: Manifest) -> StoredTuning | None:
        known = self.tuning
        if manifest.tuning and known and known.folder.name == manifest.tuning.name:
            return known
        return read_tuning(self.folder, manifest)

    def _check_models(self, manifest: Manifest) -> None:
        """Refuse a state that was written with other models than this process has opened."""
        if self._shape is not None and manifest.models != self.manifest.models:
            message = "was rebuilt with another model in the meantime; open it again"
            raise InputError(message, source=self.folder)

    def _check_shape(self, segment: Segment) -> None:
        if self._shape is None:
            return
        if replace(segment.shape, columns=self._shape.columns) != self._shape:
            raise damaged(segment.folder / FACTS, "its shape does not fit the index's models")

    def _refuse_links(self) -> None:
        """Refuse links wherever a change would write or remove something."""
        places = [self.segment_folder(each.name) for each in self.manifest.segments]
        if (self.folder / TUNINGS).exists():
            places.append(self.folder / TUNINGS)
        for place in (self.folder, self.folder / SEGMENTS, *places):
            refuse_links(place)

    def _sweep(self) -> None:
        """Remove what the manifest does not name; processes that still use it keep it mapped."""
        tuning = self.manifest.tuning
        named = {each.name: each.deleted for each in self.manifest.segments}
        sweep(self.folder, named, None if tuning is None else tuning.name)


@contextmanager
def locked(path: Path, folder: Path) -> Iterator[None]:
    """Hold a lock that the system releases when the process ends, however it ends."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        refuse_link(path)
        message = f"cannot be written ({error.strerror})"
        raise InputError(message, source=folder) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError("is not a file", source=path)
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
