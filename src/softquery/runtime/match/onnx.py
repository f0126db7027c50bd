"""A matcher's graphs on ONNX Runtime: `encode` a sentence, `compare` two encodings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from softquery.bundle import Bundle
from softquery.runtime.batches import Floats, even_batches, ids_feed, padded_rows
from softquery.runtime.graphs import OnnxGraphs, laid_out, stored_weights
from softquery.runtime.inner.onnx import ContextLayers, InnerSentences
from softquery.runtime.match.backend import BATCH, TOKENS, Alignment, Read, most_pairs

LOGITS, ALIGNED = "logits", ("logits", "first_to_second", "second_to_first")
"""What `compare` gives, and what it gives where the model aligns words."""


class OnnxMatchBackend:
    """The `encode` and `compare` graphs of an exported bundle.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one per core.
        inner: The embedder inside, where there is one; sentences are then words, and not ids.
    """

    def __init__(
        self, bundle: Bundle, threads: int | None = None, inner: ContextLayers | None = None
    ) -> None:
        stored = stored_weights(bundle)
        self._graphs = OnnxGraphs.of(
            bundle, ("encode", "compare"), laid_out(bundle, stored), threads
        )
        self.name, self.threads = self._graphs.name, self._graphs.threads
        self._has_lengths = "first_lengths" in self._graphs.inputs("compare")
        self._words = None
        if inner is not None:
            self._words = InnerSentences(bundle, stored, inner, self._graphs.inputs("encode"))
        self._try_out(bundle.config.model["config"])

    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence: [T, D + 2 S] for ESIM, [2 S] for Siamese."""
        feed = ids_feed(sentences) if self._words is None else self._words.fed(sentences)
        (encodings,) = self._graphs.run("encode", ["encoding"], feed)
        if encodings.ndim == 2:
            return list(encodings)
        lengths = feed["lengths"].tolist()
        return [row[:length] for row, length in zip(encodings, lengths, strict=True)]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits of encodings pairwise, or of one first side with every second side.

        Pairs of like length share a batch, because a batch costs as much as its longest row.
        """
        longest = [len(side) for side in second]
        if len(first) != 1:
            longest = list(map(max, longest, map(len, first)))
        batches = even_batches(longest, most=most_pairs(second[0]), most_tokens=TOKENS)

        def compared(rows: Sequence[int]) -> Floats:
            ones = first if len(first) == 1 else [first[row] for row in rows]
            feed = self._feed(ones, [second[row] for row in rows])
            logits: Floats = self._graphs.run("compare", [LOGITS], feed)[0]
            return logits

        # The longest first: what is left for the end is short, and no thread waits for long.
        logits = np.concatenate(self._graphs.beside(compared, batches[::-1])[::-1])
        answers = np.empty_like(logits)
        answers[[row for rows in batches for row in rows]] = logits
        return answers

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """Logits and alignments of one pair; None for a model that aligns nothing."""
        if not set(ALIGNED) <= self._graphs.outputs("compare"):
            return None
        found = self._graphs.run("compare", ALIGNED, self._feed([first], [second]))
        return Alignment(*(each[0] for each in found))

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits straight from sentences: equal ones are encoded once, like lengths together."""
        sentences = dict.fromkeys(map(tuple, [*first, *second]))
        encodings: dict[tuple[Any, ...], Floats] = {}
        ordered = sorted(sentences, key=lambda sentence: (len(sentence), sentence))
        rows = even_batches([len(each) for each in ordered], most=BATCH, most_tokens=TOKENS)
        batches = [[ordered[row] for row in some] for some in rows]
        for batch, encoded in zip(batches, self._graphs.beside(self.encode, batches), strict=True):
            encodings.update(zip(batch, encoded, strict=True))
        if not first:
            return np.empty((0, 0), dtype=np.float32)
        return self.compare(
            [encodings[tuple(sentence)] for sentence in first],
            [encodings[tuple(sentence)] for sentence in second],
        )

    def _try_out(self, settings: dict[str, Any]) -> None:
        """Answer one pair."""

        def answered() -> Floats:
            encodings = self.encode([["a"] if self._words else [settings["vocab_size"] - 1]])
            return self.compare(encodings, encodings)

        self._graphs.check_outputs(self._graphs.try_out(answered), settings.get("output_size"))

    def _feed(self, first: Sequence[Floats], second: Sequence[Floats]) -> dict[str, Any]:
        if not self._has_lengths:
            return {"first": np.stack(first), "second": np.stack(second)}
        (one, one_lengths), (other, other_lengths) = padded_rows(first), padded_rows(second)
        return {
            "first": one,
            "first_lengths": one_lengths,
            "second": other,
            "second_lengths": other_lengths,
        }
