"""Vectors for a file of any size: streamed, in the memory of a chunk, and resumable as `.npz`.

Sentences are computed in chunks that are counted from the first row, so that a resumed run computes
what an uninterrupted one would, byte for byte.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from softquery.files import Sentence
from softquery.runtime.bulk import identity
from softquery.runtime.embed.layer_choice import Choice, check_choice
from softquery.runtime.embed.model import CHUNK_LINES, ContextEmbedder, chunks
from softquery.runtime.embed.pieces import PieceEmbedder
from softquery.runtime.embed.vector_sinks import FORMS, open_sink
from softquery.runtime.partial_file import check_output

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
    """Write one array [layers, words, width] a row into a file that appears when it is complete.

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
