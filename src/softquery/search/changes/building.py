"""Changes to an index: rows are added, replaced and deleted, and small segments are merged.

Every query searches each segment, so that few large segments are better than many small ones.
Merging needs no model: encodings and vectors are copied as they are stored; the graph of vectors
and the words are built again.

Rebuilding encodes all rows again with other models, as one new segment beside those that are there.
When it is complete, one new manifest names it together with the models that made it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from softquery.atomic import atomic_folder
from softquery.errors import InputError
from softquery.runtime.vectors.text_vectors import ENCODING, STATES
from softquery.search.query.index_languages import languages_read, unread_rows
from softquery.search.query.index_models import (
    IndexModels,
    fingerprint,
    open_models,
    portable,
    vector_fingerprint,
)
from softquery.search.storage.encodings import EncodingWriter
from softquery.search.storage.entries import ID, QUESTION, Entries, Repeat, ordered_columns
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.manifest import AUTO, LEARNED, Manifest, Score, SegmentEntry
from softquery.search.storage.segment import (
    EncodedRows,
    Segment,
    SegmentShape,
    write_cells_and_words,
    write_facts,
    write_segment,
)
from softquery.search.storage.store import Store
from softquery.search.storage.vector_recall import write_vectors

Advance = Callable[[int], object]
Values = Mapping[str, str]
COMMIT_ROWS = 20_000
"""Rows that the first indexing commits together."""
MOST_SEGMENTS = 8
RATIO = 4
"""A segment this many times larger than all smaller ones together is not merged with them."""
WASTED = 1000
"""A segment with more deleted rows than this, and more deleted than live ones, is rewritten."""
COPIED = 512
"""Rows whose encodings are copied at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What became of the rows that were given."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    num_cut: int = 0
    """Questions longer than the model's limit, of which it reads the beginning."""
    repeats: list[Repeat] = field(default_factory=list)
    """Rows whose question occurs more than once."""
    unread: dict[str, int] = field(default_factory=dict)
    """How many of the rows are in each language that the matcher does not read."""
    chosen: str = ""
    """Why the matcher was chosen, if nobody has named one."""
    rebuilt: int = 0
    """Rows that were encoded again."""
    dropped: dict[str, float] = field(default_factory=dict)
    """Settings that meant something for the former matcher alone, with the values they had."""
    untuned: bool = False
    """Whether a tuning was dropped together with the models that it was for."""


def new_manifest(model: str, models: IndexModels, entries: Entries) -> Manifest:
    """The manifest of an index without rows."""
    settings = models.settings
    columns = ordered_columns((ID, QUESTION), entries.rows.values())
    for name in settings.word_columns:
        if name not in columns:
            message = f"no column {name!r:.60} to look words up in; found: {', '.join(columns)}"
            raise InputError(message)
    return Manifest(
        generation=0,
        model=model,
        fingerprint=fingerprint(models.matcher.bundle),
        vector_source=settings.vectors,
        vector_fingerprint=vector_fingerprint(models.vectors),
        vector_size=models.vectors.size,
        settings=settings,
        columns=columns,
        unfinished=True,
    )


def build_rows(store: Store, models: IndexModels, entries: Entries, *, advance: Advance) -> Changes:
    """Fill a new index; rows that an interrupted run has stored are not encoded again."""
    comparison = _compare(store, entries)
    rows, before = comparison.rows, len(comparison.unchanged)
    for start in range(0, len(rows), COMMIT_ROWS):
        part = rows[start : start + COMMIT_ROWS]
        is_temporary = len(rows) > COMMIT_ROWS
        entry = _write(
            store, models, part, advance, before=before + start, is_temporary=is_temporary
        )
        store.commit(new=[entry], gone=comparison.replaced_by(part))
    if len(store.segments) > 1:
        compact(store, models)
    store.commit(unfinished=False)
    return comparison.summary(entries, models)


def add_rows(store: Store, models: IndexModels, entries: Entries, *, advance: Advance) -> Changes:
    """Add and replace rows in one commit."""
    comparison = _compare(store, entries)
    if comparison.rows:
        columns = ordered_columns(store.manifest.columns, comparison.rows)
        entry = _write(store, models, comparison.rows, advance, columns=columns)
        store.commit(new=[entry], gone=comparison.replaced_by(comparison.rows), columns=columns)
        _merge_if_due(store, models)
    return comparison.summary(entries, models)


