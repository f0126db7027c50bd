"""Words in context: a biLM as a part that any torch-free model can stand on.

    words = WordsInContext.open(read_bundle(resolve("elmo-en")))
    words.layers([["by", "the", "bank"]])[0].shape      # layers, tokens, width
    words.mixed([["by", "the", "bank"]], Mix((0.1, 0.7, 0.2), scale=1.3))[0].shape

J layers with that of the characters, T tokens, D width: twice that of a direction.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.embed.backend import ContextState, EmbedBackend
from softquery.runtime.embed.bilm_sizes import BiLmSizes
from softquery.runtime.embed.bilm_weights import fitting
from softquery.runtime.embed.layer_choice import Mix
from softquery.runtime.embed.onnx import OnnxEmbedBackend
from softquery.runtime.embed.word_cache import CACHE_BYTES, Company, WordReader
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.reads import NESTED, PREFIX
from softquery.runtime.match.backend import Floats

NAME = "elmo"
Sentences = Sequence[Sequence[str]]
"""Words as the biLM shall read them: cut, and in the case they are written in."""
WORDS = slice(1, -1)
"""Of what is read between two ends."""


class WordsInContext:
    """Every layer of a biLM at every word of some sentences. Safe from many threads.

    A sentence's vectors depend on its own words and nothing else, unless a state is carried on.

    Args:
        backend: What computes.
        sizes: The biLM's.
        cache_bytes: How much memory the vectors of words by themselves may take; 0 for none.
        company: In which words are read by their characters: many `"together"`, or each `"alone"`,
            so that its vector does not depend, by so much as a rounding, on what was asked before.
    """

    def __init__(
        self,
        backend: EmbedBackend,
        sizes: BiLmSizes,
        *,
        cache_bytes: int = CACHE_BYTES,
        company: Company = "together",
    ) -> None:
        self.backend = backend
        self.num_layers: int = sizes.num_layers + 1
        self.output_size: int = 2 * sizes.width
        self._reader = WordReader(backend, sizes, cache_bytes, company)

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        *,
        threads: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        company: Company = "together",
    ) -> "WordsInContext":
        """The biLM of an exported bundle, on ONNX Runtime.

        Args:
            bundle: Of an ELMo, or of a model with one inside whose graphs were written as well.
            threads: How many batches are computed at a time; None for one a core.
            cache_bytes: How much memory the vectors of words by themselves may take.
            company: In which words are read by their characters.
        """
        sizes = sizes_of(bundle)
        if not bundle.is_exported:
            raise BundleError(f"{bundle.path}: not exported yet; run `softquery export` on it")
        prefix = PREFIX if is_nested(bundle) else ""
        try:
            weights = fitting(_finite(bundle.read_weights()), sizes, prefix)
        except BundleError as error:
            raise BundleError(f"{bundle.weights_path}: {error}") from None
        backend = OnnxEmbedBackend(bundle.path, sizes, weights, threads)
        return cls(backend, sizes, cache_bytes=cache_bytes, company=company)

    def layers(self, sentences: Sentences) -> list[Floats]:
        """Every layer, [J, T, D], of each sentence by itself; layer 0 is the word without context.

        Layer 0 stands there twice, so that all layers are equally wide.
        """
        return self._layers(sentences, None, WORDS)[0]

    def layers_with_ends(self, sentences: Sentences) -> list[Floats]:
        """The same at both ends of each sentence, too: [J, T + 2, D]."""
        return self._layers(sentences, None, slice(None))[0]

    def mixed(self, sentences: Sentences, mix: Mix) -> list[Floats]:
        """One vector per word, [T, D], by the weights of a task."""
        return [mix.of(layers) for layers in self.layers(sentences)]

    def carry(
        self, sentences: Sentences, state: ContextState | None = None
    ) -> tuple[list[Floats], ContextState]:
        """As `layers`, but each sentence is the next one of a stream.

        Args:
            sentences: One for each stream.
            state: What the call before returned; None at the beginning of the streams.
        """
        start = self.backend.initial_state(len(sentences)) if state is None else state
        found, after = self._layers(sentences, start, WORDS)
        if after is None:
            raise TypeError(f"the backend {self.backend.name} carries no state")
        return found, after

    def _layers(
        self, sentences: Sentences, state: ContextState | None, part: slice
    ) -> tuple[list[Floats], ContextState | None]:
        vectors = self._reader.read(sentences)
        above, after = self.backend.contextualise(vectors, state)
        return [_stacked(*pair, part) for pair in zip(vectors, above, strict=True)], after


def is_nested(bundle: Bundle) -> bool:
    """Whether a bundle's model has an embedder inside."""
    return NESTED in bundle.config.model["config"]


def sizes_of(bundle: Bundle) -> BiLmSizes:
    """The sizes of the biLM that a bundle is or has inside."""
    model, place = bundle.config.model, bundle.path / "config.json"
    try:
        found = model["config"][NESTED] if is_nested(bundle) else model
        name, config = found["name"], found["config"]
    except (KeyError, TypeError):
        raise BundleError(f"{place}: expected an elmo inside, found no such config") from None
    if name != NAME:
        raise BundleError(
            f"{bundle.path}: expected word vectors in context ({NAME}), found {name!r:.40}"
        )
    try:
        return BiLmSizes.from_config(config)
    except BundleError as error:
        raise BundleError(f"{place}: {error}") from None


def learnt_mix(bundle: Bundle) -> Mix | None:
    """What a model has learnt to take from the biLM inside it, at its input if there."""
    if not is_nested(bundle):
        return None
    settings = bundle.config.model["config"][NESTED]["settings"]
    place = "input" if "input" in settings["places"] else "output"
    name = f"{NESTED}.mixes.{place}"
    return Mix.read(bundle.read_weights(), name, normalise=settings["normalise"])


def _stacked(vectors: Floats, above: Floats, part: slice) -> Floats:
    """Layer 0 twice, the other layers over it, at some of the tokens."""
    own = vectors[part]
    twice = np.concatenate([own, own], axis=-1)
    return np.concatenate([twice[None], above[:, part]])


def _finite(stored: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{name} holds a number that is not finite")
    return dequantised(stored)
