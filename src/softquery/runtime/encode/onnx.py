"""A sentence encoder's graph on ONNX Runtime: torch-free, and safe from many threads.

The one graph, `encode`, takes ids [B, T] and lengths [B], and gives `vectors` [B, E] of length one.
"""

from collections.abc import Sequence

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, Ids, ids_feed, length_batches
from softquery.runtime.graphs import OnnxGraphs, laid_out, reading_settings, stored_weights

ENCODE, VECTORS = "encode", "vectors"
BATCH = 32
"""The most sentences that the graph sees at a time."""
TOKENS = 2048
"""The most tokens, padding included, unless one sentence alone has more."""


class OnnxEncodeBackend:
    """The graph of an exported sentence encoder.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one per core.
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        weights = laid_out(bundle, stored_weights(bundle))
        self._graphs = OnnxGraphs.of(bundle, (ENCODE,), weights, threads)
        self.name = self._graphs.name
        settings = bundle.config.model["config"]
        pieces = reading_settings(settings)["vocab_size"]
        found = self._graphs.try_out(lambda: self._run([[pieces - 1]]))
        if found.ndim != 2:
            raise BundleError(f"{self._graphs.place}: the graph gives no vector for a sentence")
        self._graphs.check_outputs(found, settings.get("output_size", found.shape[1]))
        self.output_size = int(found.shape[1])

    def vectors(self, sentences: Ids) -> Floats:
        """Vectors [N, E] of sentences; those of like length share a batch."""
        found = np.empty((len(sentences), self.output_size), dtype=np.float32)
        lengths = [len(sentence) for sentence in sentences]
        batches = length_batches(lengths, most=BATCH, most_tokens=TOKENS)
        # The longest first: what is left for the end is short, and no thread waits for long.
        batches.reverse()
        parts = self._graphs.beside(lambda rows: self._run([sentences[r] for r in rows]), batches)
        for rows, part in zip(batches, parts, strict=True):
            found[rows] = part
        return found

    def _run(self, sentences: Sequence[Sequence[int]]) -> Floats:
        vectors: Floats = self._graphs.run(ENCODE, [VECTORS], ids_feed(sentences))[0]
        return vectors
