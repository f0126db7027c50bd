"""A sentence encoder's graph on ONNX Runtime: torch-free, and safe from many threads.

The graph `encode` takes ids [B, T] and lengths [B], and gives `vectors` [B, E] of length one. Where
a bundle has `encode_even` as well, it gives the same for sentences of one length, without masks.
"""

from collections.abc import Callable, Sequence

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, Ids, ids_feed, length_batches
from softquery.runtime.encode.backend import Item, Result
from softquery.runtime.graphs import (
    OnnxGraphs,
    has_graph,
    laid_out,
    reading_settings,
    stored_weights,
)

ENCODE, EVEN, VECTORS = "encode", "encode_even", "vectors"
BATCH = 32
"""The most sentences that the graph sees at a time."""
TOKENS = 2048
"""The most tokens, padding included, unless one sentence alone has more."""
ENOUGH = 8
"""Sentences of one length that are worth a batch without padding and masks."""


class OnnxEncodeBackend:
    """The graph of an exported sentence encoder.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one per core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        weights = laid_out(bundle, stored_weights(bundle))
        self._has_even = has_graph(bundle, EVEN)
        names = (ENCODE, EVEN) if self._has_even else (ENCODE,)
        self._graphs = OnnxGraphs.of(bundle, names, weights, threads)
        self.name = self._graphs.name
        settings = bundle.config.model["config"]
        pieces = reading_settings(settings)["vocab_size"]
        last = pieces - 1
        self.output_size = self._tried([[last]], settings.get("output_size"))
        if self._has_even:  # then that was its graph, and this is the other's
            self._tried([[last], [last, last]], self.output_size)

    def vectors(self, sentences: Ids) -> Floats:
        """Vectors [N, E] of sentences; those of like length share a batch."""
        if len(sentences) == 1:
            return self._run(sentences)
        found = np.empty((len(sentences), self.output_size), dtype=np.float32)
        lengths = [len(sentence) for sentence in sentences]
        enough = ENOUGH if self._has_even else None
        batches = length_batches(lengths, most=BATCH, most_tokens=TOKENS, enough=enough)
        # The longest first: what is left for the end is short, and no thread waits for long.
        batches.reverse()
        parts = self._graphs.beside(lambda rows: self._run([sentences[r] for r in rows]), batches)
        for rows, part in zip(batches, parts, strict=True):
            found[rows] = part
        return found

    def beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, on the threads that compute batches."""
        return self._graphs.beside(act, items)

    def _tried(self, sentences: Ids, width: object) -> int:
        """The width of vectors, which must be the one that is given, unless it is None."""
        found = self._graphs.try_out(lambda: self._run(sentences))
        if found.ndim != 2:
            raise BundleError(f"{self._graphs.place}: the graph gives no vector for a sentence")
        self._graphs.check_outputs(found, found.shape[1] if width is None else width)
        return int(found.shape[1])

    def _run(self, sentences: Ids) -> Floats:
        if self._has_even and len(sentences[0]) and len(set(map(len, sentences))) == 1:
            name, feed = EVEN, {"ids": np.array(sentences, dtype=np.int64)}
        else:
            name, feed = ENCODE, ids_feed(sentences)
        vectors: Floats = self._graphs.run(name, [VECTORS], feed)[0]
        return vectors
