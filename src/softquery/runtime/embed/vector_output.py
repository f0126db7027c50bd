"""Vectors for a file of any size: streamed, in the memory of a chunk, and resumable as `.npz`.

Sentences are computed in chunks that are counted from the first row, so that a resumed run computes
what an uninterrupted one would, byte for byte.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, MissingExtra
from softquery.files import NpzEntries, Sentence, write_atomically
from softquery.files.npz import MARK_SIZE
from softquery.runtime.bulk import identity
from softquery.runtime.embed.layer_choice import Choice, check_choice
from softquery.runtime.embed.model import CHUNK_LINES, ContextEmbedder, chunks
from softquery.runtime.embed.piece_embedder import PieceEmbedder
from softquery.runtime.partial_file import Partial, check_output

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
    """One array per sentence, in `OUTPUT.partial` until all are there.

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
    """One row per sentence: its number in the input, its words, and its vectors as nested lists.

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


Precision = Literal["float32", "float16"]
State = Literal["fresh", "carried"]
"""Whether each line starts afresh, or where the one before it ended."""


@dataclass(frozen=True, slots=True)
class EmbedResult:
    """How a run ended."""

    output: Path
    num_rows: int
    num_tokens: int
    num_resumed: int
    """Rows that an earlier, interrupted run had written."""
    num_cut: int
    """Rows that were longer than the model's limit."""


def embed_rows(
    embedder: ContextEmbedder | PieceEmbedder,
    sentences: Iterable[Sentence],
    output: Path,
    *,
    layers: Choice | int = "all",
    precision: Precision = "float32",
    state: State = "fresh",
    advance: Callable[[int], object] = lambda done: None,
) -> EmbedResult:
    """Write an array [layers, words, width] per row into a file that appears when complete.

    Args:
        embedder: The model.
        sentences: The rows; read from the beginning also when resuming.
        output: An `.npz` or `.parquet` that does not exist yet.
        layers: See `ContextEmbedder.embed`.
        precision: Of the numbers that are written.
        state: `"carried"` reads all rows as one stream.
        advance: Told how many rows are done.
    """
    check_output(output, forms=FORMS, what="vectors")
    check_choice(layers, embedder.num_layers)
    depends_on = {
        **identity(embedder),
        "layers": str(layers),
        "precision": precision,
        "state": state,
    }
    computes = embedder.stream() if state == "carried" else embedder
    done = num_tokens = num_resumed = num_cut = 0
    with open_sink(output, depends_on) as sink:
        for rows, tokens in _chunks(embedder, iter(sentences)):
            kept = [words[: embedder.max_tokens] for words in tokens]
            is_there = sink.at_hand(rows, kept)
            if not is_there or state == "carried":  # a state cannot be read back, only come to
                vectors = computes.embed_tokens(kept, layers=layers)
            if not is_there:
                sink.write(rows, kept, [each.astype(np.dtype(precision)) for each in vectors])
            done += len(rows)
            num_resumed += len(rows) * is_there
            num_tokens += sum(map(len, kept))
            num_cut += embedder.num_cut(tokens)
            advance(done)
    return EmbedResult(output, done, num_tokens, num_resumed, num_cut)


def _chunks(
    embedder: ContextEmbedder | PieceEmbedder, sentences: Iterator[Sentence]
) -> Iterator[tuple[list[Sentence], list[list[str]]]]:
    """Rows with their words, in chunks of a bounded size."""
    while block := list(islice(sentences, CHUNK_LINES)):
        start = 0
        for tokens in chunks(embedder.tokens([each.text for each in block])):
            yield block[start : start + len(tokens)], tokens
            start += len(tokens)