def rebuild_rows(
    store: Store,
    model: str | PathLike[str] | None,
    vectors: str | None,
    min_score: float | None,
    *,
    score: Score = AUTO,
    threads: int | None,
    advance: Advance,
) -> tuple[IndexModels, Changes]:
    """Encode every row again and commit the result; see `Index.rebuild`.

    Args:
        store: The index, which this process is writing.
        model: The matcher; None for that of the index.
        vectors: The source of vectors; None for that of the index.
        min_score: The score that a hit needs; None for that of the index, if it still applies.
        score: What orders rows; `"auto"` for what a new index would have.
        threads: Threads of encoding; None for all cores.
        advance: Called with the number of rows that are done.
    """
    before = store.manifest
    if before.unfinished:
        message = "was never finished: give the command that began it again, or remove it and "
        raise InputError(f"{message}start over if its model was replaced", source=store.folder)
    name = before.model if model is None else portable(model)
    source = vectors or _kept_source(before)
    given = replace(before.settings, vectors=source, score=score, aim=None)
    models = open_models(name, given, threads)
    mark = fingerprint(models.matcher.bundle)
    dropped: dict[str, float] = {}
    if min_score is None:
        min_score = before.settings.min_score
        is_other = (mark, models.settings.score) != (before.fingerprint, before.settings.score)
        if min_score and is_other:  # at 0, any score's every hit is an answer
            dropped, min_score = {"min_score": min_score}, None
    after = replace(
        before,
        model=name,
        fingerprint=mark,
        vector_source=models.settings.vectors,
        vector_fingerprint=vector_fingerprint(models.vectors),
        vector_size=models.vectors.size,
        settings=replace(models.settings, min_score=min_score),
        segments=(),
    )
    is_same = (after.models, after.settings.score) == (before.models, before.settings.score)
    untuned = before.tuning is not None and not is_same
    if untuned:
        after = replace(after, tuning=None)
    if after.settings.score == LEARNED or after.tuning is not None:  # others have no aim
        after = replace(after, settings=replace(after.settings, aim=before.settings.aim))
    rows = [segment.cells.row(row) for segment in store.segments for row in segment.live_rows]
    if rows:
        after = replace(after, segments=(_write(store, models, rows, advance),))
    store.become(after)
    num_cut = models.matcher.num_cut([row[QUESTION] for row in rows])
    return models, Changes(rebuilt=len(rows), num_cut=num_cut, dropped=dropped, untuned=untuned)


def _kept_source(manifest: Manifest) -> str:
    """The source of vectors that stays; a matcher's own may take another form in the next one."""
    source = manifest.vector_source
    return "auto" if source in (STATES, ENCODING) else source


def delete_rows(store: Store, models: IndexModels, names: Sequence[str]) -> Changes:
    """Delete rows by id or question in one commit."""
    places = _places(store)
    gone: dict[str, set[int]] = {}
    for name in names:
        found = [places[name]] if name in places else _places_of_question(store, name)
        if not found:
            message = f"no row has the id or the question {name!r:.80}"
            raise InputError(message, source=store.folder)
        for segment, row in found:
            gone.setdefault(segment, set()).add(row)
    if gone:
        store.commit(gone=gone)
        _merge_if_due(store, models)
    return Changes(deleted=sum(map(len, gone.values())))


