"""Vectors of words in their context for a tagger that has a biLM inside. Needs no torch.

J layers with that of the characters, T tokens, D width.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.sentence_reading import NESTED

Floats = NDArray[np.float32]


class Context(Protocol):
    """What gives words their vectors; nothing of the two ends of a sentence is in them."""

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Every layer, [J, T, D], of each sentence by itself."""


class MixedContext:
    """A biLM's layers, mixed as a model has learnt to.

    Args:
        context: The biLM.
        settings: Of the embedder inside the model, as its bundle has them.
        stored: The model's weights.
    """

    def __init__(
        self, context: Context, settings: Mapping[str, Any], stored: Mapping[str, NDArray[Any]]
    ) -> None:
        self.context = context
        self.normalise: bool = settings["normalise"]
        self.mixes = {
            f"at_{place}": _shares(stored, f"{NESTED}.mixes.{place}")
            for place in settings["places"]
        }

    def of(self, sentences: Sequence[Sequence[str]]) -> list[dict[str, Floats]]:
        """Of each sentence the vectors [T, D] at each place, by the names of the graph's inputs."""
        return [
            {
                name: mixed(layers, share, normalise=self.normalise)
                for name, share in self.mixes.items()
            }
            for layers in self.context.layers(sentences)
        ]


def mixed(layers: Floats, shares: Floats, *, normalise: bool) -> Floats:
    """Σ_j shares_j h_j over the highest layers (`softquery.nn.LayerMix`): [T, D].

    >>> mixed(np.float32([[[1.0]], [[3.0]], [[5.0]]]), np.float32([0.5, 0.5]), normalise=False)
    array([[4.]], dtype=float32)
    """
    taken = layers[len(layers) - len(shares) :]
    if normalise:
        centred = taken - taken.mean(axis=-1, keepdims=True)
        taken = centred / np.sqrt(centred.var(axis=-1, keepdims=True) + 1e-5)
    vectors: Floats = np.tensordot(shares, taken, axes=1)
    return vectors


def _shares(stored: Mapping[str, NDArray[Any]], name: str) -> Floats:
    """γ softmax(w)."""
    weights = stored[f"{name}.weights"].astype(np.float32)
    raised = np.exp(weights - weights.max())
    shares: Floats = np.float32(stored[f"{name}.scale"]) * raised / raised.sum()
    return shares


def open_context(bundle: Bundle, threads: int | None = None) -> Context | None:
    """The biLM that a tagger's bundle has inside or stands on; None where it has none.

    Args:
        bundle: Of the tagger.
        threads: How many batches are computed at a time; None for one a core.
    """
    if NESTED not in bundle.config.model["config"]:
        return None
    raise BundleError(f"{bundle.path}: a tagger with ELMo inside runs on torch alone so far")
