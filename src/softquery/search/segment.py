"""A segment: some rows with everything that finding them needs, written once and never changed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import atomic_folder, write_bytes
from softquery.search import cells, encodings
from softquery.search.cells import Cells
from softquery.search.encodings import Encodings, EncodingWriter, Precision
from softquery.search.entries import ID
from softquery.search.files import FileFact, FolderWriter, check_files, checksum, damaged
from softquery.search.manifest import SegmentEntry
from softquery.search.vector_recall import Vectors, write_vectors
from softquery.search.word_recall import Words, write_words

Floats = NDArray[np.float32]
FACTS = "segment.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentShape:
    """What the rows of a segment have in common."""

    columns: tuple[str, ...]
    precision: Precision
    vector_size: int
    encoding_size: int
    """Width of an encoding; 0 where none are stored."""
    is_flat: bool
    """Whether an encoding is one vector, rather than one a token."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows, read by the models."""

    values: Sequence[Mapping[str, str]]
    words: Sequence[Sequence[str]]
    vectors: Floats
    """[N, D], of length one."""
    encodings: Sequence[Floats]


def write_segment(
    folder: Path,
    chunks: Iterable[Chunk],
    *,
    shape: SegmentShape,
    threads: int,
    is_passing: bool = False,
) -> SegmentEntry:
    """Write a segment of rows as they come; it is there when it is complete.

    Args:
        folder: Does not exist yet.
        chunks: The rows; only their texts, words and vectors are kept in memory.
        shape: What they have in common.
        threads: For the graph of vectors.
        is_passing: Whether it will soon be merged.
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
        write_vectors(writer, everything, threads=threads, is_passing=is_passing)
        crc = write_facts(writer, shape, len(values))
    return SegmentEntry(name=folder.name, num_rows=len(values), crc=crc)


def write_cells_and_words(
    writer: FolderWriter,
    shape: SegmentShape,
    values: Sequence[Mapping[str, str]],
    words: Sequence[Sequence[str]],
) -> None:
    """The parts of a segment that are text."""
    cells.write_cells(writer, shape.columns, values)
    write_words(writer, words)


def write_facts(writer: FolderWriter, shape: SegmentShape, num_rows: int) -> int:
    """Write what is known of the other files; the checksum of that."""
    files = {name: asdict(fact) for name, fact in writer.facts.items()}
    facts = {"num_rows": num_rows, "shape": asdict(shape), "files": files}
    writer.write(FACTS, json.dumps(facts, indent=1, ensure_ascii=False).encode())
    return writer.facts[FACTS].crc


class Segment:
    """A segment that is there, with the rows of it that are gone.

    Args:
        folder: The segment.
        entry: What the manifest says of it.
        other: The same segment, open already, with perhaps fewer rows that are gone.

    Raises:
        InputError: It is damaged.
        FileNotFoundError: It was merged away meanwhile.
    """

    shape: SegmentShape
    cells: Cells
    words: Words
    vectors: Vectors
    encodings: Encodings | None

    def __init__(self, folder: Path, entry: SegmentEntry, other: "Segment | None" = None) -> None:
        self.folder, self.entry = folder, entry
        if other is None:
            self._open()
        else:
            self.shape, self.cells, self.words = other.shape, other.cells, other.words
            self.vectors, self.encodings = other.vectors, other.encodings
            if "ids" in other.__dict__:
                self.__dict__["ids"] = other.ids
        self.live = _live(folder, entry)

    def _open(self) -> None:
        try:
            self.shape = _checked(self.folder, self.entry)
            self.cells = Cells(self.folder, self.shape.columns)
            self.words = Words(self.folder)
            self.vectors = Vectors(self.folder, self.shape.vector_size)
            self.encodings = _open_encodings(self.folder, self.shape)
            stored = len(self) if self.encodings is None else len(self.encodings)
            found = {len(self.cells), len(self.vectors.stored), stored}
            if found != {len(self)}:
                raise ValueError(f"its parts have {sorted(found)} rows")
        except (ValueError, TypeError, KeyError, IndexError, ZeroDivisionError) as error:
            raise damaged(self.folder / FACTS, f"{type(error).__name__}: {error}"[:200]) from None

    def __len__(self) -> int:
        return self.entry.num_rows

    @cached_property
    def ids(self) -> list[str]:
        """Of every row, those that are gone included."""
        return self.cells.column(ID)

    @property
    def live_rows(self) -> list[int]:
        """The rows that are there."""
        rows: list[int] = np.flatnonzero(self.live).tolist()
        return rows


def mark_deleted(
    segment_folder: Path, segment: Segment, rows: Iterable[int], *, generation: int
) -> SegmentEntry:
    """Note that further rows of a segment are gone; the manifest must say so, too."""
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
        live[np.frombuffer(path.read_bytes(), dtype=np.int32)] = False
    return live


def _open_encodings(folder: Path, shape: SegmentShape) -> Encodings | None:
    if shape.precision == "none":
        return None
    return Encodings(folder, shape.precision, shape.encoding_size, is_flat=shape.is_flat)


def _checked(folder: Path, entry: SegmentEntry) -> SegmentShape:
    path = folder / FACTS
    if checksum(path) != entry.crc:
        raise damaged(path, "its checksum differs")
    facts = json.loads(path.read_bytes())
    files = {name: FileFact(**fact) for name, fact in facts["files"].items()}
    check_files(folder, files, by_size=(encodings.VALUES,))
    return SegmentShape(**{**facts["shape"], "columns": tuple(facts["shape"]["columns"])})
