"""Sentence vectors for a file of any size: a matrix, streamed in the memory of a chunk, resumable.

Until the end every row is a record in `OUTPUT.partial`: a mark of its text, its number in the input
and its vector. Chunks are counted from the first row, so that a resumed run computes what an
uninterrupted one would, byte for byte. When all rows are there, the records become the matrix.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, MissingExtra
from softquery.files import Sentence
from softquery.runtime.bulk import identity
from softquery.runtime.encode.model import SentenceEncoder, check_dimensions
from softquery.runtime.given_texts import Advance, in_chunks
from softquery.runtime.partial_file import Partial, check_output

FORMS = (".npy", ".npz", ".parquet")
MARK_SIZE = 8
BLOCK = 8192
"""Records that are copied at a time."""
NAME = "vectors"
"""Of the matrix in an .npz."""
Records = NDArray[Any]
Precision = Literal["float32", "float16"]


@dataclass(frozen=True, slots=True)
class EncodeResult:
    """How a run ended."""

    output: Path
    num_rows: int
    width: int
    """Of a vector."""
    num_resumed: int
    """Rows that an earlier, interrupted run had written."""
    num_cut: int
    """Rows that were longer than the model's limit."""


def encode_rows(
    encoder: SentenceEncoder,
    sentences: Iterable[Sentence],
    output: Path,
    *,
    dimensions: int | None = None,
    precision: Precision = "float32",
    advance: Advance = lambda done: None,
) -> EncodeResult:
    """Write a matrix with a vector per row into a file that appears when complete.

    Args:
        encoder: The model.
        sentences: The rows; read from the beginning also when resuming.
        output: An `.npy`, `.npz` or `.parquet` that does not exist yet.
        dimensions: How many numbers of each vector are kept; see `SentenceEncoder.encode`.
        precision: Of the numbers that are written.
        advance: Told how many rows are done.
    """
    check_output(output, forms=FORMS, what="vectors")
    check_dimensions(dimensions, encoder.output_size)
    if output.suffix == ".parquet":
        _require_parquet()
    width = dimensions or encoder.output_size
    depends_on = {**identity(encoder), "dimensions": str(width), "precision": precision}
    done = num_resumed = num_cut = 0
    with Partial(output, depends_on, about="model, backend or options") as partial:
        records = RecordFile(partial, record_type(width, precision))
        for rows in in_chunks(sentences, encoder.chunk):
            texts = [_text(row) for row in rows]
            is_there = records.at_hand(rows, texts)
            if not is_there:
                records.write(rows, texts, encoder.encode(texts, dimensions=dimensions))
            done += len(rows)
            num_resumed += len(rows) * is_there
            num_cut += encoder.num_cut(texts)
            advance(done)
        records.end()
        write, matrix = WRITERS[output.suffix], Matrix(done, width, precision)
        partial.complete_by(lambda file, target: write(records.blocks(file), matrix, target))
    return EncodeResult(output, done, width, num_resumed, num_cut)


def record_type(width: int, precision: Precision) -> np.dtype[Any]:
    """What a row is under way."""
    return np.dtype(
        [("mark", f"V{MARK_SIZE}"), ("row", "<i8"), ("vector", np.dtype(precision), (width,))]
    )


class RecordFile:
    """Records of rows under way.

    Args:
        partial: The file that they are in.
        kind: What a record is.
    """

    def __init__(self, partial: Partial, kind: np.dtype[Any]) -> None:
        self._partial, self._kind = partial, kind
        self._is_behind = True
        """Whether what is at hand is still being gone through."""

    def at_hand(self, rows: Sequence[Sentence], texts: Sequence[str]) -> bool:
        """Whether an earlier run has written this chunk; rows that are others are refused."""
        if not self._is_behind:
            return False
        file = self._partial.file
        start, size = file.tell(), len(rows) * self._kind.itemsize
        found = file.read(size)
        if len(found) < size:
            file.seek(start)
            self.end()
            return False
        stored = np.frombuffer(found, dtype=self._kind)
        for row, text, mark in zip(rows, texts, stored["mark"], strict=True):
            if mark.tobytes() != _mark(text):
                raise InputError(
                    f"is not the row that was embedded in {self._partial.path}; remove that file",
                    source=row.source,
                    row=row.number,
                )
        return True

    def write(self, rows: Sequence[Sentence], texts: Sequence[str], vectors: Records) -> None:
        """Add a chunk."""
        records: Records = np.empty(len(rows), dtype=self._kind)
        records["mark"] = [np.void(_mark(text)) for text in texts]
        records["row"] = [row.number for row in rows]
        records["vector"] = vectors
        self._partial.append(records.tobytes())

    def end(self) -> None:
        """Nothing that is at hand behind this place is of any use."""
        if self._is_behind:
            self._is_behind = False
            self._partial.cut_here()

    def blocks(self, file: IO[bytes]) -> Iterator[Records]:
        """All records, some at a time."""
        while found := file.read(BLOCK * self._kind.itemsize):
            yield np.frombuffer(found, dtype=self._kind)


class Matrix(NamedTuple):
    """What is written."""

    num_rows: int
    width: int
    precision: Precision


def _npy(blocks: Iterator[Records], matrix: Matrix, target: IO[bytes]) -> None:
    """One array, as numpy writes it."""
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(matrix.precision)),
        "fortran_order": False,
        "shape": (matrix.num_rows, matrix.width),
    }
    np.lib.format.write_array_header_1_0(target, header)
    for block in blocks:
        target.write(block["vector"].tobytes())


def _npz(blocks: Iterator[Records], matrix: Matrix, target: IO[bytes]) -> None:
    """An archive with one array."""
    with (
        zipfile.ZipFile(target, "w") as archive,
        # An entry that is named by a ZipInfo has no time of its own: same vectors, same bytes.
        archive.open(zipfile.ZipInfo(f"{NAME}.npy"), "w", force_zip64=True) as entry,
    ):
        _npy(blocks, matrix, entry)


def _parquet(blocks: Iterator[Records], matrix: Matrix, target: IO[bytes]) -> None:
    """A table: the number of each row in the input, and its vector."""
    import pyarrow
    import pyarrow.parquet

    number = pyarrow.from_numpy_dtype(np.dtype(matrix.precision))
    kinds = {"row": pyarrow.int64(), "vector": pyarrow.list_(number, matrix.width)}
    with pyarrow.parquet.ParquetWriter(target, pyarrow.schema(kinds)) as writer:
        for block in blocks:
            numbers = pyarrow.array(np.ascontiguousarray(block["vector"]).ravel())
            vectors = pyarrow.FixedSizeListArray.from_arrays(numbers, matrix.width)
            rows = pyarrow.array(np.ascontiguousarray(block["row"]))
            writer.write_table(pyarrow.table({"row": rows, "vector": vectors}))


WRITERS: dict[str, Callable[[Iterator[Records], Matrix, IO[bytes]], None]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
}


def _text(row: Sentence) -> str:
    """The text of a row; words that are cut already stand side by side."""
    return row.text if isinstance(row.text, str) else " ".join(row.text)


def _mark(text: str) -> bytes:
    """What tells texts apart."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=MARK_SIZE).digest()


def _require_parquet() -> None:
    """Tell which extra is missing, before anything is written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra("parquet", needed_for="writing .parquet files") from None
