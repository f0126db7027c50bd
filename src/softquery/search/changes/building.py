"""Changes to an index: rows are added, replaced and deleted, and small segments are merged.

Every query searches each segment, so that few large segments are better than many small ones.
Merging needs no model: encodings and vectors are copied as they are stored; the graph of vectors
and the words are built again.

Rebuilding encodes all rows again with other models, as one new segment beside those that are there.
When it is complete, one new manifest names it together with the models that made it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from softquery.errors import InputError
from softquery.runtime.vectors.text_vectors import ENCODING, STATES
from softquery.search.changes.further_texts import FurtherTexts
from softquery.search.changes.merging import merge_segments, mergeable
from softquery.search.query.index_languages import languages_read, unread_rows
from softquery.search.query.index_models import (
    IndexModels,
    fingerprint,
    open_models,
    portable,
    vector_fingerprint,
)
from softquery.search.storage.entries import (
    ID,
    MATCHED,
    QUESTION,
    WEIGHT,
    Entries,
    Repeat,
    ordered_columns,
)
from softquery.search.storage.manifest import AUTO, LEARNED, Manifest, Score, SegmentEntry
from softquery.search.storage.searched_texts import SEPARATOR, groups, read_text
from softquery.search.storage.segment import (
    EncodedRows,
    Segment,
    write_segment,
)
from softquery.search.storage.store import Store

Advance = Callable[[int], object]
Values = Mapping[str, str]
Group = list[Values]
"""A row with its further texts."""
COMMIT_ROWS = 20_000
"""Rows that the first indexing commits together."""


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
    num_weighted: int = 0
    """Rows with a weight, by which the odds of their score are multiplied."""
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
    for name in (*settings.word_columns, *settings.text_columns):
        if name not in columns:
            what = "look words up in" if name in settings.word_columns else "search as text"
            message = f"no column {name!r:.60} to {what}; found: {', '.join(columns)}"
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
    before = len(comparison.unchanged)
    parts = _parts(comparison.groups)
    for part in parts:
        rows = [row for group in part for row in group]
        entry = _write(store, models, rows, advance, before=before, is_temporary=len(parts) > 1)
        store.commit(new=[entry], gone=comparison.replaced_by(part))
        before += len(rows)
    if len(store.segments) > 1:
        compact(store, models)
    store.commit(unfinished=False)
    return comparison.summary(entries, models)


def add_rows(store: Store, models: IndexModels, entries: Entries, *, advance: Advance) -> Changes:
    """Add and replace rows in one commit."""
    comparison = _compare(store, entries)
    if comparison.groups:
        columns = ordered_columns(store.manifest.columns, comparison.rows)
        entry = _write(store, models, comparison.rows, advance, columns=columns)
        store.commit(new=[entry], gone=comparison.replaced_by(comparison.groups), columns=columns)
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
    share = before.settings.answer_share if before.settings.score == LEARNED else None
    wanted = replace(before.settings, vectors=source, score=score, aim=None, answer_share=share)
    models = open_models(name, wanted, threads)
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
    texts = FurtherTexts(after.settings)
    given = [segment.cells.row(row) for segment in store.segments for row in segment.given_rows]
    rows = [each for row in given for each in texts.expand(row)]
    after = replace(after, columns=ordered_columns(after.columns, rows))
    if rows:
        after = replace(
            after, segments=(_write(store, models, rows, advance, columns=after.columns),)
        )
    store.become(after)
    num_cut = num_cut_of(models, rows)
    return models, Changes(rebuilt=len(given), num_cut=num_cut, dropped=dropped, untuned=untuned)


def _kept_source(manifest: Manifest) -> str:
    """The source of vectors that stays; a matcher's own may take another form in the next one."""
    source = manifest.vector_source
    return "auto" if source in (STATES, ENCODING) else source


def delete_rows(store: Store, models: IndexModels, names: Sequence[str]) -> Changes:
    """Delete rows by id or question in one commit."""
    places = _places(store)
    further = _further(places)
    gone: dict[str, set[int]] = {}
    owners: set[str] = set()
    for name in names:
        keys = [name] if name in places else _ids_of_question(store, name)
        if not keys or SEPARATOR in name:
            message = f"no row has the id or the question {name!r:.80}"
            raise InputError(message, source=store.folder)
        owners.update(keys)
        for key in [each for own in keys for each in (own, *further.get(own, ()))]:
            segment, row = places[key]
            gone.setdefault(segment, set()).add(row)
    if gone:
        store.commit(gone=gone)
        _merge_if_due(store, models)
    return Changes(deleted=len(owners))


