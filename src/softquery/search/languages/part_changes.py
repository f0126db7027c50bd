"""What becomes of the rows of several parts together."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from softquery.search.changes.building import Changes
from softquery.search.index import Index
from softquery.search.index_view import Advance
from softquery.search.storage.entries import ID, SourceRows
from softquery.search.storage.manifest import read_manifest


def removed_elsewhere(parts: Mapping[str, Index], split: Mapping[str, SourceRows]) -> int:
    """Delete rows whose ids are now those of rows in another language, and count them."""
    moved = 0
    for code, part in parts.items():
        others = {key for other, rows in split.items() if other != code for key in given_ids(rows)}
        others -= given_ids(split[code]) if code in split else set()
        gone = [key for key in ids_of(part) if key in others]
        if gone:
            part.delete(gone)
            moved += len(gone)
    return moved


def onwards(advance: Advance, before: int) -> Advance:
    """Counts on from the rows of earlier parts."""
    return lambda done: advance(before + done)


def is_unfinished(folder: Path) -> bool:
    """Whether the first indexing of a part was interrupted."""
    return read_manifest(folder).unfinished


def given_ids(source: SourceRows) -> set[str]:
    """The ids that rows were given."""
    return {row.values.get(ID, "").strip() for row in source.rows} - {""}


def ids_of(part: Index) -> list[str]:
    """The ids of the rows of a part."""
    return [segment.ids[row] for segment in part.segments for row in segment.given_rows]


def names_of(part: Index) -> set[str]:
    """The ids and questions by which rows of a part can be deleted."""
    return {name for row in part.rows() for name in (row[ID], row["question"])}


def summed(changes: Iterable[Changes]) -> Changes:
    """What became of the rows of all parts."""
    found = list(changes)
    unread: dict[str, int] = {}
    for each in found:
        for code, count in each.unread.items():
            unread[code] = unread.get(code, 0) + count
    return Changes(
        added=sum(each.added for each in found),
        updated=sum(each.updated for each in found),
        unchanged=sum(each.unchanged for each in found),
        deleted=sum(each.deleted for each in found),
        num_cut=sum(each.num_cut for each in found),
        num_weighted=sum(each.num_weighted for each in found),
        repeats=[repeat for each in found for repeat in each.repeats],
        unread=unread,
        rebuilt=sum(each.rebuilt for each in found),
        dropped={name: value for each in found for name, value in each.dropped.items()},
        untuned=any(each.untuned for each in found),
    )
