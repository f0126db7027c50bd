"""Fewer, larger segments: every query asks each of them.

Nothing is read by a model again. Encodings and vectors are copied as they are stored; the graph of
vectors and the words are made anew.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softquery.atomic import atomic_folder
from softquery.search.encodings import EncodingWriter
from softquery.search.files import FolderWriter
from softquery.search.manifest import SegmentEntry
from softquery.search.segment import Segment, SegmentShape, write_cells_and_words, write_facts
from softquery.search.vector_recall import write_vectors

MOST_SEGMENTS = 8
RATIO = 4
"""A segment this much larger than all smaller ones together is left alone."""
WASTED = 1000
"""So many rows that are gone, and more than are there, make a segment worth writing anew."""
COPIED = 512
"""Rows whose encodings are copied at a time."""


def mergeable(segments: Sequence[Segment]) -> list[Segment]:
    """Which segments should become one: those that are mostly gone, or too many small ones.

    The work is that of a merge sort: a row is copied again only when what it lies in has grown
    several times larger.
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
    """Write the rows that are there as one segment.

    Args:
        segments: Whose rows they are.
        folder: Does not exist yet.
        columns: Of the index.
        words: The words of a row.
        threads: For the graph of vectors.
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
            for rows in _parts(segment.live_rows):
                stored.add_stored(*segment.encodings.stored(rows))


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(rows), COPIED):
        yield rows[start : start + COPIED]
