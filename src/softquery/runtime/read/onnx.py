"""A reader's graphs on ONNX Runtime: torch-free, and safe from many threads.

B texts or windows, T words, U distinct words, C characters of each, D width of a state.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.graph_weights import arrange
from softquery.runtime.inner.mixed import Context, MixedContext, without_bilm
from softquery.runtime.inner.reads import NESTED
from softquery.runtime.match.backend import padded_rows
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason
from softquery.runtime.read.backend import Floats
from softquery.text import TextPipeline, spell_tokens, visible_form
from softquery.text.characters import FILLER

ENCODE, READ, ANSWER = "encode", "read", "answer"
"""The names of the graphs; the second one's depends."""
TABLES = ("embedder.table.weight", "embedder.words.table.weight")
"""Where the table of words is: by itself, or beside a biLM."""
BATCH = 16
"""The most texts or windows that a graph sees at a time."""
TOKENS = 200 * BATCH
"""The most words of a batch, padding included, unless one text alone has more."""
GROUP = 64
"""Windows of which the encodings are held at a time."""
Words = tuple[str, ...]
Item = TypeVar("Item")
Result = TypeVar("Result")


class OnnxReadBackend:
    """The `encode` and `read` graphs of an exported bundle.

    A text that several windows have in common is encoded once. Texts of like length share a batch,
    and threads take whole batches.

    Args:
        bundle: With its `onnx/` folder.
        pipeline: Of the bundle.
        threads: How many batches are computed at a time; None for one a core.
        context: The biLM inside, where there is one.
    """

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        threads: int | None = None,
        context: Context | None = None,
    ) -> None:
        settings = bundle.config.model["config"]
        stored = _stored(bundle)
        weights, self.none = _arranged(bundle, stored)
        try:
            longest = int(settings["spelling"]["max_characters"])
        except (KeyError, TypeError, ValueError):
            place = bundle.path / "config.json"
            raise BundleError(f"{place}: says not how long words are spelt") from None
        self.pipeline = pipeline
        self._context = None
        if context is not None:
            self._context = _mixed(bundle, context, stored, pipeline)
        self._encode = open_session(bundle.path, ENCODE, weights)
        self._read = open_session(bundle.path, second_graph(settings), weights)
        self._inputs = {each.name for each in self._encode.get_inputs()}
        self._longest = longest
        count = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(count, "softquery") if count > 1 else None
        self._try_out(bundle)

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

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
        batches = _batches([len(window.words) for window in windows])

        def act(rows: list[int]) -> list[Floats]:
            return self._run_read([windows[row] for row in rows], encoded, ["start", "end"])

        nothing = np.empty(0, dtype=np.float32)
        found = [SpanScores(nothing, nothing)] * len(windows)
        for rows, (start, end) in zip(batches, self._beside(act, batches), strict=True):
            for place, row in enumerate(rows):
                length = len(windows[row].words)
                found[row] = SpanScores(start[place, :length], end[place, :length], self.none)
        return found

    def _encoded(self, windows: Sequence[ContextWindow]) -> dict[Words, Floats]:
        """The states [T, D] of every distinct text of some windows."""
        texts = list(dict.fromkeys(tuple(words) for window in windows for words in window))
        batches = [
            [texts[row] for row in rows] for rows in _batches([len(words) for words in texts])
        ]
        found: dict[Words, Floats] = {}
        for batch, states in zip(batches, self._beside(self._run_encode, batches), strict=True):
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
        feed: dict[str, Any] = {"lengths": lengths, **self._in_context(texts)}
        if "words" in self._inputs:
            known = np.array([0, *self.pipeline.look_up(distinct)], dtype=np.int64)
            feed["words"] = known[places]
        if "characters" in self._inputs:
            feed |= {"places": places, "characters": self._spelt(distinct)}
        if "spelt_lengths" in self._inputs:
            spelt = feed["characters"]
            feed["spelt_lengths"] = ((spelt != FILLER) & (spelt != 0)).sum(axis=1, dtype=np.int32)
        states: Floats = self._encode.run(["states"], feed)[0]
        return states

    def _in_context(self, texts: Sequence[Words]) -> dict[str, Floats]:
        """What a biLM inside says of the words of every text, [B, T, E] at each place."""
        if self._context is None:
            return {}
        vectors = self._context.of(texts)
        return {
            name: padded_rows([each[name] for each in vectors])[0] for name in self._context.mixes
        }

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
        found: list[Floats] = self._read.run(wanted, feed)
        return found

    def _beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, several at a time where there are several."""
        if self._pool is None or len(items) == 1:
            return [act(item) for item in items]
        return list(self._pool.map(act, items))

    def _try_out(self, bundle: Bundle) -> None:
        """Read one word, so that graphs and weights that do not belong together are found now."""
        place = bundle.path / FOLDER
        try:
            (found,) = self.scores([ContextWindow(["a"], ["a"])])
        except Exception as error:  # the library raises several kinds, none of them public
            raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None
        if found.start.shape != (1,) or found.end.shape != (1,):
            raise BundleError(f"{place}: the graphs give {found.start.shape} scores for one word")


def second_graph(settings: Mapping[str, Any]) -> str:
    """What the graph behind `encode` is called: a biLM inside has a graph `read` of its own.

    >>> second_graph({}), second_graph({"embedder": {}})
    ('read', 'answer')
    """
    return ANSWER if NESTED in settings else READ


def _stored(bundle: Bundle) -> dict[str, NDArray[Any]]:
    stored = bundle.read_weights()
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    return stored


def _arranged(
    bundle: Bundle, stored: dict[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], tuple[float, float] | None]:
    """The weights as the graphs take them, and the scores of no answer."""
    settings = bundle.config.model["config"]
    try:
        weights = arrange(without_bilm(stored))
        found = [len(weights[name]) for name in TABLES if name in weights]
        if not found and NESTED not in settings:
            raise KeyError(TABLES[0])
        none = None
        if "head.none" in stored:
            none = (float(stored["head.none"][0]), float(stored["head.none"][1]))
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise _unfit(bundle, error) from None
    expected = settings.get("vocab_size")
    if found and found[0] != expected:
        raise BundleError(
            f"{bundle.weights_path}: holds vectors of {found[0]} words, "
            f"but config.json says {expected}"
        )
    return weights, none


def _mixed(
    bundle: Bundle, context: Context, stored: dict[str, NDArray[Any]], pipeline: TextPipeline
) -> MixedContext:
    """The biLM inside, mixed as the reader has learnt to."""
    try:
        inside = bundle.config.model["config"][NESTED]
        if inside["ends"] == "there":
            raise ValueError("windows come without their ends")
        return MixedContext(context, inside, stored, pipeline.config)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise _unfit(bundle, error) from None


def _unfit(bundle: Bundle, error: Exception) -> BundleError:
    reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
    return BundleError(f"{bundle.weights_path}: does not fit the graphs ({reason})")


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of like length together, as many as the limits allow.

    >>> _batches([3, 4000, 1, 3])
    [[2, 0, 3], [1]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        batch = batches[-1] if batches else []
        # The row is as long as any before it, so that the batch grows to its length.
        if not batch or len(batch) == BATCH or (len(batch) + 1) * lengths[row] > TOKENS:
            batches.append([row])
        else:
            batch.append(row)
    return batches
