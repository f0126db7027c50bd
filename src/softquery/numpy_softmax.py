"""Scores to shares that sum to one, in numpy: what torch's softmax is where there is no torch."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scores = TypeVar("Scores", bound=np.floating[Any])


def softmax(scores: NDArray[Scores], axis: int = -1) -> NDArray[Scores]:
    """The exponentials of scores, divided by their sum along an axis; what is empty stays so.

    >>> softmax(np.log([[1.0, 3.0]])).round(3).tolist()
    [[0.25, 0.75]]
    """
    if not scores.size:
        return scores
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    shares: NDArray[Scores] = raised / raised.sum(axis=axis, keepdims=True)
    return shares
