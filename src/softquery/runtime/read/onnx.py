"""A reader's graphs on ONNX Runtime: `encode` a question or a context, and read both.

B texts or windows, T words, U distinct words, C characters of each, D width of a state.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, length_batches, padded_rows
from softquery.runtime.fit_checks import check_characters
from softquery.runtime.graphs import OnnxGraphs, fitting_graphs, laid_out, stored_weights
from softquery.runtime.inner.inner_weights import INNER
from softquery.runtime.inner.onnx import ContextLayers, MixedContext
from softquery.text import TextPipeline, spell_tokens, visible_form
from softquery.text.characters import FILLER

ENCODE, READ, ANSWER = "encode", "read", "answer"
"""The names of the graphs; the second one's depends."""
BATCH = 16
"""The most texts or windows that a graph sees at a time."""
TOKENS = 200 * BATCH
"""The most words of a batch, padding included, unless one text alone has more."""
GROUP = 64
"""Windows of which the encodings are held at a time."""
Words = tuple[str, ...]


class OnnxReadBackend:
    """The `encode` and `read` graphs of an exported bundle.

    A text that several windows have in common is encoded once.

    Args:
        bundle: With its `onnx/` folder.
        pipeline: The bundle's.
        threads: How many batches are computed at a time; None for one per core.
        inner: The embedder inside, where there is one.
    """

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        threads: int | None = None,
        inner: ContextLayers | None = None,
    ) -> None:
        settings = bundle.config.model["config"]
        stored = stored_weights(bundle)
        weights = laid_out(bundle, stored)
        try:
            self._longest = check_characters(int(settings["spelling"]["max_characters"]))
        except (KeyError, TypeError, ValueError):
            place = bundle.path / "config.json"
            raise BundleError(f"{place}: does not say how long words are spelt") from None
        self.pipeline, self._context = pipeline, None
        with fitting_graphs(bundle):
            none = stored.get("head.none")
            self.none = None if none is None else (float(none[0]), float(none[1]))
            if inner is not None:
                if settings[INNER]["ends"] == "there":
                    raise ValueError("windows come without their ends")
                self._context = MixedContext(inner, settings[INNER], stored, pipeline.config)
        self._read = second_graph(settings)
        self._graphs = OnnxGraphs.of(bundle, (ENCODE, self._read), weights, threads)
        self.name, self._inputs = self._graphs.name, self._graphs.inputs(ENCODE)
        window = ContextWindow(["a"], ["a"])
        (found,) = self._graphs.try_out(lambda: self.scores([window]))
        if found.start.shape != (1,) or found.end.shape != (1,):
            shape = found.start.shape
            raise BundleError(f"{self._graphs.place}: the graphs give {shape} scores for one word")

    def scores(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        """Where the answer begins and ends, for every window."""
        return [
            each
            for start in range(0, len(windows), GROUP)
            for each in self._group(windows[start : start + GROUP])
        ]

    def meeting(self, window: ContextWindow) -> Floats:
        """How well the words of the context and of the question answer each other."""
        encoded = self._encoded([window])
        found = self._run_read([window], encoded, ["meeting"])[0][0]
        scores: Floats = found[: len(window.words), : len(window.question)]
        return scores

    def _group(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        encoded = self._encoded(windows)
        batches = _batches([window.words for window in windows])

        def read(rows: list[int]) -> list[Floats]:
            return self._run_read([windows[row] for row in rows], encoded, ["start", "end"])

        nothing = np.empty(0, dtype=np.float32)
        found = [SpanScores(nothing, nothing)] * len(windows)
        for rows, (start, end) in zip(batches, self._graphs.beside(read, batches), strict=True):
            for place, row in enumerate(rows):
                length = len(windows[row].words)
                found[row] = SpanScores(start[place, :length], end[place, :length], self.none)
        return found

    def _encoded(self, windows: Sequence[ContextWindow]) -> dict[Words, Floats]:
        """The states [T, D] of every distinct text of some windows."""
        texts = list(dict.fromkeys(tuple(words) for window in windows for words in window))
        batches = [[texts[row] for row in rows] for rows in _batches(texts)]
        found: dict[Words, Floats] = {}
        every = self._graphs.beside(self._run_encode, batches)
        for batch, states in zip(batches, every, strict=True):
            found.update((words, states[place, : len(words)]) for place, words in enumerate(batch))
        return found

    def _run_encode(self, texts: Sequence[Words]) -> Floats:
        """States [B, T, D]."""
        distinct = list(dict.fromkeys(word for words in texts for word in words))
        types = {word: place for place, word in enumerate(distinct, 1)}
        lengths = np.array([len(words) for words in texts], dtype=np.int32)
        places = np.zeros((len(texts), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
        for row, words in zip(places, texts, strict=True):
            row[: len(words)] = [types[word] for word in words]
        feed: dict[str, Any] = {"lengths": lengths}
        if self._context is not None:
            feed |= self._context.padded(texts)
        if "words" in self._inputs:
            known = np.array([0, *self.pipeline.look_up(distinct)], dtype=np.int64)
            feed["words"] = known[places]
        if "characters" in self._inputs:
            feed |= {"places": places, "characters": self._spelt(distinct)}
        if "spelt_lengths" in self._inputs:
            spelt = feed["characters"]
            feed["spelt_lengths"] = ((spelt != FILLER) & (spelt != 0)).sum(axis=1, dtype=np.int32)
        states: Floats = self._graphs.run(ENCODE, ["states"], feed)[0]
        return states

    def _spelt(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Characters [1 + U, C]; the first row is that of padding."""
        seen = [visible_form(word, self.pipeline.config) for word in words]
        rows = spell_tokens(seen, self._longest).astype(np.int64)
        return np.concatenate([np.zeros((1, self._longest), dtype=np.int64), rows])

    def _run_read(
        self, windows: Sequence[ContextWindow], encoded: dict[Words, Floats], wanted: list[str]
    ) -> list[Floats]:
        feed: dict[str, Any] = {}
        for side, texts in (
            ("context", [window.words for window in windows]),
            ("question", [window.question for window in windows]),
        ):
            rows, lengths = padded_rows([encoded[tuple(words)] for words in texts])
            feed |= {side: rows, f"{side}_lengths": lengths}
        return self._graphs.run(self._read, wanted, feed)


def second_graph(settings: Mapping[str, Any]) -> str:
    """What the graph behind `encode` is called: a biLM inside has a graph `read` of its own.

    >>> second_graph({}), second_graph({"embedder": {}})
    ('read', 'answer')
    """
    return ANSWER if INNER in settings else READ


def _batches(texts: Sequence[Sequence[str]]) -> list[list[int]]:
    return length_batches([len(words) for words in texts], most=BATCH, most_tokens=TOKENS)
