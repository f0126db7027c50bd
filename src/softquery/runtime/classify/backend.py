"""What computes for a classifier: the shape that every backend has."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.text import Tokens

Floats = NDArray[np.float32]


class Weighed(NamedTuple):
    """One text: its logits [C], the weights of each sentence's words, and of the sentences."""

    logits: Floats
    word_weights: list[Floats]
    sentence_weights: Floats | None


class ClassifyBackend(Protocol):
    """A classifier's model, over texts as they were read."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts, each of them a list of sentences of tokens."""

    def weigh(self, text: Tokens) -> Weighed:
        """Logits and weights of one text."""
