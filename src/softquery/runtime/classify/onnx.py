"""A classifier's graphs on ONNX Runtime: torch-free, and safe from many threads.

An attention-BiLSTM is one graph, `classify`. A hierarchical one is two, `read` from words to
sentences and `judge` from sentences to documents, so that sentences of like length are read
together, whatever document they stand in, and equal ones once.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.runtime.classify.backend import Floats, Weighed
from softquery.runtime.inner.mixed import Context
from softquery.runtime.inner.sentences import NestedSentences
from softquery.runtime.match.backend import padded_ids, padded_rows
from softquery.runtime.match.onnx import (
    NESTED_TABLE,
    TABLE,
    arranged_weights,
    stored_weights,
    try_out,
)
from softquery.runtime.onnx_session import open_session
from softquery.text import Tokens

BATCH = 32
"""The most sentences, or documents, that a graph sees at a time."""
TOKENS = 2048
"""The most tokens, padding included, unless one sentence alone has more."""
Sentence = tuple[Any, ...]
"""Ids, or words where a biLM inside spells them."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class OnnxClassifyBackend:
    """The graphs of an exported classifier; batches are computed beside each other.

    Args:
        bundle: With its `onnx/` folder.
        threads: How many batches are computed at a time; None for one a core.
        context: The biLM inside, where there is one; sentences are then words, and not ids.
    """

    def __init__(
        self, bundle: Bundle, threads: int | None = None, context: Context | None = None
    ) -> None:
        stored = stored_weights(bundle)
        weights = arranged_weights(bundle, stored)
        self.is_hierarchical = bundle.config.model["name"] == "hierarchical"
        names = ("read", "judge") if self.is_hierarchical else ("classify",)
        self._graphs = {name: open_session(bundle.path, name, weights) for name in names}
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads, "softquery") if self.threads > 1 else None
        self._nested = None
        if context is not None:
            inputs = {each.name for each in self._graphs[names[0]].get_inputs()}
            self._nested = NestedSentences(bundle, stored, context, inputs)
        self._try_out(bundle, weights.get(TABLE if context is None else NESTED_TABLE))

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts."""
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        if not self.is_hierarchical:
            sentences = [tuple(text[0]) for text in texts]
            return self._in_batches(self._classified, sentences, [len(each) for each in sentences])
        vectors = self._read([tuple(each) for text in texts for each in text])
        documents = [[vectors[tuple(each)] for each in text] for text in texts]
        return self._in_batches(self._judged, documents, [len(each) for each in documents])

    def weigh(self, text: Tokens) -> Weighed:
        """Logits and weights of one text, each sentence read by itself."""
        if not self.is_hierarchical:
            logits, weights = self._run("classify", self._fed([tuple(text[0])]))
            return Weighed(logits[0], [weights[0, : len(text[0])]], None)
        vectors, words = [], []
        for sentence in text:
            vector, weights = self._run("read", self._fed([tuple(sentence)]))
            vectors.append(vector[0])
            words.append(weights[0])
        rows, lengths = padded_rows([_stacked(vectors, self._width)])
        logits, shares = self._run("judge", {"sentences": rows, "lengths": lengths})
        return Weighed(logits[0], words, shares[0, : len(text)])

    def _read(self, sentences: Sequence[Sentence]) -> dict[Sentence, Floats]:
        """The vector of each distinct sentence."""
        distinct = sorted(dict.fromkeys(sentences), key=lambda each: (len(each), each))
        found = self._in_batches(self._vectors, distinct, [len(each) for each in distinct])
        return dict(zip(distinct, found, strict=True))

    def _vectors(self, sentences: Sequence[Sentence]) -> Floats:
        return self._run("read", self._fed(sentences))[0]

    def _classified(self, sentences: Sequence[Sentence]) -> Floats:
        return self._run("classify", self._fed(sentences))[0]

    def _fed(self, sentences: Sequence[Sentence]) -> dict[str, NDArray[Any]]:
        """Sentences as the first graph takes them."""
        if self._nested is not None:
            return self._nested.fed(sentences)
        ids, lengths = padded_ids(sentences)
        return {"ids": ids, "lengths": lengths}

    def _judged(self, documents: Sequence[Sequence[Floats]]) -> Floats:
        rows, lengths = padded_rows([_stacked(each, self._width) for each in documents])
        return self._run("judge", {"sentences": rows, "lengths": lengths})[0]

    @property
    def _width(self) -> int:
        return int(self._graphs["judge"].get_inputs()[0].shape[2])

    def _try_out(self, bundle: Bundle, table: NDArray[Any] | None) -> None:
        """Answer one text."""
        vocab_size = bundle.config.model["config"].get("vocab_size")
        count = vocab_size if table is None else len(table)
        text = [["a"]] if self._nested else [[count - 1]]
        try_out(bundle, count, lambda: self.logits([text]))

    def _run(self, name: str, feed: dict[str, NDArray[Any]]) -> list[Floats]:
        found: list[Floats] = self._graphs[name].run(None, feed)
        return found

    def _in_batches(
        self, act: Callable[[list[Item]], Floats], items: Sequence[Item], lengths: Sequence[int]
    ) -> Floats:
        """One row an item, in their order; items of like length share a batch."""
        order = sorted(range(len(items)), key=lengths.__getitem__)
        batches = [order[part] for part in _parts([lengths[row] for row in order])]
        groups = [[items[row] for row in rows] for rows in batches]
        beside = map if self._pool is None else self._pool.map
        parts = list(beside(act, groups))
        if not parts:
            return np.empty((0, 0), dtype=np.float32)
        answers = np.empty((len(items), parts[0].shape[1]), dtype=np.float32)
        for rows, values in zip(batches, parts, strict=True):
            answers[rows] = values
        return answers


def _stacked(vectors: Sequence[Floats], width: int) -> Floats:
    """[S, D]; a document without a sentence has no rows."""
    return np.stack(vectors) if len(vectors) else np.empty((0, width), dtype=np.float32)


def _parts(lengths: Sequence[int]) -> list[slice]:
    """Rows, ordered by length, in batches as large as `BATCH` and `TOKENS` allow.

    >>> [part.stop - part.start for part in _parts([16] * 40 + [400] * 7)]
    [32, 8, 5, 2]
    """
    parts, start = [], 0
    for place, length in enumerate(lengths):
        count = place - start
        if count and (count == BATCH or length * (count + 1) > TOKENS):
            parts.append(slice(start, place))
            start = place
    return [*parts, slice(start, len(lengths))] if lengths else []
