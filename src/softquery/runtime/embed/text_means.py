"""One vector per text from vectors of its words in their context: their mean.

L layers, W words, D width.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from softquery.measure.word_scores import unit_rows
from softquery.runtime.batches import Floats
from softquery.runtime.embed.layer_choice import Choice
from softquery.runtime.given_texts import Advance, Texts, matrix_of

CHUNK = 256
"""Texts that are computed together."""


class WordEmbedder(Protocol):
    """Gives words, or pieces, vectors in their context."""

    @property
    def output_size(self) -> int:
        """Width of a vector."""

    @property
    def num_marks(self) -> int:
        """Marks at each end of a text, which are no words."""

    def embed(self, texts: Sequence[str], *, layers: Choice | int) -> list[Floats]:
        """[L, W, D] for each text."""


def mean_vectors(embedder: WordEmbedder, texts: Texts, advance: Advance, progress: bool) -> Floats:
    """A vector of length one for each text, layers mixed; zeros for a text without words."""

    def of(some: list[str]) -> Floats:
        found = embedder.embed(some, layers="mix")
        return unit_rows(np.stack([mean_in_context(embedder, each) for each in found]))

    return matrix_of(
        texts, of, embedder.output_size, chunk=CHUNK, advance=advance, progress=progress
    )


def mean_in_context(embedder: WordEmbedder, layers: Floats) -> Floats:
    """The vector [D] of a text whose words in their context are [1, W, D].

    Marks are left out, so that a text without words is zeros here as everywhere.
    """
    return mean_of_words(layers[:, embedder.num_marks : layers.shape[1] - embedder.num_marks])


def mean_of_words(layers: Floats) -> Floats:
    """The mean over the words of [1, W, D]; zeros where there are none.

    >>> mean_of_words(np.array([[[1.0, 2.0], [3.0, 4.0]]], dtype=np.float32)).tolist()
    [2.0, 3.0]
    """
    if not layers.shape[1]:
        return np.zeros(layers.shape[2], dtype=np.float32)
    found: Floats = layers[0].mean(axis=0)
    return found
