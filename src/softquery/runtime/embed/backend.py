"""What computes for words in context: the shape that every backend has.

U tokens, C characters, T tokens of a sentence, L layers of LSTMs, P width of a direction, H of its
cell, B streams.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.batches import Floats

Characters = NDArray[np.int16]


class DirectionState(NamedTuple):
    """Where one direction stands in each of its streams: [L, B, P] and [L, B, H]."""

    hidden: Floats
    cell: Floats

    def of(self, rows: Sequence[int]) -> "DirectionState":
        """Of some streams."""
        return DirectionState(self.hidden[:, rows], self.cell[:, rows])


class ContextState(NamedTuple):
    """What both directions keep of the sentences before."""

    forwards: DirectionState
    backwards: DirectionState


class EmbedBackend(Protocol):
    """A biLM's reader of characters, and its two directions."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    def read(self, groups: Sequence[Characters]) -> list[Floats]:
        """Vectors [U, P] of tokens by themselves, from their characters [U, C], group by group.

        A group may have fewer columns than others, where what is left out is filling alone.
        """

    def contextualise(
        self, sentences: Sequence[Floats], state: ContextState | None = None
    ) -> tuple[list[Floats], ContextState | None]:
        """Every LSTM layer, [L, T, 2 P], of sentences [T, P] that were read between their ends.

        None depends on another. Where a state is given, each sentence is the next of a stream, and
        the state to go on from is returned.
        """

    def initial_state(self, num_streams: int) -> ContextState:
        """Zeros, from which so many streams are read."""


def zero_state(num_layers: int, num_streams: int, width: int, hidden_size: int) -> ContextState:
    """The state at the beginning of every stream."""
    ways = [
        DirectionState(
            np.zeros((num_layers, num_streams, width), np.float32),
            np.zeros((num_layers, num_streams, hidden_size), np.float32),
        )
        for _ in range(2)
    ]
    return ContextState(*ways)
