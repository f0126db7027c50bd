"""A tagger's graphs on ONNX Runtime: `spell` words by their characters, `tag` sentences.

U distinct words, C characters of each, F features, B sentences, T tokens, D width, L tags.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, length_batches, padded_rows
from softquery.runtime.fit_checks import check_characters
from softquery.runtime.graphs import OnnxGraphs, fitting_graphs, laid_out, stored_weights
from softquery.runtime.inner.inner_weights import INNER
from softquery.runtime.inner.onnx import ContextLayers, MixedContext
from softquery.runtime.tag.backend import Chain
from softquery.text import TextPipeline, spell_tokens, visible_form
from softquery.text.characters import FILLER

SPELL, TAG = "spell", "tag"
"""The names of the graphs."""
BATCH = 32
"""The most sentences that a graph sees at a time."""
TOKENS = 32 * BATCH
"""The most tokens of a batch, padding included, unless one sentence alone has more."""
WORDS = 1024
"""The most words that are spelt at a time."""
KEPT = 1 << 15
"""Words of which the features are kept."""


class ReadWord(NamedTuple):
    """One word: its row in the table of words, and what its characters say, where they are read."""

    word: int
    spelt: Floats


class OnnxTagBackend:
    """The `spell` and `tag` graphs of an exported bundle, over the embedder inside, if any."""

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        threads: int | None = None,
        inner: ContextLayers | None = None,
    ) -> None:
        settings, stored = bundle.config.model["config"], stored_weights(bundle)
        weights = laid_out(bundle, stored)
        with fitting_graphs(bundle):
            self.chain, self._context = Chain.read(stored), None
            if inner is not None:
                self._context = MixedContext(inner, settings[INNER], stored, pipeline.config)
            spelling = settings["spelling"]
            reads = spelling["kind"] != "none"
            longest = check_characters(int(spelling["max_characters"]))
            self._width = int(spelling["output_size"])
        names = (TAG, SPELL) if reads else (TAG,)
        self._graphs = OnnxGraphs.of(bundle, names, weights, threads)
        self.name, self._inputs = self._graphs.name, self._graphs.inputs(TAG)
        self._words = WordFeatures(pipeline, self._spelt if reads else None, longest)
        (found,), _ = self._graphs.try_out(lambda: self.scores([["a"]]))
        size = settings.get("output_size")
        self._graphs.check_outputs(found, size)
        if self.chain is not None and self.chain.between.shape != (size, size):
            raise BundleError(f"{bundle.weights_path}: crf.between does not fit config.json")

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, L] of the tags of every sentence, and of tags in a chain."""
        known = self._words.of(word for sentence in sentences for word in sentence)
        context = self._context.of(sentences) if self._context else [{}] * len(sentences)
        lengths = [len(sentence) for sentence in sentences]
        batches = length_batches(lengths, most=BATCH, most_tokens=TOKENS)

        def score(rows: list[int]) -> NDArray[np.float32]:
            read = [[known[word] for word in sentences[row]] for row in rows]
            return self._scored(read, [context[row] for row in rows])

        found: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(sentences)
        for rows, logits in zip(batches, self._graphs.beside(score, batches), strict=True):
            for place, row in enumerate(rows):
                found[row] = logits[place, : lengths[row]]
        return found, self.chain

    def _scored(
        self, sentences: Sequence[Sequence[ReadWord]], context: Sequence[dict[str, Floats]]
    ) -> NDArray[np.float32]:
        """Scores [B, T, L] of one batch."""
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
        feed: dict[str, Any] = {"lengths": lengths}
        shape = (len(sentences), max(1, int(lengths.max())))
        if "words" in self._inputs:
            feed["words"] = np.zeros(shape, dtype=np.int64)
            for row, sentence in zip(feed["words"], sentences, strict=True):
                row[: len(sentence)] = [each.word for each in sentence]
        if "spelt" in self._inputs:
            feed["spelt"] = np.zeros((*shape, self._width), dtype=np.float32)
            for row, sentence in zip(feed["spelt"], sentences, strict=True):
                if sentence:
                    row[: len(sentence)] = [each.spelt for each in sentence]
        for name in self._inputs.keys() & {"at_input", "at_output"}:
            feed[name] = padded_rows([each[name] for each in context])[0]
        logits: NDArray[np.float32] = self._graphs.run(TAG, ["logits"], feed)[0]
        return logits

    def _spelt(self, characters: NDArray[np.int64]) -> Floats:
        """Features of words, some at a time."""
        has_lengths, parts = "lengths" in self._graphs.inputs(SPELL), []
        for start in range(0, len(characters), WORDS):
            some = characters[start : start + WORDS]
            feed: dict[str, Any] = {"characters": some}
            if has_lengths:
                feed["lengths"] = ((some != FILLER) & (some != 0)).sum(axis=1, dtype=np.int32)
            parts.append(self._graphs.run(SPELL, ["spelt"], feed)[0])
        return np.concatenate(parts)


class WordFeatures:
    """Reads every word once, and keeps what it read. Safe from many threads.

    Args:
        pipeline: Knows which words the model's table has.
        read: From characters [U, C] to features [U, F]; None where characters are not read.
        max_characters: C.
    """

    def __init__(
        self,
        pipeline: TextPipeline,
        read: Callable[[NDArray[np.int64]], Floats] | None,
        max_characters: int,
    ) -> None:
        self.pipeline, self.max_characters = pipeline, max_characters
        self._read = read
        self._kept: dict[str, ReadWord] = {}
        self._lock = threading.Lock()

    def of(self, words: Iterable[str]) -> dict[str, ReadWord]:
        """What there is to know of these words."""
        with self._lock:
            if len(self._kept) > KEPT:
                self._kept.clear()
            asked = dict.fromkeys(words)
            new = [word for word in asked if word not in self._kept]
            if new:
                ids = self.pipeline.look_up(new)
                self._kept.update(zip(new, map(ReadWord, ids, self._spelt(new)), strict=True))
            return {word: self._kept[word] for word in asked}

    def _spelt(self, words: Sequence[str]) -> Floats:
        if self._read is None:
            return np.empty((len(words), 0), dtype=np.float32)
        seen = [visible_form(word, self.pipeline.config) for word in words]
        return self._read(spell_tokens(seen, self.max_characters).astype(np.int64))
