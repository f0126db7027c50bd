"""Small segments as one large one, which needs no model: encodings are copied as they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softquery.atomic import atomic_folder
from softquery.search.storage.encodings import EncodingWriter
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.manifest import SegmentEntry
from softquery.search.storage.segment import (
    Segment,
    SegmentShape,
    write_cells_and_words,
    write_facts,
)
from softquery.search.storage.vector_recall import write_vectors

MOST_SEGMENTS = 8
RATIO = 4
"""A segment this many times larger than all smaller ones together is not merged with them."""
WASTED = 1000
"""A segment with more deleted rows than this, and more deleted than live ones, is rewritten."""
COPIED = 512
"""Rows whose encodings are copied at a time."""


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
