"""A stack of recurrent layers that reads sentences and remembers where it ended.

B sentences, T tokens, D input width, E width of a state (both directions together).
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.nn.recurrence import CellState, Recurrence, RecurrentCell
from softquery.nn.recurrent import beside, reverse_within

Direction = Literal["forwards", "backwards", "both"]


class RecurrentOutput(NamedTuple):
    """The highest layer's states, zeros at padding, and each layer's state after the last token.

    Where both directions read, their states lie side by side, and the last token of the backward
    one is the first of the sentence.
    """

    states: Float[Tensor, "B T E"]
    last: tuple[CellState, ...]


class RecurrentEncoder(nn.Module):
    """Layers of a plain recurrent network, GRUs or LSTMs, read in one direction or in both.

    `"backwards"` is the reversed source of Sutskever et al. (2014), Section 3.3; `"both"` is the
    encoder of Bahdanau et al. (2015), Section 3.2.

    Args:
        input_size: Width of a token.
        hidden_size: Width of one direction.
        num_layers: Layers; each reads the states of the one below.
        cell: `"rnn"`, `"gru"` or `"lstm"`.
        direction: `"forwards"`, `"backwards"` or `"both"`.
        dropout: Of what goes from layer to layer.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_layers: int = 1,
        cell: RecurrentCell = "gru",
        direction: Direction = "both",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if direction not in get_args(Direction):
            raise ValueError(f"direction must be one of {get_args(Direction)}, got {direction!r}")
        self.direction = direction
        self.output_size = (2 if direction == "both" else 1) * hidden_size
        widths = [input_size, *[self.output_size] * (num_layers - 1)]
        self.forwards, self.backwards = (
            nn.ModuleList(Recurrence(width, hidden_size, cell=cell) for width in widths)
            if direction in (one, "both")
            else None
            for one in ("forwards", "backwards")
        )
        self.num_layers = num_layers
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> RecurrentOutput:
        """Read every sentence; padding stands at the end and changes nothing."""
        states, last = inputs, []
        for number in range(self.num_layers):
            if number:
                states = self.dropout(states)
            states, end = self._layer(number, states, mask)
            last.append(end)
        return RecurrentOutput(states * mask.unsqueeze(-1), tuple(last))

    def _layer(self, number: int, inputs: Tensor, mask: Tensor) -> tuple[Tensor, CellState]:
        found = []
        with beside(inputs) as joined:
            if self.backwards is not None:
                turned, end = self.backwards[number](reverse_within(inputs, mask), mask)
                found.append((reverse_within(turned, mask), end))
        if self.forwards is not None:
            found.insert(0, self.forwards[number](inputs, mask))
        joined()
        states, ends = zip(*found, strict=True)
        cells = [end.cell for end in ends if end.cell is not None]
        hidden = torch.cat([end.hidden for end in ends], dim=-1)
        end = CellState(hidden, torch.cat(cells, dim=-1) if cells else None)
        return torch.cat(states, dim=-1), end
