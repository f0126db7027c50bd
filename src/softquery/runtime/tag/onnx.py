"""A tagger's graphs on ONNX Runtime: torch-free, and safe from many threads.

U distinct words, C characters of each, B sentences, T tokens, D width, L tags.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.graph_weights import arrange
from softquery.runtime.inner.mixed import Context, MixedContext, without_bilm
from softquery.runtime.inner.reads import NESTED
from softquery.runtime.match.backend import padded_rows
from softquery.runtime.onnx_session import FOLDER, open_session, short_reason
from softquery.runtime.tag.decode_tags import Chain, Floats
from softquery.runtime.tag.word_features import ReadWord, WordFeatures
from softquery.text import TextPipeline
from softquery.text.characters import FILLER

SPELL, TAG = "spell", "tag"
"""The names of the graphs."""
BATCH = 32
"""The most sentences that a graph sees at a time."""
TOKENS = 32 * BATCH
"""The most tokens of a batch, padding included, unless one sentence alone has more."""
WORDS = 1024
"""The most words that are spelt at a time."""


class OnnxTagBackend:
    """The `spell` and `tag` graphs of an exported bundle.

    Sentences of like length share a batch, and threads take whole batches.

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
        try:
            weights = arrange(without_bilm(stored))
            self.chain = _chain(stored)
            self._context = None
            if context is not None:
                inside = settings[NESTED]
                self._context = MixedContext(context, inside, stored, pipeline.config)
            spelling = settings["spelling"]
            reads, longest = spelling["kind"] != "none", int(spelling["max_characters"])
            self._width = int(spelling["output_size"])
        except (KeyError, ValueError, IndexError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
            place = bundle.weights_path
            raise BundleError(f"{place}: does not fit the graphs ({reason})") from None
        self._tag = open_session(bundle.path, TAG, weights)
        self._inputs = {each.name for each in self._tag.get_inputs()}
        self._spell = open_session(bundle.path, SPELL, weights) if reads else None
        self._words = WordFeatures(pipeline, self._spelt if reads else None, longest)
        count = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(count, "softquery") if count > 1 else None
        self._try_out(bundle, settings)

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, L] of the tags of every sentence, and of tags in a chain."""
        known = self._words.of(word for sentence in sentences for word in sentence)
        context = self._context.of(sentences) if self._context else [{}] * len(sentences)
        batches = _batches([len(sentence) for sentence in sentences])

        def score(rows: list[int]) -> NDArray[np.float32]:
            read = [[known[word] for word in sentences[row]] for row in rows]
            return self._scored(read, [context[row] for row in rows])

        found: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(sentences)
        run = map if self._pool is None or len(batches) == 1 else self._pool.map
        for rows, logits in zip(batches, run(score, batches), strict=True):
            for place, row in enumerate(rows):
                found[row] = logits[place, : len(sentences[row])]
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
        for name in self._inputs & {"at_input", "at_output"}:
            feed[name] = padded_rows([each[name] for each in context])[0]
        logits: NDArray[np.float32] = self._tag.run(["logits"], feed)[0]
        return logits

    def _spelt(self, characters: NDArray[np.int64]) -> Floats:
        """Features of words, some at a time."""
        if self._spell is None:
            raise TypeError("this tagger reads no characters")
        parts = []
        for start in range(0, len(characters), WORDS):
            some = characters[start : start + WORDS]
            feed: dict[str, Any] = {"characters": some}
            if len(self._spell.get_inputs()) > 1:
                feed["lengths"] = ((some != FILLER) & (some != 0)).sum(axis=1, dtype=np.int32)
            parts.append(self._spell.run(["spelt"], feed)[0])
        return np.concatenate(parts)

    def _try_out(self, bundle: Bundle, settings: dict[str, Any]) -> None:
        """Tag one word, so that graphs and weights that do not belong together are found now."""
        place = bundle.path / FOLDER
        try:
            (found,), _ = self.scores([["a"]])
        except Exception as error:  # the library raises several kinds, none of them public
            raise BundleError(f"{place}: cannot be run ({short_reason(error)})") from None
        size = settings.get("output_size")
        if found.shape != (1, size):
            raise BundleError(
                f"{place}: the graphs give {found.shape[-1]} outputs, but config.json says {size}"
            )
        if self.chain is not None and self.chain.between.shape != (size, size):
            raise BundleError(f"{bundle.weights_path}: crf.between does not fit config.json")


def _stored(bundle: Bundle) -> dict[str, NDArray[Any]]:
    stored = bundle.read_weights()
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    for name in ("embedder.table.weight", "embedder.words.table.weight"):
        expected = bundle.config.model["config"].get("vocab_size")
        if name in stored and len(stored[name]) != expected:
            raise BundleError(
                f"{bundle.weights_path}: holds vectors of {len(stored[name])} words, "
                f"but config.json says {expected}"
            )
    return stored


def _chain(stored: dict[str, NDArray[Any]]) -> Chain | None:
    if "crf.between" not in stored:
        return None
    return Chain(*(stored[f"crf.{name}"].astype(np.float32) for name in Chain._fields))


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows of like length together, as many as the limits allow.

    >>> _batches([3, 2000, 1, 3])
    [[2, 0, 3], [1]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        batch = batches[-1] if batches else []
        # The row is as long as any before it, so that the batch grows to its length.
        if not batch or len(batch) == BATCH or (len(batch) + 1) * lengths[row] > TOKENS:
            batches.append([row])
        else:
            batch.append(row)
    return batches
