"""A segment: some rows with everything needed to find them, written once and never changed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import atomic_folder, write_bytes
from softquery.search.storage import cells, encodings, vector_recall, word_recall
from softquery.search.storage.cells import Cells
from softquery.search.storage.encodings import Encodings, EncodingWriter, Precision
from softquery.search.storage.entries import ID, MATCHED, QUESTION
from softquery.search.storage.index_files import (
    FileChecksum,
    FolderWriter,
    check_files,
    checksum,
    damaged,
    mapped,
    read_json,
)
from softquery.search.storage.index_folder import refuse_links
from softquery.search.storage.json_fields import (
    FLAG,
    TEXTS,
    Expected,
    check_fields,
    one_of,
    whole_number,
)
from softquery.search.storage.manifest import CHECKSUM, MOST_ROWS, PRECISIONS, SegmentEntry
from softquery.search.storage.searched_texts import SEPARATOR
from softquery.search.storage.vector_recall import VectorIndex, write_vectors
from softquery.search.storage.word_recall import WordIndex, write_words

Floats = NDArray[np.float32]
FACTS = "segment.json"
_ALWAYS = {
    cells.TEXTS, cells.ENDS, vector_recall.VECTORS,
    word_recall.VOCABULARY, word_recall.STARTS, word_recall.ROWS, word_recall.SCORES,
}  # fmt: skip
_ENCODINGS: dict[Precision, set[str]] = {
    "int3": {encodings.VALUES, encodings.SCALES, encodings.ENDS},
    "int8": {encodings.VALUES, encodings.SCALES, encodings.ENDS},
    "float16": {encodings.VALUES, encodings.ENDS},
    "none": set(),
}
_OBJECT = Expected("an object", lambda value: isinstance(value, dict))
_FACTS_FIELDS = {"num_rows": whole_number(0, MOST_ROWS), "shape": _OBJECT, "files": _OBJECT}
_FILE_FIELDS = {"size": whole_number(0, 2**60), "crc": CHECKSUM}
_SHAPE_FIELDS = {
    "columns": TEXTS,
    "precision": one_of(PRECISIONS),
    "vector_size": whole_number(1, 2**24),
    "encoding_size": whole_number(0, 2**24),
    "is_flat": FLAG,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentShape:
    """What the rows of a segment have in common."""

    columns: tuple[str, ...]
    precision: Precision
    vector_size: int
    encoding_size: int
    """Width of an encoding; 0 if none are stored."""
    is_flat: bool
    """Whether an encoding is one vector rather than one per token."""


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Some rows with what the models of the index computed for them."""

    values: Sequence[Mapping[str, str]]
    words: Sequence[Sequence[str]]
    vectors: Floats
    """[N, D], of length one."""
    encodings: Sequence[Floats]


def write_segment(
    folder: Path,
    chunks: Iterable[EncodedRows],
    *,
    shape: SegmentShape,
    threads: int,
    is_temporary: bool = False,
) -> SegmentEntry:
    """Write a segment of rows as they arrive; the folder appears when it is complete.

    Args:
        folder: Does not exist yet.
        chunks: The rows; only their texts, words and vectors are kept in memory.
        shape: What the rows have in common.
        threads: Threads that build the graph of vectors.
        is_temporary: Whether the segment will soon be merged.
    """
    values: list[Mapping[str, str]] = []
    words: list[Sequence[str]] = []
    vectors = [np.empty((0, shape.vector_size), dtype=np.float16)]
    with atomic_folder(folder) as place:
        writer = FolderWriter(place)
        with EncodingWriter(writer, shape.precision) as stored:
            for chunk in chunks:
                values += chunk.values
                words += chunk.words
                vectors.append(chunk.vectors.astype(np.float16))
                stored.add(chunk.encodings)
        write_cells_and_words(writer, shape, values, words)
        everything = np.concatenate(vectors)
        write_vectors(writer, everything, threads=threads, is_temporary=is_temporary)
        crc = write_facts(writer, shape, len(values))
    return SegmentEntry(name=folder.name, num_rows=len(values), crc=crc)


def write_cells_and_words(
    writer: FolderWriter,
    shape: SegmentShape,
    values: Sequence[Mapping[str, str]],
    words: Sequence[Sequence[str]],
) -> None:
    """Write the texts of a segment and the words by which its rows are found."""
    cells.write_cells(writer, shape.columns, values)
    write_words(writer, words)


def write_facts(writer: FolderWriter, shape: SegmentShape, num_rows: int) -> int:
    """Write `segment.json`, which describes the other files, and return its checksum."""
    files = {name: asdict(recorded) for name, recorded in writer.checksums.items()}
    facts = {"num_rows": num_rows, "shape": asdict(shape), "files": files}
    writer.write(FACTS, json.dumps(facts, indent=1, ensure_ascii=False).encode())
    return writer.checksums[FACTS].crc


