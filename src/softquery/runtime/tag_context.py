"""Vectors of words in their context for a tagger that has a biLM inside. Needs no torch.

J layers with that of the characters, T tokens, D width.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.backend import Floats
from softquery.runtime.base import open_base
from softquery.runtime.layer_choice import Mix
from softquery.runtime.sentence_reading import NESTED
from softquery.runtime.words_in_context import WordsInContext
from softquery.text import TextConfig, visible_form


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
        text: How the model's words are written before they are spelt.
    """

    def __init__(
        self,
        context: Context,
        settings: Mapping[str, Any],
        stored: Mapping[str, NDArray[Any]],
        text: TextConfig,
    ) -> None:
        self.context, self.text = context, text
        self.mixes = {
            f"at_{place}": Mix.read(
                stored, f"{NESTED}.mixes.{place}", normalise=settings["normalise"]
            )
            for place in settings["places"]
        }

    def of(self, sentences: Sequence[Sequence[str]]) -> list[dict[str, Floats]]:
        """Of each sentence the vectors [T, D] at each place, by the names of the graph's inputs."""
        seen = [[visible_form(word, self.text) for word in words] for words in sentences]
        return [
            {name: mix.of(layers) for name, mix in self.mixes.items()}
            for layers in self.context.layers(seen)
        ]


def open_context(bundle: Bundle, threads: int | None = None) -> WordsInContext | None:
    """The biLM that a tagger's bundle has inside or stands on; None where it has none.

    Args:
        bundle: Of the tagger.
        threads: How many batches are computed at a time; None for one a core.
    """
    if NESTED not in bundle.config.model["config"]:
        return None
    try:
        found = open_base(bundle)
    except BundleError as error:
        raise BundleError(f"{bundle.path}: {error}") from None
    return WordsInContext.open(bundle if found is None else found[0], threads=threads)
