"""A matcher's graphs on ONNX Runtime: torch-free, and safe from many threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.embed.word_layers import is_nested
from softquery.runtime.graph_weights import arrange
from softquery.runtime.inner.mixed import Context, without_bilm
from softquery.runtime.inner.reads import NESTED
from softquery.runtime.inner.sentences import NestedSentences
from softquery.runtime.match.backend import Alignment, Floats, Ids, Read, padded_ids, padded_rows
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason

BATCH = 13
"""The most pairs or sentences that a graph sees at a time. A pair costs the same in any company, so
that small batches of like lengths are padded less: eight for a hundred candidates."""
TOKENS = 2000
"""The most tokens of either side, padding included, unless one row alone has more."""
TABLE, NESTED_TABLE = f"{NESTED}.table.weight", f"{NESTED}.words.table.weight"
"""The table of words, by itself or beside a biLM."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class OnnxMatchBackend:
    """The `encode` and `compare` graphs of an exported bundle.

    Work is cut into batches of a fixed size, and the threads take whole batches. ONNX Runtime's own
    threads would cut each small LSTM step instead, which is slower, and would scale int8 states by
    thread, so that answers depended on the number of threads.

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
        self._encode = open_session(bundle.path, "encode", weights)
        self._compare = open_session(bundle.path, "compare", weights)
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads, "softquery") if self.threads > 1 else None
        self._inputs = {each.name for each in self._compare.get_inputs()}
        self._outputs = [each.name for each in self._compare.get_outputs()]
        self._nested = None
        if context is not None:
            names = {each.name for each in self._encode.get_inputs()}
            self._nested = NestedSentences(bundle, stored, context, names)
        self._try_out(bundle, weights.get(TABLE if context is None else NESTED_TABLE))

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence: [T, D + 2 S] for ESIM, [2 S] for Siamese."""
        feed = _fed(sentences) if self._nested is None else self._nested.fed(sentences)
        (encodings,) = self._encode.run(["encoding"], feed)
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
        order = sorted(range(len(second)), key=longest.__getitem__)
        batches = [order[part] for part in _parts([longest[row] for row in order])]

        def compared(rows: Sequence[int]) -> Floats:
            ones = first if len(first) == 1 else [first[row] for row in rows]
            return self._compared(ones, [second[row] for row in rows])

        # The longest first: what is left for the end is short, and no thread waits for long.
        logits = np.concatenate(self._beside(compared, batches[::-1])[::-1])
        answers = np.empty_like(logits)
        answers[order] = logits
        return answers

    def _compared(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        (logits,) = self._compare.run(["logits"], self._feed(first, second))
        answers: Floats = logits
        return answers

    def _beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, several at a time where there are several."""
        if self._pool is None or len(items) == 1:
            return [act(item) for item in items]
        return list(self._pool.map(act, items))

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """Logits and alignments of one pair; None for a Siamese model."""
        names = ["logits", "first_to_second", "second_to_first"]
        if not set(names) <= set(self._outputs):
            return None
        return Alignment(
            *(each[0] for each in self._compare.run(names, self._feed([first], [second])))
        )

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits straight from sentences: equal ones are encoded once, like lengths together."""
        sentences = dict.fromkeys(map(tuple, [*first, *second]))
        encodings: dict[tuple[Any, ...], Floats] = {}
        ordered = sorted(sentences, key=lambda sentence: (len(sentence), sentence))
        batches = [ordered[part] for part in _parts([len(sentence) for sentence in ordered])]
        for batch, encoded in zip(batches, self._beside(self.encode, batches), strict=True):
            encodings.update(zip(batch, encoded, strict=True))
        if not first:
            return np.empty((0, 0), dtype=np.float32)
        return self.compare(
            [encodings[tuple(sentence)] for sentence in first],
            [encodings[tuple(sentence)] for sentence in second],
        )

    def _try_out(self, bundle: Bundle, table: NDArray[Any] | None) -> None:
        """Answer one pair."""
        vocab_size = bundle.config.model["config"].get("vocab_size")

        def answered() -> Floats:
            encodings = self.encode([["a"] if self._nested else [vocab_size - 1]])
            return self.compare(encodings, encodings)

        try_out(bundle, vocab_size if table is None else len(table), answered)

    def _feed(self, first: Sequence[Floats], second: Sequence[Floats]) -> dict[str, Any]:
        if "first_lengths" not in self._inputs:
            return {"first": np.stack(first), "second": np.stack(second)}
        (one, one_lengths), (other, other_lengths) = padded_rows(first), padded_rows(second)
        return {
            "first": one,
            "first_lengths": one_lengths,
            "second": other,
            "second_lengths": other_lengths,
        }


def _fed(sentences: Ids) -> dict[str, Any]:
    """Ids as the `encode` graph takes them."""
    ids, lengths = padded_ids(sentences)
    return {"ids": ids, "lengths": lengths}


def try_out(bundle: Bundle, vocab_size: int, answered: Callable[[], Floats]) -> None:
    """Answer once, so that graphs and weights that do not belong together are found now.

    Args:
        bundle: What its files are said of.
        vocab_size: Words that the weights have vectors of.
        answered: The logits [1, C] of whatever has the last word of the vocabulary in it.
    """
    settings, place = bundle.config.model["config"], bundle.path / FOLDER
    if vocab_size != settings.get("vocab_size"):
        raise BundleError(
            f"{bundle.weights_path}: holds vectors of {vocab_size} words, "
            f"but config.json says {settings.get('vocab_size')}"
        )
    try:
        shape = answered().shape
    except Exception as error:  # the library raises several kinds, none of them public
        raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None
    if shape != (1, settings.get("output_size")):
        raise BundleError(
            f"{place}: the graphs give {shape[-1]} outputs, "
            f"but config.json says {settings.get('output_size')}"
        )


def stored_weights(bundle: Bundle) -> dict[str, NDArray[Any]]:
    """A bundle's weights as they lie there; refused where one is not finite."""
    stored = bundle.read_weights()
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    return stored


def arranged_weights(bundle: Bundle, stored: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Weights as a bundle's graphs take them; refused where they cannot be so laid out."""
    try:
        weights = arrange(without_bilm(stored))
        name = NESTED_TABLE if is_nested(bundle) else TABLE
        if is_nested(bundle) and name not in weights:  # a biLM may stand alone at the input
            return weights
        if weights[name].ndim == 2:
            return weights
        raise ValueError(f"{name} is no table")
    except (KeyError, ValueError, IndexError, TypeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
        raise BundleError(f"{bundle.weights_path}: does not fit the graphs ({reason})") from None


def _parts(lengths: Sequence[int]) -> list[slice]:
    """Rows in batches: as few as `BATCH` and `TOKENS` allow.

    Without long rows all have about one size, and there is an even number of them, so that two
    threads end together.

    >>> [part.stop - part.start for part in _parts([16] * 50)]
    [13, 13, 13, 11]
    >>> [part.stop - part.start for part in _parts([16] * 32)]
    [8, 8, 8, 8]
    >>> [part.stop - part.start for part in _parts([16] * 10 + [400] * 10)]
    [10, 5, 5]
    """
    count = len(lengths)
    if max(lengths, default=0) * BATCH <= TOKENS:
        num_parts = -(-count // BATCH)
        size = max(1, -(-count // (num_parts + num_parts % 2 if num_parts > 1 else 1)))
        return [slice(start, min(count, start + size)) for start in range(0, count, size)]
    parts, start, longest = [], 0, 0
    for place, length in enumerate(lengths):
        longest = max(longest, length)
        if place > start and (place - start == BATCH or longest * (place - start + 1) > TOKENS):
            parts.append(slice(start, place))
            start, longest = place, length
    return [*parts, slice(start, count)]
