"""From one store to another: rows go as they are stored, and nothing is encoded again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from secrets import token_hex

import numpy as np

from softquery.atomic import atomic_folder
from softquery.errors import ConfigError, InputError
from softquery.search.changes.building import Changes
from softquery.search.changes.index_checks import check_place
from softquery.search.index import Index
from softquery.search.index_view import Advance, IndexView
from softquery.search.languages.language_index import LanguageIndex
from softquery.search.storage.encodings import EncodingWriter
from softquery.search.storage.entries import ID, QUESTION
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.index_folder import LOCK, SEGMENTS
from softquery.search.storage.manifest import MANIFEST, Manifest, SegmentEntry, is_index
from softquery.search.storage.packed_encodings import EncodingPacker
from softquery.search.storage.segment import SegmentShape, write_cells_and_words, write_facts
from softquery.search.storage.vector_recall import write_vectors
from softquery.search.stores.address import is_store, parse_store
from softquery.search.stores.encoded import packer_of, segment_rows
from softquery.search.stores.row_store import RowStore, StoredRow, open_store
from softquery.search.stores.store_index import COMMIT_ROWS, StoreIndex, begin


def migrate(
    source: IndexView, target: str | PathLike[str], *, advance: Advance = lambda done: None
) -> IndexView:
    """Copy an index to another store; its own rows stay where they are.

    A copy into a database that was interrupted goes on when it is asked for again; a folder appears
    when it is complete. What an index was tuned to stays behind.

    Args:
        source: The index; several folders that are searched as one become one.
        target: A folder or a database, which has no such index yet.
        advance: Called with the number of rows that are done.

    Raises:
        InputError: There is an index already, or the source holds an id twice.
    """
    if isinstance(source, LanguageIndex):
        way = " or ".join(f"--from {source.path / code}" for code in source.parts)
        raise ConfigError(f"{source.path}: has a part for each language; copy them apart: {way}")
    shape = source.models.shape(source.manifest.columns)
    packer = packer_of(shape)
    rows = _counted(stored_rows(source, packer), advance)
    fresh = replace(source.manifest, generation=0, segments=(), tuning=None, unfinished=True)
    if is_store(target):
        return _to_store(source, rows, fresh, str(target))
    folder = Path(target)
    if is_index(folder):
        raise InputError("exists already; another name makes a new index", source=folder)
    check_place(folder)
    _to_folder(source, rows, shape, fresh, folder)
    return Index.open(folder, model=source.matcher, threads=source.models.threads)


def stored_rows(source: IndexView, packer: EncodingPacker | None) -> Iterator[StoredRow]:
    """All rows of an index as they are stored."""
    if isinstance(source, StoreIndex):
        return _completed(source, packer)
    return segment_rows(source.segments, source.models, packer)


def _completed(source: StoreIndex, packer: EncodingPacker | None) -> Iterator[StoredRow]:
    """The rows of a database; encodings that were too long for it are made."""
    for row in source.store.scan(with_encodings=packer is not None):
        if packer is not None and not packer.fits(row.encoding):
            (made,) = packer.pack(source.matcher.encodings([row.columns[QUESTION]]))
            yield replace(row, encoding=made)
        else:
            yield row


def _counted(rows: Iterable[StoredRow], advance: Advance) -> Iterator[StoredRow]:
    """The same rows, each id once."""
    seen: set[str] = set()
    for done, row in enumerate(rows, 1):
        key = row.columns[ID]
        if key in seen:
            raise InputError(f"id {key!r:.60} is there twice; ids tell the rows of an index apart")
        seen.add(key)
        yield row
        if done % COMMIT_ROWS == 0:
            advance(done)


def _to_store(
    source: IndexView, rows: Iterator[StoredRow], fresh: Manifest, target: str
) -> IndexView:
    store = open_store(parse_store(target))
    if store.exists() and not store.state().manifest.unfinished:
        raise InputError("exists already; another name makes a new index", source=store.address)
    first = list(islice(rows, COMMIT_ROWS))
    begin(store, fresh, sum(sum(row.words.values()) for row in first) / max(1, len(first)))
    _add_missing(store, iter(first), fresh)
    del first
    _add_missing(store, rows, fresh)
    found = StoreIndex.open(target, model=source.matcher, threads=source.models.threads)
    found.complete(source.facts())  # of the same rows, which other engines may measure otherwise
    found.last_changes = Changes(added=len(found))
    return found


def _add_missing(store: RowStore, rows: Iterator[StoredRow], fresh: Manifest) -> None:
    """Add rows some thousands at a time, and leave alone those that are there already."""
    while part := list(islice(rows, COMMIT_ROWS)):
        there = store.stored([row.columns[ID] for row in part])
        missing = [row for row in part if row.columns[ID] not in there]
        if missing:
            store.add(missing, fresh.columns)


def _to_folder(
    source: IndexView,
    rows: Iterator[StoredRow],
    shape: SegmentShape,
    fresh: Manifest,
    folder: Path,
) -> None:
    """Write a folder with one segment; it appears with everything in it."""
    name = f"000001-{token_hex(4)}"
    with atomic_folder(folder) as place:
        (place / SEGMENTS).mkdir()
        (place / LOCK).touch()
        entry = write_packed(
            place / SEGMENTS / name,
            rows,
            shape=shape,
            words=source.models.words,
            threads=source.models.threads,
        )
        manifest = replace(
            fresh, generation=1, unfinished=False, segments=(entry,) if entry.num_rows else ()
        )
        (place / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")


def write_packed(
    folder: Path,
    rows: Iterable[StoredRow],
    *,
    shape: SegmentShape,
    words: Callable[[Mapping[str, str]], list[str]],
    threads: int,
) -> SegmentEntry:
    """Write rows as a segment, with their encodings as they are.

    Args:
        folder: Does not exist yet.
        rows: The rows; only their texts and vectors are kept in memory.
        shape: What the rows have in common.
        words: Gives the words of a row.
        threads: Threads that build the graph of vectors.
    """
    packer = packer_of(shape)
    values: list[Mapping[str, str]] = []
    vectors = [np.empty((0, shape.vector_size), dtype=np.float16)]
    folder.mkdir()
    writer = FolderWriter(folder)
    with EncodingWriter(writer, shape.precision) as stored:
        for row in rows:
            values.append(row.columns)
            vectors.append(row.vector[None])
            if packer is not None:
                stored.add_stored(*packer.stored(row.encoding))
    write_cells_and_words(writer, shape, values, [words(row) for row in values])
    write_vectors(writer, np.concatenate(vectors), threads=threads)
    crc = write_facts(writer, shape, len(values))
    return SegmentEntry(name=folder.name, num_rows=len(values), crc=crc)
