"""What computes for a reader: the shape that every backend has.

T words of a context, J of a question.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import ContextWindow, SpanScores

Floats = NDArray[np.float32]


class ReadBackend(Protocol):
    """A model that reads windows."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    def scores(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        """Where the answer begins and ends, for every window."""

    def meeting(self, window: ContextWindow) -> Floats:
        """How well the words of the context and of the question answer each other: [T, J]."""
