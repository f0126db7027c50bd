"""Vectors of words in their context for a model that has a biLM inside. Needs no torch.

J layers with that of the characters, T tokens, D width, E the width that a model asks for.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.base_bundle import open_base
from softquery.runtime.embed.layer_choice import Mix
from softquery.runtime.embed.word_cache import CACHE_BYTES, Company
from softquery.runtime.embed.word_layers import WordsInContext, is_nested
from softquery.runtime.graph_weights import dequantised, kept
from softquery.runtime.inner.reads import NESTED, PREFIX, PROJECTIONS
from softquery.runtime.match.backend import Floats
from softquery.text import TextConfig, visible_form

KEPT = 1 << 15
"""Words of which is kept how they are spelt."""


class Context(Protocol):
    """What gives words their vectors, each sentence by itself."""

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Every layer at the words of each sentence, [J, T, D]."""

    def layers_with_ends(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Likewise at its two ends as well, [J, T + 2, D]."""


class MixedContext:
    """A biLM's layers, mixed as a model has learnt to, and projected where it asks for a width.

    Args:
        context: The biLM.
        nested: The embedder inside the model, as its bundle describes it. Where its `ends` are
            "there", the model sees vectors of both ends of a sentence, too.
        stored: The model's weights.
        text: How the model's words are written before they are spelt.
    """

    def __init__(
        self,
        context: Context,
        nested: Mapping[str, Any],
        stored: Mapping[str, NDArray[Any]],
        text: TextConfig,
    ) -> None:
        settings, ends = nested["settings"], nested["ends"]
        if ends not in ("there", "added"):
            raise ValueError(f"{NESTED}.ends must be there or added, got {ends!r:.40}")
        self._layers = context.layers_with_ends if ends == "there" else context.layers
        self._visible = lru_cache(KEPT)(partial(visible_form, config=text))
        self.mixes = {
            f"at_{place}": Mix.read(
                stored, f"{NESTED}.mixes.{place}", normalise=settings["normalise"]
            )
            for place in settings["places"]
        }
        size = settings.get("size", 0)  # bundles of before have none
        self._projections = {
            f"at_{place}": _projection(
                stored, place, (size, 2 * nested["config"]["projection_size"])
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

    def _projected(self, name: str, mixed: Floats) -> Floats:
        return mixed @ self._projections[name] if name in self._projections else mixed


def _projection(stored: Mapping[str, NDArray[Any]], place: str, shape: tuple[int, int]) -> Floats:
    """The matrix [D, E] of a place."""
    name = f"{PROJECTIONS}{place}.weight"
    weight = dequantised(kept(stored, name))[name]
    if weight.shape != shape:
        raise ValueError(f"{name} is {weight.shape}, expected {shape}")
    return np.ascontiguousarray(weight.T, np.float32)


def open_context(
    bundle: Bundle,
    threads: int | None = None,
    *,
    cache_bytes: int = CACHE_BYTES,
    company: Company = "together",
) -> WordsInContext | None:
    """The biLM that a bundle's model has inside or stands on; None where it has none.

    Args:
        bundle: Of the model around it.
        threads: How many batches are computed at a time; None for one a core.
        cache_bytes: How much memory the vectors of words by themselves may take.
        company: In which words are read by their characters.
    """
    if not is_nested(bundle):
        return None
    try:
        found = open_base(bundle)
    except BundleError as error:
        raise BundleError(f"{bundle.path}: {error}") from None
    holder = bundle if found is None else found[0]
    return WordsInContext.open(holder, threads=threads, cache_bytes=cache_bytes, company=company)


def without_bilm(stored: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights of a model without those of the biLM inside it, which has graphs of its own."""
    return {name: values for name, values in stored.items() if not name.startswith(PREFIX)}
