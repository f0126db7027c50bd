"""From where an encoder ended to where a decoder begins.

B sentences.
"""

import torch
from torch import nn

from softquery.nn.recurrence import CellState


class Bridge(nn.Module):
    """The states of a bidirectional encoder, brought to the width of a decoder, layer by layer.

    s_0 = tanh(W h) (Bahdanau et al. 2015, Appendix A.2.2). Differs from paper: h holds the ends of
    both directions, not of the backward one alone. An LSTM's cell is brought over without the tanh.

    Args:
        input_size: Width of both directions together.
        output_size: Width of the decoder.
        num_layers: Layers of both.
        has_cell: Whether they are LSTMs.
    """

    def __init__(
        self, input_size: int, output_size: int, *, num_layers: int, has_cell: bool
    ) -> None:
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(input_size, output_size) for _ in range(num_layers))
        self.cell = nn.ModuleList(
            nn.Linear(input_size, output_size) for _ in range(num_layers * has_cell)
        )

    def forward(self, last: tuple[CellState, ...]) -> tuple[CellState, ...]:
        """The decoder's first states."""
        hiddens = [
            torch.tanh(bring(state.hidden)) for bring, state in zip(self.hidden, last, strict=True)
        ]
        if not self.cell:
            return tuple(CellState(hidden) for hidden in hiddens)
        cells = [bring(state.cell) for bring, state in zip(self.cell, last, strict=True)]
        return tuple(CellState(*both) for both in zip(hiddens, cells, strict=True))