def compact(store: Store, models: IndexModels) -> None:
    """Merge all segments into one without deleted rows."""
    segments = store.segments
    if len(segments) < 2 and all(bool(segment.live.all()) for segment in segments):
        return
    _merge(store, models, list(segments))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Given rows compared with those that are stored."""

    rows: list[Values]
    """Rows that are to be written: new ones, and those that differ from the stored row."""
    unchanged: list[str]
    """Ids of rows that are stored already, word for word."""
    replaced: dict[str, tuple[str, int]]
    """Ids of stored rows that are to be replaced, with segment and row."""

    def replaced_by(self, rows: Sequence[Values]) -> dict[str, list[int]]:
        """The stored rows that the given ones replace, by segment."""
        gone: dict[str, list[int]] = {}
        for row in rows:
            if row[ID] in self.replaced:
                segment, place = self.replaced[row[ID]]
                gone.setdefault(segment, []).append(place)
        return gone

    def summary(self, entries: Entries, models: IndexModels) -> Changes:
        """What became of all rows."""
        questions = [row[QUESTION] for row in self.rows]
        return Changes(
            added=len(self.rows) - len(self.replaced),
            updated=len(self.replaced),
            unchanged=len(self.unchanged),
            num_cut=models.matcher.num_cut(questions),
            repeats=entries.repeats,
            unread=unread_rows(entries.languages, languages_read(models.matcher.bundle)),
        )


def _compare(store: Store, entries: Entries) -> _Comparison:
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
    return _Comparison(rows, unchanged, replaced)


def _places(store: Store) -> dict[str, tuple[str, int]]:
    """Segment and row of every live row, by id."""
    return {
        segment.ids[row]: (segment.entry.name, row)
        for segment in store.segments
        for row in segment.live_rows
    }


def _places_of_question(store: Store, question: str) -> list[tuple[str, int]]:
    """Segment and row of the live rows with exactly this question."""
    return [
        (segment.entry.name, row)
        for segment in store.segments
        for row in np.flatnonzero(segment.cells.holds(QUESTION, question) & segment.live).tolist()
    ]


def _write(
    store: Store,
    models: IndexModels,
    rows: Sequence[Values],
    advance: Advance,
    *,
    before: int = 0,
    columns: Sequence[str] | None = None,
    is_temporary: bool = False,
) -> SegmentEntry:
    return write_segment(
        store.new_segment(),
        _reported(models.encode_rows(rows), advance, before),
        shape=models.shape(columns or store.manifest.columns),
        threads=models.threads,
        is_temporary=is_temporary,
    )


def _reported(chunks: Iterator[EncodedRows], advance: Advance, done: int) -> Iterator[EncodedRows]:
    """The same chunks; `advance` learns how many rows are done after each."""
    for chunk in chunks:
        yield chunk
        done += len(chunk.values)
        advance(done)


def _merge_if_due(store: Store, models: IndexModels) -> None:
    chosen = mergeable(store.segments)
    if chosen:
        _merge(store, models, chosen)


def _merge(store: Store, models: IndexModels, segments: Sequence[Segment]) -> None:
    entry = merge_segments(
        segments,
        store.new_segment(),
        columns=store.manifest.columns,
        words=models.words,
        threads=models.threads,
    )
    store.commit(new=[entry], dropped=[segment.entry.name for segment in segments])


def mergeable(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that should be merged: mostly deleted ones, or small ones if there are too many.

    The cost is that of a merge sort: a row is copied again only after its segment has grown several
    times larger.
    """
    if len(segments) <= MOST_SEGMENTS:
        return [each for each in segments if _is_wasted(each.entry)]
    order = sorted(segments, key=lambda segment: int(segment.live.sum()))
    chosen, total = order[:2], sum(int(segment.live.sum()) for segment in order[:2])
    for segment in order[2:]:
        size = int(segment.live.sum())
        if size > RATIO * total:
            break
        chosen.append(segment)
        total += size
    return chosen


def _is_wasted(entry: SegmentEntry) -> bool:
    return entry.num_deleted > max(WASTED, entry.num_rows // 2)


def merge_segments(
    segments: Sequence[Segment],
    folder: Path,
    *,
    columns: Sequence[str],
    words: Callable[[Mapping[str, str]], list[str]],
    threads: int,
) -> SegmentEntry:
    """Write the live rows of several segments as one segment.

    Args:
        segments: The segments to merge.
        folder: Does not exist yet.
        columns: All columns of the index.
        words: Gives the words of a row.
        threads: Threads that build the graph of vectors.
    """
    shape = replace(segments[0].shape, columns=tuple(columns))
    values = [segment.cells.row(row) for segment in segments for row in segment.live_rows]
    with atomic_folder(folder) as place:
        writer = FolderWriter(place)
        _copy_encodings(writer, shape, segments)
        write_cells_and_words(writer, shape, values, [words(row) for row in values])
        vectors = [segment.vectors.stored[segment.live] for segment in segments]
        write_vectors(writer, np.concatenate(vectors), threads=threads)
        crc = write_facts(writer, shape, len(values))
    return SegmentEntry(name=folder.name, num_rows=len(values), crc=crc)


def _copy_encodings(writer: FolderWriter, shape: SegmentShape, segments: Sequence[Segment]) -> None:
    with EncodingWriter(writer, shape.precision) as stored:
        for segment in segments:
            if segment.encodings is None:
                continue
            rows = segment.live_rows
            for start in range(0, len(rows), COPIED):
                stored.add_stored(*segment.encodings.stored(rows[start : start + COPIED]))
