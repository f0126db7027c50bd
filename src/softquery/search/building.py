"""Changes to an index: rows that come, are replaced, and go."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from softquery.errors import InputError
from softquery.runtime import Matcher
from softquery.search.entries import ID, QUESTION, Entries, Repeat, ordered_columns
from softquery.search.fingerprint import fingerprint, vector_fingerprint
from softquery.search.index_models import IndexModels
from softquery.search.manifest import IndexSettings, Manifest, SegmentEntry
from softquery.search.merge import merge_segments, mergeable
from softquery.search.segment import Chunk, Segment, write_segment
from softquery.search.store import Store

Advance = Callable[[int], object]
COMMIT_ROWS = 20_000
"""Rows of a first indexing that are made lasting together."""
Values = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What became of the rows that were handed in."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    num_cut: int = 0
    """Questions that are longer than the model's limit; it reads their beginning."""
    repeats: list[Repeat] = field(default_factory=list)
    """Questions that stood there more than once."""


def new_manifest(
    model: str, matcher: Matcher, reader: IndexModels, entries: Entries, settings: IndexSettings
) -> Manifest:
    """An index that has no rows yet; of the settings it is decided where vectors come from."""
    columns = ordered_columns((ID, QUESTION), entries.rows.values())
    for name in settings.word_columns:
        if name not in columns:
            message = f"no column {name!r:.60} to look words up in; found: {', '.join(columns)}"
            raise InputError(message)
    return Manifest(
        generation=0,
        model=model,
        fingerprint=fingerprint(matcher.bundle),
        vector_source=settings.vectors,
        vector_fingerprint=vector_fingerprint(reader.vectors),
        vector_size=reader.vectors.size,
        settings=settings,
        columns=columns,
        unfinished=True,
    )


def built(store: Store, reader: IndexModels, entries: Entries, *, advance: Advance) -> Changes:
    """Fill an index for the first time; what an interrupted run has stored is not read again."""
    changes = _sorted_out(store, entries)
    rows, before = changes.rows, len(changes.unchanged)
    for start in range(0, len(rows), COMMIT_ROWS):
        part = rows[start : start + COMMIT_ROWS]
        is_passing = len(rows) > COMMIT_ROWS
        entry = _write(store, reader, part, advance, before=before + start, is_passing=is_passing)
        store.commit(new=[entry], gone=changes.gone_for(part))
    if len(store.segments) > 1:
        compacted(store, reader)
    store.commit(unfinished=False)
    return changes.told(entries, reader)


def added(store: Store, reader: IndexModels, entries: Entries, *, advance: Advance) -> Changes:
    """Add and replace rows in one commit."""
    changes = _sorted_out(store, entries)
    if changes.rows:
        columns = ordered_columns(store.manifest.columns, changes.rows)
        entry = _write(store, reader, changes.rows, advance, columns=columns)
        store.commit(new=[entry], gone=changes.gone_for(changes.rows), columns=columns)
        _merge(store, reader)
    return changes.told(entries, reader)


def deleted(store: Store, reader: IndexModels, names: Sequence[str]) -> Changes:
    """Remove rows by id or question in one commit."""
    places = _places(store)
    gone: dict[str, set[int]] = {}
    for name in names:
        found = [places[name]] if name in places else _asked(store, name)
        if not found:
            message = f"no row has the id or the question {name!r:.80}"
            raise InputError(message, source=store.folder)
        for segment, row in found:
            gone.setdefault(segment, set()).add(row)
    if gone:
        store.commit(gone=gone)
        _merge(store, reader)
    return Changes(deleted=sum(map(len, gone.values())))


def compacted(store: Store, reader: IndexModels) -> None:
    """Make one segment of all."""
    segments = store.segments
    if len(segments) < 2 and all(bool(segment.live.all()) for segment in segments):
        return
    _merge_these(store, reader, list(segments))


@dataclass(frozen=True, slots=True)
class _SortedOut:
    """Rows by what is to be done with them."""

    rows: list[Values]
    unchanged: list[str]
    replaced: dict[str, tuple[str, int]]
    """Where the row of an id lies that is replaced: segment and row."""

    def gone_for(self, rows: Sequence[Values]) -> dict[str, list[int]]:
        """Stored rows that some new rows take the place of, by segment."""
        gone: dict[str, list[int]] = {}
        for row in rows:
            if row[ID] in self.replaced:
                segment, place = self.replaced[row[ID]]
                gone.setdefault(segment, []).append(place)
        return gone

    def told(self, entries: Entries, reader: IndexModels) -> Changes:
        """What became of all rows."""
        questions = [row[QUESTION] for row in self.rows]
        return Changes(
            added=len(self.rows) - len(self.replaced),
            updated=len(self.replaced),
            unchanged=len(self.unchanged),
            num_cut=reader.matcher.num_cut(questions),
            repeats=entries.repeats,
        )


def _sorted_out(store: Store, entries: Entries) -> _SortedOut:
    places = _places(store)
    cells = {segment.entry.name: segment.cells for segment in store.segments}
    rows: list[Values] = []
    unchanged: list[str] = []
    replaced: dict[str, tuple[str, int]] = {}
    for key, row in entries.rows.items():
        found = places.get(key)
        if found is not None and cells[found[0]].row(found[1]) == row:
            unchanged.append(key)
            continue
        if found is not None:
            replaced[key] = found
        rows.append(row)
    return _SortedOut(rows, unchanged, replaced)


def _places(store: Store) -> dict[str, tuple[str, int]]:
    """Where every row lies that is there."""
    return {
        segment.ids[row]: (segment.entry.name, row)
        for segment in store.segments
        for row in segment.live_rows
    }


def _asked(store: Store, question: str) -> list[tuple[str, int]]:
    """Where the rows lie that are there and ask this, letter by letter."""
    return [
        (segment.entry.name, row)
        for segment in store.segments
        for row in np.flatnonzero(segment.cells.holds(QUESTION, question) & segment.live).tolist()
    ]


def _write(
    store: Store,
    reader: IndexModels,
    rows: Sequence[Values],
    advance: Advance,
    *,
    before: int = 0,
    columns: Sequence[str] | None = None,
    is_passing: bool = False,
) -> SegmentEntry:
    return write_segment(
        store.new_segment(),
        _watched(reader.chunks(rows), advance, before),
        shape=reader.shape(columns or store.manifest.columns),
        threads=reader.threads,
        is_passing=is_passing,
    )


def _watched(chunks: Iterator[Chunk], advance: Advance, done: int) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk
        done += len(chunk.values)
        advance(done)


def _merge(store: Store, reader: IndexModels) -> None:
    chosen = mergeable(store.segments)
    if chosen:
        _merge_these(store, reader, chosen)


def _merge_these(store: Store, reader: IndexModels, segments: Sequence[Segment]) -> None:
    entry = merge_segments(
        segments,
        store.new_segment(),
        columns=store.manifest.columns,
        words=reader.words,
        threads=reader.threads,
    )
    store.commit(new=[entry], dropped=[segment.entry.name for segment in segments])
