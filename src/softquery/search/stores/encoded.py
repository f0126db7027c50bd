"""Rows on their way into a store: encoded by models, or taken from segments as they are stored."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from softquery.search.query.index_models import IndexModels
from softquery.search.storage.packed_encodings import EncodingPacker
from softquery.search.storage.segment import Segment, SegmentShape
from softquery.search.stores.row_store import StoredRow
from softquery.search.stores.word_weights import kept_word

COPIED = 512
"""Rows of a segment whose encodings are read at a time."""


def packer_of(shape: SegmentShape) -> EncodingPacker | None:
    """What packs the encodings of an index; None if it stores none."""
    if shape.precision == "none":
        return None
    return EncodingPacker(shape.precision, shape.encoding_size, shape.is_flat)


def counted_words(words: Sequence[str]) -> dict[str, int]:
    """How often each word occurs, as stores keep words."""
    return dict(Counter(map(kept_word, words)))


def encoded_rows(
    models: IndexModels,
    packer: EncodingPacker | None,
    rows: Sequence[Mapping[str, str]],
    advance: Callable[[int], object],
) -> Iterator[StoredRow]:
    """Rows with what the models of an index compute of them; `advance` learns how many are new."""
    for chunk in models.encode_rows(rows):
        packed = [b""] * len(chunk.values) if packer is None else packer.pack(chunk.encodings)
        halves = chunk.vectors.astype(np.float16)
        for values, words, vector, encoding in zip(
            chunk.values, chunk.words, halves, packed, strict=True
        ):
            yield StoredRow(values, vector, counted_words(words), encoding)
        advance(len(chunk.values))


def segment_rows(
    segments: Sequence[Segment], models: IndexModels, packer: EncodingPacker | None
) -> Iterator[StoredRow]:
    """The rows of segments, without encoding them again."""
    for segment in segments:
        live = segment.live_rows
        for start in range(0, len(live), COPIED):
            rows = live[start : start + COPIED]
            packed = [b""] * len(rows)
            if packer is not None and segment.encodings is not None:
                packed = packer.pack_stored(segment.encodings.stored(rows))
            for row, encoding in zip(rows, packed, strict=True):
                values = segment.cells.row(row)
                vector = segment.vectors.stored[row]
                yield StoredRow(values, vector, counted_words(models.words(values)), encoding)