def compact(store: Store, models: IndexModels) -> None:
    """Merge all segments into one without deleted rows."""
    segments = store.segments
    if len(segments) < 2 and all(bool(segment.live.all()) for segment in segments):
        return
    _merge(store, models, list(segments))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Given rows compared with those that are stored."""

    groups: list[Group]
    """Rows that are to be written, each with its further texts: new ones, and those that differ
    from what is stored."""
    unchanged: list[str]
    """Ids of rows that are stored already, word for word."""
    replaced: dict[str, list[tuple[str, int]]]
    """Ids of stored rows that are to be replaced, with segment and row of each of their texts."""

    @property
    def rows(self) -> list[Values]:
        """All that is to be written."""
        return [row for group in self.groups for row in group]

    def replaced_by(self, groups: Sequence[Group]) -> dict[str, list[int]]:
        """What the given rows replace, by segment."""
        gone: dict[str, list[int]] = {}
        for first, *_ in groups:
            for segment, place in self.replaced.get(first[ID], ()):
                gone.setdefault(segment, []).append(place)
        return gone

    def summary(self, entries: Entries, models: IndexModels) -> Changes:
        """What became of all rows."""
        return Changes(
            added=len(self.groups) - len(self.replaced),
            updated=len(self.replaced),
            unchanged=len(self.unchanged),
            num_cut=num_cut_of(models, self.rows),
            num_weighted=sum(bool(group[0].get(WEIGHT)) for group in self.groups),
            repeats=entries.repeats,
            unread=unread_rows(entries.languages, languages_read(models.matcher.bundle)),
        )


def num_cut_of(models: IndexModels, rows: Sequence[Values]) -> int:
    """How many texts are longer than the matcher reads; a row that has passages is not."""
    whole = [group for group in groups(rows) if not any(_is_passage(row) for row in group)]
    return models.matcher.num_cut([row[QUESTION] for group in whole for row in group])


def _is_passage(row: Values) -> bool:
    found = read_text(row.get(MATCHED, ""), "")
    return found is not None and found.column == QUESTION


def _parts(found: Sequence[Group]) -> list[list[Group]]:
    """Rows in parts of some thousands, which are committed together."""
    parts: list[list[Group]] = []
    held = COMMIT_ROWS
    for group in found:
        if held >= COMMIT_ROWS:
            parts.append([])
            held = 0
        parts[-1].append(group)
        held += len(group)
    return parts


def _compare(store: Store, entries: Entries) -> _Comparison:
    places = _places(store)
    further = _further(places)
    cells = {segment.entry.name: segment.cells for segment in store.segments}
    changed: list[Group] = []
    unchanged: list[str] = []
    replaced: dict[str, list[tuple[str, int]]] = {}
    for group in groups(list(entries.rows.values())):
        key = group[0][ID]
        if key in places:
            found = [places[each] for each in (key, *further.get(key, ()))]
            stored = [cells[segment].row(row) for segment, row in found]
            if _by_id(stored) == _by_id(group):
                unchanged.append(key)
                continue
            replaced[key] = found
        changed.append(group)
    return _Comparison(changed, unchanged, replaced)


def _by_id(rows: Sequence[Values]) -> dict[str, Values]:
    return {row[ID]: row for row in rows}


def _places(store: Store) -> dict[str, tuple[str, int]]:
    """Segment and row of everything that is stored and not deleted, by id."""
    return {
        segment.ids[row]: (segment.entry.name, row)
        for segment in store.segments
        for row in segment.live_rows
    }


def _further(places: Iterable[str]) -> dict[str, list[str]]:
    """The ids of further texts by that of their row."""
    found: dict[str, list[str]] = {}
    for key in places:
        own, separator, _ = key.partition(SEPARATOR)
        if separator:
            found.setdefault(own, []).append(key)
    return found


def _ids_of_question(store: Store, question: str) -> list[str]:
    """The ids of the rows with exactly this question."""
    return [
        segment.ids[row]
        for segment in store.segments
        for row in np.flatnonzero(
            segment.cells.holds(QUESTION, question) & segment.live & ~segment.further
        ).tolist()
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
