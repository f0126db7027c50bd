"""One vector for a text, from models that were made for something else.

- An embedder (ELMo): the mean of its words' vectors, in the mix of layers that the bundle has
  learnt, else the average of all layers.
- A Siamese matcher: its encoding, which is what it compares.
- ESIM: the maximum of its encoder's states over the words (Conneau+ 2017, Section 3.2.2, found it
  to suit BiLSTMs). It compares words and not sentences, so this is a by-product: good enough to
  recall candidates, no more.

A text without words has a vector of zeros.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softquery.runtime import Matcher

Floats = NDArray[np.float32]


def pooled(encoding: Floats, width: int) -> Floats:
    """One vector of a matcher's encoding.

    Args:
        encoding: [W] of a Siamese matcher, or [T, E] of ESIM, whose first W columns are its states.
        width: W.

    >>> pooled(np.array([[1.0, 4.0, 9.0], [3.0, 0.0, 9.0]], dtype=np.float32), 2).tolist()
    [3.0, 4.0]
    """
    if encoding.ndim == 1:
        return encoding
    if not len(encoding):
        return np.zeros(width, dtype=np.float32)
    found: Floats = encoding[:, :width].max(axis=0)
    return found


def mean_of_words(layers: Floats) -> Floats:
    """The mean over the words of [1, words, width]; zeros where there are none.

    >>> mean_of_words(np.array([[[1.0, 2.0], [3.0, 4.0]]], dtype=np.float32)).tolist()
    [2.0, 3.0]
    """
    if not layers.shape[1]:
        return np.zeros(layers.shape[2], dtype=np.float32)
    found: Floats = layers[0].mean(axis=0)
    return found


def normalised(vectors: Sequence[Floats]) -> list[Floats]:
    """Vectors of length 1; one of zeros stays as it is."""
    return [vector / max(float(np.linalg.norm(vector)), 1e-12) for vector in vectors]


def cosines(one: Floats, others: Sequence[Floats]) -> list[float]:
    """How alike a vector is to each of the others, from -1 to 1."""
    (asked,) = normalised([one])
    return [float(np.clip(asked @ each, -1.0, 1.0)) for each in normalised(others)]


def state_size(matcher: Matcher) -> int:
    """Width of what `pooled` takes of a matcher's encodings.

    Behind the states of an exported ESIM stand parts of its projection, which are left out.
    """
    (sample,) = matcher.encode(["a"])
    if sample.ndim == 1:
        return len(sample)
    hidden_size: int = matcher.bundle.config.model["config"]["hidden_size"]
    return int(min(sample.shape[1], 2 * hidden_size))
