"""What an index's models make of a text: words, a vector, an encoding."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from softquery.runtime import Matcher
from softquery.runtime.vectors.text_vectors import TextVectors, num_reserved, zipf_shares
from softquery.search.entries import QUESTION
from softquery.search.manifest import IndexSettings
from softquery.search.search_words import SearchWords
from softquery.search.segment import Chunk, SegmentShape

Floats = NDArray[np.float32]
CHUNK = 1024
"""Rows that are read together."""
BATCH, TOKENS = 32, 2048
"""Rows that a model encodes at a time, and the most tokens of them, padding included."""
NESTED = "embedder"
"""Under which a model's config holds a biLM inside it."""
TEXT_WORDS = 10
"""Words of a usual question."""


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of a query, and in which share of texts each one usually stands."""

    words: list[str]
    usual: dict[str, float]


class IndexModels:
    """Reads texts as they are stored, and as they are asked. Safe from many threads.

    Args:
        matcher: Encodes and compares.
        vectors: Gives a vector a text.
        settings: Of the index.
        threads: Batches that are encoded at a time; None for one a core.
    """

    def __init__(
        self,
        matcher: Matcher,
        vectors: TextVectors,
        settings: IndexSettings,
        *,
        threads: int | None = None,
    ) -> None:
        self.matcher, self.vectors, self.settings = matcher, vectors, settings
        self.threads = threads or cpu_count() or 1
        self._words = SearchWords(matcher.pipeline.config)
        pipeline = matcher.pipeline
        self._shares = zipf_shares(pipeline.vocab_size, num_reserved(pipeline))

    def vector(self, text: str) -> Floats:
        """The vector of what is asked: [D], of length one."""
        found: Floats = self.vectors.of([text], self.matcher.encode([text]))[0]
        return found

    def asked_words(self, text: str) -> AskedWords:
        """The words of what is asked."""
        words = self._words.of(text)
        return AskedWords(words, {word: self._usual(word) for word in words})

    def _usual(self, word: str) -> float:
        """In which share of texts a word usually stands."""
        place = self.matcher.pipeline.token_id(word)
        return 0.0 if place is None else min(1.0, TEXT_WORDS * float(self._shares[place]))

    def words(self, row: Mapping[str, str]) -> list[str]:
        """The words by which a row is found."""
        parts = (row.get(column, "") for column in self.settings.word_columns)
        return self._words.of("\n".join(parts))

    def shape(self, columns: Sequence[str]) -> SegmentShape:
        """What all segments of this reader have in common."""
        (sample,) = self.matcher.encode(["?"])
        stored = self.settings.encodings != "none"
        return SegmentShape(
            columns=tuple(columns),
            precision=self.settings.encodings,
            vector_size=self.vectors.size,
            encoding_size=int(sample.shape[-1]) if stored else 0,
            is_flat=sample.ndim == 1,
        )

    def chunks(self, rows: Sequence[Mapping[str, str]]) -> Iterator[Chunk]:
        """Rows, read some at a time."""
        remaining = iter(rows)
        with ThreadPoolExecutor(self.threads, "softquery-index") as pool:
            while part := list(islice(remaining, CHUNK)):
                questions = [row[QUESTION] for row in part]
                encodings = self._encoded(questions, pool)
                vectors = self.vectors.of(questions, encodings)
                yield Chunk(part, [self.words(row) for row in part], vectors, encodings)

    def _encoded(self, texts: Sequence[str], pool: ThreadPoolExecutor) -> list[Floats]:
        """Encodings of texts, like lengths together: a batch costs as much as its longest row."""
        if NESTED in self.matcher.bundle.config.model["config"]:  # may read words in place of ids
            return self.matcher.encode(texts)
        ids = self.matcher.pipeline.encode_ids(texts)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        batches = list(_batches(order, ids))
        encode = self.matcher.backend.encode
        found = pool.map(lambda batch: encode([ids[place] for place in batch]), batches)
        encodings: list[Floats] = [np.empty(0, dtype=np.float32)] * len(ids)
        for batch, encoded in zip(batches, found, strict=True):
            for place, encoding in zip(batch, encoded, strict=True):
                encodings[place] = encoding
        return encodings


def _batches(order: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places in parts; lengths grow, so that the last of a part is its longest."""
    part: list[int] = []
    for place in order:
        if part and (len(part) == BATCH or len(ids[place]) * (len(part) + 1) > TOKENS):
            yield part
            part = []
        part.append(place)
    if part:
        yield part