class Segment:
    """A stored segment, and which of its rows are deleted.

    Args:
        folder: The segment.
        entry: Its entry in the manifest.
        other: The same segment if it is open already, perhaps with fewer deleted rows.

    Raises:
        InputError: The segment is damaged.
        FileNotFoundError: The segment was merged away in the meantime.
    """

    shape: SegmentShape
    cells: Cells
    words: WordIndex
    vectors: VectorIndex
    encodings: Encodings | None

    def __init__(self, folder: Path, entry: SegmentEntry, other: "Segment | None" = None) -> None:
        self.folder, self.entry = folder, entry
        refuse_links(folder)
        if other is not None and (other.entry.crc, len(other)) == (entry.crc, entry.num_rows):
            self.shape, self.cells, self.words = other.shape, other.cells, other.words
            self.vectors, self.encodings = other.vectors, other.encodings
            if "ids" in other.__dict__:
                self.__dict__["ids"] = other.ids
        else:
            self._open()
        self.live = _live(folder, entry)

    def _open(self) -> None:
        try:
            self.shape, files = read_facts(self.folder / FACTS, self.entry)
        except ValueError as error:
            raise damaged(self.folder / FACTS, str(error)) from None
        check_files(self.folder, files, by_size=(encodings.VALUES,))
        self.cells = Cells(self.folder, self.shape.columns, len(self))
        self.words = WordIndex(self.folder, len(self))
        self.vectors = VectorIndex(
            self.folder,
            len(self),
            self.shape.vector_size,
            has_graph=vector_recall.GRAPH in files,
        )
        self.encodings = _open_encodings(self.folder, self.shape, len(self))

    def __len__(self) -> int:
        return self.entry.num_rows

    @cached_property
    def ids(self) -> list[str]:
        """The id of every row, including deleted ones."""
        return self.cells.column(ID)

    @cached_property
    def further(self) -> NDArray[np.bool_]:
        """Which rows are further texts of the row before them: see `searched_texts`; [N]."""
        return self.cells.present(MATCHED)

    def owner(self, row: int) -> int:
        """The row that a further text belongs to; itself for any other."""
        own = self.ids[row].partition(SEPARATOR)[0]
        before = row
        while before and self.further[before]:  # where it stands, but for forged segments
            before -= 1
        if self.ids[before] == own:
            return before
        return self.ids.index(own) if own in self.ids else row

    @property
    def given_rows(self) -> list[int]:
        """The rows that are neither deleted nor further texts of others."""
        rows: list[int] = np.flatnonzero(self.live & ~self.further).tolist()
        return rows

    @property
    def live_rows(self) -> list[int]:
        """The rows that are not deleted."""
        rows: list[int] = np.flatnonzero(self.live).tolist()
        return rows


def mark_deleted(
    segment_folder: Path, segment: Segment, rows: Iterable[int], *, generation: int
) -> SegmentEntry:
    """Write which rows of a segment are deleted; they count once the manifest has the new entry."""
    live = segment.live.copy()
    live[list(rows)] = False
    gone = np.flatnonzero(~live).astype(np.int32)
    name = f"deleted-{generation}.bin"
    write_bytes(segment_folder / name, gone.tobytes())
    return SegmentEntry(
        name=segment.entry.name,
        num_rows=segment.entry.num_rows,
        crc=segment.entry.crc,
        deleted=name,
        deleted_crc=checksum(segment_folder / name),
        num_deleted=len(gone),
    )


def _live(folder: Path, entry: SegmentEntry) -> NDArray[np.bool_]:
    live = np.ones(entry.num_rows, dtype=np.bool_)
    if entry.deleted is not None:
        path = folder / entry.deleted
        if checksum(path) != entry.deleted_crc:
            raise damaged(path, "its checksum differs")
        gone = mapped(path, np.int32)
        live[gone[(gone >= 0) & (gone < len(live))]] = False
        if len(gone) != entry.num_deleted or int((~live).sum()) != entry.num_deleted:
            raise damaged(path, f"does not name {entry.num_deleted:,} different rows")
    return live


def _open_encodings(folder: Path, shape: SegmentShape, num_rows: int) -> Encodings | None:
    if shape.precision == "none":
        return None
    width = shape.encoding_size
    return Encodings(folder, shape.precision, width, num_rows, is_flat=shape.is_flat)


def read_facts(path: Path, entry: SegmentEntry) -> tuple[SegmentShape, dict[str, FileChecksum]]:
    """What `segment.json` says; a `ValueError` says what of it cannot be."""
    if checksum(path) != entry.crc:
        raise ValueError("its checksum differs")
    facts = check_fields(read_json(path), _FACTS_FIELDS, "the segment")
    if facts["num_rows"] != entry.num_rows:
        raise ValueError(f"has {facts['num_rows']:,} rows, expected {entry.num_rows:,}")
    values = check_fields(facts["shape"], _SHAPE_FIELDS, "shape")
    shape = SegmentShape(**{**values, "columns": tuple(values["columns"])})
    if not {ID, QUESTION} <= set(shape.columns):
        raise ValueError("columns of shape lack id or question")
    if shape.precision != "none" and not shape.encoding_size:
        raise ValueError("encoding_size of shape is 0")
    if set(facts["files"]) - {vector_recall.GRAPH} != _ALWAYS | _ENCODINGS[shape.precision]:
        raise ValueError("files are not those of a segment")
    return shape, {
        name: FileChecksum(**check_fields(recorded, _FILE_FIELDS, name))
        for name, recorded in facts["files"].items()
    }
