"""What an inner embedder says of words, for the graphs of the model around it. Needs no torch.

J layers with that of the characters, T tokens, D width, E the width that a model asks for.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.batches import Floats, padded_ids, padded_rows
from softquery.runtime.embed.layer_choice import Mix
from softquery.runtime.embed.word_layers import CACHE_BYTES, WordBatching, WordsInContext
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graph_weights import dequantised, kept
from softquery.runtime.graphs import fitting_graphs
from softquery.runtime.inner.inner_weights import INNER, PROJECTIONS, has_inner, open_base
from softquery.text import BOS_ID, EOS_ID, TextConfig, visible_form

KEPT = 1 << 15
"""Words whose spelling is remembered."""


class ContextLayers(Protocol):
    """What gives words their vectors, each sentence by itself."""

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Every layer at the words of each sentence, [J, T, D]."""

    def layers_with_ends(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Every layer at the words and at the two ends of each sentence, [J, T + 2, D]."""


class MixedContext:
    """A biLM's layers, mixed as a model has learnt to, and projected where it asks for a width.

    Args:
        context: The biLM.
        inner: The embedder inside the model, as its bundle describes it. Where its `ends` are
            "there", the model sees vectors of both ends of a sentence, too.
        stored: The model's weights.
        text: How the model's words are written before they are spelt.
    """

    def __init__(
        self,
        context: ContextLayers,
        inner: Mapping[str, Any],
        stored: Mapping[str, NDArray[Any]],
        text: TextConfig,
    ) -> None:
        settings, ends = inner["settings"], inner["ends"]
        if ends not in ("there", "added"):
            raise ValueError(f"{INNER}.ends must be there or added, got {ends!r:.40}")
        self._layers = context.layers_with_ends if ends == "there" else context.layers
        self._visible = lru_cache(KEPT)(partial(visible_form, config=text))
        self.mixes = {
            f"at_{place}": Mix.read(
                stored, f"{INNER}.mixes.{place}", normalise=settings["normalise"]
            )
            for place in settings["places"]
        }
        size = settings.get("size", 0)  # bundles of before have none
        self._projections = {
            f"at_{place}": _projection(
                stored, place, (size, 2 * inner["config"]["projection_size"])
            )
            for place in (settings["places"] if size else ())
        }

    def of(self, sentences: Sequence[Sequence[str]]) -> list[dict[str, Floats]]:
        """Of each sentence the vectors [T, E] at each place, by the names of the graph's inputs."""
        seen = [[self._visible(word) for word in words] for words in sentences]
        return [
            {name: self._projected(name, mix.of(layers)) for name, mix in self.mixes.items()}
            for layers in self._layers(seen)
        ]

    def padded(self, sentences: Sequence[Sequence[str]]) -> dict[str, Floats]:
        """The same side by side: [B, T, E] at each place."""
        vectors = self.of(sentences)
        return {name: padded_rows([each[name] for each in vectors])[0] for name in self.mixes}

    def _projected(self, name: str, mixed: Floats) -> Floats:
        return mixed @ self._projections[name] if name in self._projections else mixed


def _projection(stored: Mapping[str, NDArray[Any]], place: str, shape: tuple[int, int]) -> Floats:
    """The matrix [D, E] of a place."""
    name = f"{PROJECTIONS}{place}.weight"
    weight = dequantised(kept(stored, name))[name]
    if weight.shape != shape:
        raise ValueError(f"{name} is {weight.shape}, expected {shape}")
    return np.ascontiguousarray(weight.T, np.float32)


def open_inner(
    bundle: Bundle,
    threads: int | None = None,
    *,
    cache_bytes: int = CACHE_BYTES,
    batching: WordBatching = "together",
) -> WordsInContext | None:
    """The biLM that a bundle's model has inside or stands on; None where it has none.

    Args:
        bundle: Of the model around it.
        threads: How many batches are computed at a time; None for one a core.
        cache_bytes: How much memory the vectors of words by themselves may take.
        batching: How words are read by their characters.
    """
    if not has_inner(bundle):
        return None
    try:
        found = open_base(bundle)
    except BundleError as error:
        raise BundleError(f"{bundle.path}: {error}") from None
    holder = bundle if found is None else found[0]
    return WordsInContext.open(holder, threads=threads, cache_bytes=cache_bytes, batching=batching)


class InnerSentences:
    """From words to rows of a table of words, and to what a biLM says of them.

    Args:
        bundle: Of the model around the biLM.
        stored: Its weights.
        context: The biLM.
        inputs: The names of what the graph takes.
    """

    def __init__(
        self,
        bundle: Bundle,
        stored: Mapping[str, NDArray[Any]],
        context: ContextLayers,
        inputs: Collection[str],
    ) -> None:
        pipeline = fitting_pipeline(bundle)
        inner = bundle.config.model["config"][INNER]
        self._boundaries = pipeline.config.boundaries
        with fitting_graphs(bundle):
            self._mixed = MixedContext(context, inner, stored, pipeline.config)
            if self._boundaries != (inner["ends"] == "there"):
                raise ValueError(f"{INNER}.ends and text.boundaries contradict each other")
        self._inputs = inputs
        self._row = lru_cache(KEPT)(lambda word: pipeline.look_up([word])[0])

    def fed(self, sentences: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Words as the graph takes them."""
        rows = [[self._row(word) for word in sentence] for sentence in sentences]
        if self._boundaries:
            rows = [[BOS_ID, *row, EOS_ID] for row in rows]
        ids, lengths = padded_ids(rows)
        feed: dict[str, Any] = {**self._mixed.padded(sentences), "lengths": lengths}
        return {**feed, **({"ids": ids} if "ids" in self._inputs else {})}
