"""What computes for a sentence encoder: the shape that every backend has, and prefixes of vectors.

N sentences, E width of a vector, P width of a prefix of it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from softquery.runtime.batches import Floats, Ids

Item = TypeVar("Item")
Result = TypeVar("Result")


class EncodeBackend(Protocol):
    """A model from ids to vectors."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    @property
    def output_size(self) -> int:
        """Width of a vector."""

    def vectors(self, sentences: Ids) -> Floats:
        """Vectors [N, E], of length one unless the model was imported without normalisation."""

    def beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, on as many threads as the backend computes with."""


def prefix_of(vectors: Floats, width: int | None) -> Floats:
    """The first numbers of every vector [N, E], at length one again: [N, P].

    >>> prefix_of(np.array([[0.6, 0.8, 0.0]], dtype=np.float32), 1).tolist()
    [[1.0]]
    """
    if width is None or width == vectors.shape[1]:
        return vectors
    return of_length_one(vectors[:, :width])


def of_length_one(vectors: Floats) -> Floats:
    """Every vector [N, E] by its length; zeros stay zeros.

    >>> of_length_one(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    found: Floats = vectors / np.maximum(lengths, 1e-12)[:, None]
    return found
