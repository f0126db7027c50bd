"""A classifier's graphs on ONNX Runtime: torch-free, and safe from many threads.

An attention-BiLSTM is one graph, `classify`. A hierarchical one is two, `read` from words to
sentences and `judge` from sentences to documents, so that sentences of like length are read
together, whatever document they stand in, and equal ones once.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, ids_feed, length_batches, padded_rows
from softquery.runtime.classify.backend import Weighed
from softquery.runtime.graphs import OnnxGraphs, laid_out, stored_weights
from softquery.runtime.inner.onnx import ContextLayers, InnerSentences
from softquery.text import Tokens

GRAPHS = {"attentive": ("classify",), "hierarchical": ("read", "judge")}
"""The graphs of each model."""
STATES = "states"
"""An output of `classify`, which graphs from earlier exports lack."""
BATCH = 32
"""The most sentences, or documents, that a graph sees at a time."""
TOKENS = 2048
"""The most tokens, padding included, unless one sentence alone has more."""
Sentence = tuple[Any, ...]
"""Ids, or words where a biLM inside spells them."""
Item = TypeVar("Item")


class OnnxClassifyBackend:
    """The graphs of an exported classifier; with an embedder inside, sentences are words."""

    def __init__(
        self, bundle: Bundle, threads: int | None = None, inner: ContextLayers | None = None
    ) -> None:
        model = bundle.config.model
        if model["name"] not in GRAPHS:
            raise BundleError(f"{bundle.path}: no graphs are known of {model['name']!r:.40}")
        names, stored = GRAPHS[model["name"]], stored_weights(bundle)
        self._graphs = OnnxGraphs.of(bundle, names, laid_out(bundle, stored), threads)
        self.name, self._first = self._graphs.name, names[0]
        self.is_hierarchical = "judge" in names
        self._has_states = STATES in self._graphs.outputs(self._first)
        self._words = None
        if inner is not None:
            self._words = InnerSentences(bundle, stored, inner, self._graphs.inputs(names[0]))
        settings = model["config"]
        found = self._graphs.try_out(
            lambda: self.logits([[["a"] if self._words else [settings["vocab_size"] - 1]]])
        )
        self._graphs.check_outputs(found, settings.get("output_size"))

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts."""
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        if not self.is_hierarchical:
            sentences = [tuple(text[0]) for text in texts]
            return self._in_batches(self._read, sentences)
        every = dict.fromkeys(tuple(each) for text in texts for each in text)
        distinct = sorted(every, key=lambda each: (len(each), each))
        vectors = dict(zip(distinct, self._in_batches(self._read, distinct), strict=True))
        documents = [[vectors[tuple(each)] for each in text] for text in texts]
        return self._in_batches(lambda some: self._judge(some)[0], documents)

    def weigh(self, text: Tokens) -> Weighed:
        """Logits and weights of one text, each sentence read by itself."""
        if not self.is_hierarchical:
            count = len(text[0])
            outputs = ["logits", "weights", *([STATES] if self._has_states else [])]
            logits, weights, *states = self._run([tuple(text[0])], outputs)
            kept = states[0][0, :count] if states else None
            return Weighed(logits[0], [weights[0, :count]], None, kept)
        vectors, words = [], []
        for sentence in text:
            vector, weights = self._run([tuple(sentence)], ["sentence", "weights"])
            vectors.append(vector[0])
            words.append(weights[0])
        logits, shares = self._judge([vectors])
        return Weighed(logits[0], words, shares[0, : len(text)])

    def _read(self, sentences: Sequence[Sentence]) -> Floats:
        """What the first graph says of sentences: their logits, or their vectors."""
        found: Floats = self._run(sentences, ["sentence" if self.is_hierarchical else "logits"])[0]
        return found

    def _run(self, sentences: Sequence[Sentence], outputs: Sequence[str]) -> list[Floats]:
        feed = ids_feed(sentences) if self._words is None else self._words.fed(sentences)
        return self._graphs.run(self._first, outputs, feed)

    def _judge(self, documents: Sequence[Sequence[Floats]]) -> list[Floats]:
        """Logits of documents, and the weights of their sentences."""
        width = int(self._graphs.inputs("judge")["sentences"][2])
        rows, lengths = padded_rows([_stacked(each, width) for each in documents])
        feed = {"sentences": rows, "lengths": lengths}
        return self._graphs.run("judge", ["logits", "weights"], feed)

    def _in_batches(self, act: Callable[[list[Item]], Floats], items: Sequence[Item]) -> Floats:
        """One row per item, in their order; items of like length share a batch."""
        lengths = [len(each) for each in items]  # type: ignore[arg-type]
        batches = length_batches(lengths, most=BATCH, most_tokens=TOKENS)
        parts = self._graphs.beside(act, [[items[row] for row in rows] for rows in batches])
        if not parts:
            return np.empty((0, 0), dtype=np.float32)
        answers = np.empty((len(items), parts[0].shape[1]), dtype=np.float32)
        for rows, values in zip(batches, parts, strict=True):
            answers[rows] = values
        return answers


def _stacked(vectors: Sequence[Floats], width: int) -> Floats:
    """[S, D]; a document without a sentence has no rows."""
    return np.stack(vectors) if len(vectors) else np.empty((0, width), dtype=np.float32)
