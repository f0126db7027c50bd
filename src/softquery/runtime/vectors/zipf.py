"""How often words are used, known from nothing but their rank: vocabularies stand in that order."""

import numpy as np
from numpy.typing import NDArray

from softquery.text import TextPipeline, reserved_tokens

SMOOTHING = 1e-3
"""How fast frequent words lose weight: `a` of SIF (Arora et al. 2017, Section 3, Eq. 3)."""


def zipf_shares(num_words: int, num_reserved: int = 0) -> NDArray[np.float64]:
    """The share of all running words that each word of a vocabulary makes up (Zipf's law).

    Args:
        num_words: Of the vocabulary, most frequent first.
        num_reserved: Entries before the first word; their share is 0.

    >>> zipf_shares(4, 1).round(2).tolist()
    [0.0, 0.55, 0.27, 0.18]
    """
    shares = np.zeros(num_words)
    shares[num_reserved:] = 1 / np.arange(1, num_words - num_reserved + 1)
    total: NDArray[np.float64] = shares / max(shares.sum(), 1e-12)
    return total


def zipf_weights(num_words: int, num_reserved: int = 0) -> NDArray[np.float32]:
    """What words count in a mean: a / (a + p) of their share p, and 0 for reserved entries.

    >>> [round(float(weight), 2) for weight in zipf_weights(1000, 1)[[0, 1, 999]]]
    [0.0, 0.01, 0.88]
    """
    shares = zipf_shares(num_words, num_reserved)
    weights = SMOOTHING / (SMOOTHING + shares)
    weights[:num_reserved] = 0
    return weights.astype(np.float32)


def num_reserved(pipeline: TextPipeline) -> int:
    """Entries of a vocabulary that are no words."""
    return len(reserved_tokens(pipeline.config.unit))
