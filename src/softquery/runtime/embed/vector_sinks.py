"""Where the vectors of many sentences go: `.npz`, which can be gone on with, or `.parquet`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, MissingExtra
from softquery.files import NpzEntries, Sentence, write_atomically
from softquery.files.npz import MARK_SIZE
from softquery.runtime.partial_file import Partial

FORMS = (".npz", ".parquet")
Vectors = Sequence[NDArray[Any]]


class VectorSink(Protocol):
    """Takes chunks of sentences in order."""

    def at_hand(self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]]) -> bool:
        """Whether an earlier, interrupted run has written this chunk."""

    def write(
        self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]], vectors: Vectors
    ) -> None:
        """Add a chunk."""


@contextmanager
def open_sink(output: Path, identity: Mapping[str, str]) -> Iterator[VectorSink]:
    """A file that appears when the block ends well.

    Args:
        output: Ends in one of `FORMS`.
        identity: What the vectors depend on besides the sentences.
    """
    if output.suffix == ".parquet":
        _require_parquet()
        with write_atomically(output, "wb") as handle:
            sink = ParquetSink(handle)
            try:
                yield sink
            except BaseException:
                with suppress(Exception):  # the library would else write its end when collected
                    sink.close()
                raise
            sink.close()
        return
    with Partial(output, identity, about="model, backend or options") as partial:
        entries = NpzEntries(partial.append)
        try:
            yield NpzSink(partial, entries)
            entries.finish()
        finally:
            entries.close()
        partial.complete()


class NpzSink:
    """One array a sentence, in `OUTPUT.partial` until all are there.

    Args:
        partial: The file under way.
        entries: Its arrays.
    """

    def __init__(self, partial: Partial, entries: NpzEntries) -> None:
        self._partial = partial
        self._entries = entries
        self._is_behind = True
        """Whether what is at hand is still being gone through."""

    def at_hand(self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]]) -> bool:
        """Whether this chunk is in the file; sentences that are others are refused."""
        if not self._is_behind:
            return False
        marks = self._entries.find(self._partial.file, len(tokens))
        if marks is None:
            self._is_behind = False
            self._partial.cut_here()
            return False
        for sentence, words, mark in zip(sentences, tokens, marks, strict=True):
            if mark != _mark(words):
                raise InputError(
                    f"is not the row that was embedded in {self._partial.path}; remove that file",
                    source=sentence.source,
                    row=sentence.number,
                )
        return True

    def write(
        self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]], vectors: Vectors
    ) -> None:
        """Add a chunk."""
        for words, array in zip(tokens, vectors, strict=True):
            self._entries.append(array, _mark(words))


class ParquetSink:
    """One row a sentence: its number in the input, its words, and its vectors as nested lists.

    Args:
        handle: The file under way.
    """

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._writer: Any = None

    def at_hand(self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]]) -> bool:
        """Never: the form has no place to go on from."""
        return False

    def write(
        self, sentences: Sequence[Sentence], tokens: Sequence[Sequence[str]], vectors: Vectors
    ) -> None:
        """Add a chunk."""
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(
            {
                "row": pyarrow.array([each.number for each in sentences], pyarrow.int64()),
                "tokens": pyarrow.array(list(tokens), pyarrow.list_(pyarrow.string())),
                "vectors": _nested(vectors),
            }
        )
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._handle, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


def _mark(words: Sequence[str]) -> bytes:
    """What tells sentences apart."""
    return blake2b(json.dumps(list(words)).encode(), digest_size=MARK_SIZE).digest()


def _nested(vectors: Vectors) -> Any:
    """Arrays [J, T, D] as lists of lists of lists."""
    import pyarrow

    values: Any = pyarrow.array(np.concatenate([array.ravel() for array in vectors]))
    for axis in (2, 1, 0):
        # How many lists of this depth each sentence has, and how long each of them is.
        counts = [int(np.prod(array.shape[:axis])) for array in vectors]
        lengths = np.repeat([array.shape[axis] for array in vectors], counts)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        values = pyarrow.ListArray.from_arrays(offsets, values)
    return values


def _require_parquet() -> None:
    """Tell which extra is missing, before anything is written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra("parquet", needed_for="writing .parquet files") from None
