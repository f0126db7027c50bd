"""An LSTM whose state is projected to a smaller width, clipped as published or fast without.

B sequences, T steps, D input width, H width of the cell, P width of the projection, L layers.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from softquery.nn.recurrent_layer import autocast_dtype, quiet_about_weights

Way = Literal["exact", "fast"]
"""Step by step with the two clips, or one call into cuDNN, which knows no clip of the cell."""


class LstmState(NamedTuple):
    """Where a stack of layers stands in each of its sequences."""

    hidden: Float[Tensor, "L B P"]
    cell: Float[Tensor, "L B H"]


class ProjectedLstm(nn.Module):
    """One layer in one direction (Sak et al. 2014, Section 2, without peepholes).

    Both ways share the weights. `"exact"` clips the cell and the projection after every step, as
    the published ELMo does; `"fast"` runs in cuDNN on a GPU and clips only the state that is
    carried on, so that a cell that grows for thousands of steps stays in the range of training.
    Gates are in torch's order: input, forget, candidate, output.

    Args:
        input_size: Width of a step's input.
        hidden_size: Width of the cell.
        projection_size: Width of the output, below `hidden_size`.
        cell_clip: Largest magnitude of a cell's value; 0 for no limit.
        projection_clip: Largest magnitude of an output; 0 for no limit.
        way: `"exact"` or `"fast"`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        projection_size: int,
        *,
        cell_clip: float = 0.0,
        projection_clip: float = 0.0,
        way: Way = "exact",
    ) -> None:
        super().__init__()
        if way not in get_args(Way):
            raise ValueError(f"way must be one of {get_args(Way)}, got {way!r}")
        if not 0 < projection_size < hidden_size:
            raise ValueError(
                f"projection_size ({projection_size}) must be below hidden_size ({hidden_size})"
            )
        self.hidden_size, self.projection_size = hidden_size, projection_size
        self.cell_clip, self.projection_clip = cell_clip, projection_clip
        self.way = way
        self.input_weight = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_size, projection_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))
        self.projection = nn.Parameter(torch.empty(projection_size, hidden_size))
        for weight in (self.input_weight, self.recurrent_weight):
            for gate in weight.data.chunk(4):
                nn.init.xavier_uniform_(gate)
        nn.init.xavier_uniform_(self.projection)
        self.bias.data[hidden_size : 2 * hidden_size] = 1.0  # starts by remembering

    def forward(
        self,
        inputs: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"] | None = None,
        state: tuple[Float[Tensor, "B P"], Float[Tensor, "B H"]] | None = None,
    ) -> tuple[Float[Tensor, "B T P"], tuple[Float[Tensor, "B P"], Float[Tensor, "B H"]] | None]:
        """Outputs at every step, zeros at padding; where a state is given, the state at the end.

        Padding is at the end of a sequence and leaves the state as it was. Without a state,
        sequences begin at zero and no state is returned.
        """
        start = state or (
            inputs.new_zeros(len(inputs), self.projection_size),
            inputs.new_zeros(len(inputs), self.hidden_size),
        )
        if self.way == "exact":
            outputs, last = self._exact(inputs, mask, start)
        else:  # without a state to carry on, padding may be read like any other step
            outputs, (hidden, cell) = self._fast(inputs, None if state is None else mask, start)
            last = (_clipped(hidden, self.projection_clip), _clipped(cell, self.cell_clip))
        if mask is not None:
            outputs = outputs * mask.unsqueeze(-1)
        return outputs, None if state is None else last

    def step(self, gates: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """One step from the input's share of the gates: the next hidden state and cell."""
        gates = gates + F.linear(hidden, self.recurrent_weight)
        enter, forget, candidate, leave = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        cell = _clipped(cell, self.cell_clip)
        hidden = F.linear(torch.sigmoid(leave) * torch.tanh(cell), self.projection)
        return _clipped(hidden, self.projection_clip), cell

    def _exact(
        self, inputs: Tensor, mask: Tensor | None, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        gates = F.linear(inputs, self.input_weight, self.bias)
        hidden, cell = state
        outputs = []
        for place in range(inputs.shape[1]):
            new_hidden, new_cell = self.step(gates[:, place], hidden, cell)
            outputs.append(new_hidden)
            if mask is None:
                hidden, cell = new_hidden, new_cell
            else:  # padding leaves the state as it was
                is_real = mask[:, place].unsqueeze(-1)
                hidden = torch.where(is_real, new_hidden, hidden)
                cell = torch.where(is_real, new_cell, cell)
        return torch.stack(outputs, dim=1), (hidden, cell)

    def _fast(
        self, inputs: Tensor, mask: Tensor | None, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        kind = autocast_dtype(inputs)
        # Cast here: torch's own autocast of cuDNN's LSTM knows float16 only.
        weights = [
            weight.to(kind)
            for weight in (
                self.input_weight,
                self.recurrent_weight,
                self.bias,
                torch.zeros_like(self.bias),
                self.projection,
            )
        ]
        start = [part.to(kind).unsqueeze(0) for part in state]
        with torch.autocast(inputs.device.type, enabled=False), quiet_about_weights():
            if mask is None:
                outputs, hidden, cell = torch.lstm(
                    inputs.to(kind), start, weights, True, 1, 0.0, self.training, False, True
                )
                return outputs, (hidden.squeeze(0), cell.squeeze(0))
            return self._packed(inputs.to(kind), mask, start, weights)

    def _packed(
        self, inputs: Tensor, mask: Tensor, start: list[Tensor], weights: list[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Sequences of several lengths in one call; an empty one keeps its state."""
        lengths = mask.sum(dim=1)
        packed = pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        order, back = packed.sorted_indices, packed.unsorted_indices
        sorted_start = [part[:, order] for part in start]
        flat, hidden, cell = torch.lstm(
            packed.data, packed.batch_sizes, sorted_start, weights, True, 1, 0.0, self.training,
            False,
        )  # fmt: skip
        outputs, _ = pad_packed_sequence(
            packed._replace(data=flat), batch_first=True, total_length=inputs.shape[1]
        )
        has_steps = (lengths > 0).unsqueeze(-1)
        last = [
            torch.where(has_steps, part[0, back], old[0])
            for part, old in zip((hidden, cell), start, strict=True)
        ]
        return outputs, (last[0], last[1])


class LstmStack(nn.Module):
    """Layers of `ProjectedLstm` in one direction, each reading the one below.

    Args:
        layers: From the lowest to the highest, made by the caller.
        residual: Whether each layer but the first adds its input to its output; the state that is
            carried on is that before the addition.
        dropout: Dropout of the input of every layer, in [0, 1).
    """

    def __init__(self, layers: list[ProjectedLstm], *, residual: bool, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.residual = residual
        self.dropout = nn.Dropout(dropout)

    def initial_state(self, num_sequences: int) -> LstmState:
        """Zeros for `num_sequences` sequences."""
        first: ProjectedLstm = self.layers[0]  # type: ignore[assignment]
        shape = (len(self.layers), num_sequences)
        return LstmState(
            first.bias.new_zeros(*shape, first.projection_size),
            first.bias.new_zeros(*shape, first.hidden_size),
        )

    def forward(
        self,
        inputs: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"] | None = None,
        state: LstmState | None = None,
    ) -> tuple[list[Tensor], LstmState | None]:
        """The outputs of every layer, lowest first; where a state is given, the state at the end.

        Padding and states are as in `ProjectedLstm.forward`.
        """
        outputs: list[Tensor] = []
        states: list[tuple[Tensor, Tensor]] = []
        for number, layer in enumerate(self.layers):
            below = self.dropout(inputs)
            start = None if state is None else (state.hidden[number], state.cell[number])
            above, last = layer(below, mask, start)
            inputs = above + below if self.residual and number else above
            outputs.append(inputs)
            states += [] if last is None else [last]
        if state is None:
            return outputs, None
        hiddens, cells = zip(*states, strict=True)
        return outputs, LstmState(torch.stack(hiddens), torch.stack(cells))


def _clipped(values: Tensor, limit: float) -> Tensor:
    return values.clamp(-limit, limit) if limit else values
