"""One recurrent layer in one direction: a whole sequence in one call, or one step at a time.

B sequences, T steps, D input width, A width of what is added to the input, H width of the state, G
widths of all gates (H for a plain network, 3 H for a GRU, 4 H for an LSTM).
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F


def autocast_dtype(inputs: Tensor) -> torch.dtype:
    """The dtype in which autocast would multiply here.

    Torch's own autocast of cuDNN's recurrence knows float16 only, so weights are cast by hand.
    """
    if torch.is_autocast_enabled(inputs.device.type):
        return torch.get_autocast_dtype(inputs.device.type)
    return inputs.dtype


@contextmanager
def quiet_about_weights() -> Iterator[None]:
    """Silence torch where it misses a faster path that is not to be had.

    On a GPU the weights were just cast and are gathered anew, some megabytes; on a CPU, oneDNN has
    no projection.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


RecurrentCell = Literal["rnn", "gru", "lstm"]
GATES: dict[str, int] = {"rnn": 1, "gru": 3, "lstm": 4}
FORCED = 1e4
"""Moves a gate so far that its sigmoid is exactly 0 or 1."""


class CellState(NamedTuple):
    """Where a layer stands in each of its sequences; only an LSTM has a cell."""

    hidden: Float[Tensor, "B H"]
    cell: Float[Tensor, "B H"] | None = None

    def widened(self) -> "CellState":
        """The same in float32 at least: a sum that runs over many steps needs more than 8 bits."""
        wide = torch.promote_types(self.hidden.dtype, torch.float32)
        return CellState(self.hidden.to(wide), None if self.cell is None else self.cell.to(wide))


class Recurrence(nn.Module):
    """A plain recurrent network (Elman 1990), a GRU (Cho et al. 2014) or an LSTM.

    `forward` reads whole sequences in one call (cuDNN on a GPU). `step` goes one step, from the
    input's share of the gates, which `share` computes for many steps at once; what is known only
    when the step comes has weights of its own (`share_added`). Both ways give the same. Gates stand
    in torch's order: reset, update, candidate; input, forget, candidate, output.

    Nothing is packed, so that shapes depend on the padded length alone and a training step can be
    recorded as a CUDA graph. Padding at the end holds an LSTM's cell still: an input of its own,
    which is 1 there, shuts the input gate and opens the forget gate.

    Differs from Cho et al.: the reset gate acts on the projected state, as in cuDNN.

    Args:
        input_size: Width of a step's input.
        hidden_size: Width of the state.
        cell: `"rnn"`, `"gru"` or `"lstm"`.
        added_size: Width of what stands beside the input, behind it.
    """

    hold: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        cell: RecurrentCell = "gru",
        added_size: int = 0,
    ) -> None:
        super().__init__()
        if cell not in get_args(RecurrentCell):
            raise ValueError(f"cell must be one of {get_args(RecurrentCell)}, got {cell!r}")
        self.kind, self.hidden_size = cell, hidden_size
        width = GATES[cell] * hidden_size
        # Xavier as for one matrix, of which the two are parts.
        whole = torch.empty(width, input_size + added_size)
        for gate in whole.chunk(GATES[cell]):
            nn.init.xavier_uniform_(gate)
        self.input_weight = nn.Parameter(whole[:, :input_size].clone())
        self.added_weight = nn.Parameter(whole[:, input_size:].clone()) if added_size else None
        self.recurrent_weight = nn.Parameter(torch.empty(width, hidden_size))
        for gate in self.recurrent_weight.data.chunk(GATES[cell]):
            nn.init.orthogonal_(gate)
        self.input_bias = nn.Parameter(torch.zeros(width))
        self.recurrent_bias = nn.Parameter(torch.zeros(width))
        hold = torch.zeros(width, 1)
        if cell == "lstm":
            self.input_bias.data[hidden_size : 2 * hidden_size] = 1.0  # starts by remembering
            hold[:hidden_size], hold[hidden_size : 2 * hidden_size] = -FORCED, FORCED
        self.register_buffer("hold", hold, persistent=False)

    def initial_state(self, num_sequences: int) -> CellState:
        """Zeros for so many sequences."""
        zeros = self.input_bias.new_zeros(num_sequences, self.hidden_size)
        return CellState(zeros, zeros if self.kind == "lstm" else None)

    def forward(
        self,
        inputs: Float[Tensor, "B T DA"],
        mask: Bool[Tensor, "B T"] | None = None,
        state: CellState | None = None,
    ) -> tuple[Float[Tensor, "B T {self.hidden_size}"], CellState]:
        """States at every step, and where each sequence ends.

        What is added stands behind the input. With a mask, padding stands at the end of a sequence;
        what is returned there means nothing.
        """
        start = self.initial_state(len(inputs)) if state is None else state
        weight: Tensor = self.input_weight
        if self.added_weight is not None:
            weight = torch.cat([weight, self.added_weight], dim=1)
        if mask is not None and self.kind == "lstm":
            inputs = torch.cat([inputs, (~mask).unsqueeze(-1).to(inputs.dtype)], dim=-1)
            weight = torch.cat([weight, self.hold], dim=1)
        outputs, last_cell = self._run(inputs, weight, start)
        if mask is None:
            return outputs, CellState(outputs[:, -1], last_cell)
        return outputs, CellState(_at_the_end(outputs, mask, start.hidden), last_cell)

    def share(self, inputs: Float[Tensor, "*B D"]) -> Float[Tensor, "*B G"]:
        """What the input adds to the gates, its bias included."""
        return F.linear(inputs, self.input_weight, self.input_bias)

    def share_added(self, added: Float[Tensor, "*B A"]) -> Float[Tensor, "*B G"]:
        """What stands beside the input adds to the gates."""
        if self.added_weight is None:
            raise ValueError("this layer reads nothing beside its input")
        return F.linear(added, self.added_weight)

    def step(self, share: Float[Tensor, "B G"], state: CellState) -> CellState:
        """The next state, from what the whole input adds to the gates; in the state's own dtype."""
        recurrent = F.linear(state.hidden, self.recurrent_weight, self.recurrent_bias)
        share, recurrent = share.to(state.hidden.dtype), recurrent.to(state.hidden.dtype)
        if self.kind == "rnn":
            return CellState(torch.tanh(share + recurrent))
        if self.kind == "gru":
            return CellState(_gru(share, recurrent, state.hidden))
        assert state.cell is not None
        return CellState(*_lstm(share + recurrent, state.cell))

    def _run(
        self, inputs: Tensor, weight: Tensor, start: CellState
    ) -> tuple[Tensor, Tensor | None]:
        kind = autocast_dtype(inputs)
        weights = [
            each.to(kind)
            for each in (weight, self.recurrent_weight, self.input_bias, self.recurrent_bias)
        ]
        first = start.hidden.to(kind).unsqueeze(0)
        settings = (weights, True, 1, 0.0, self.training, False, True)
        with torch.autocast(inputs.device.type, enabled=False), quiet_about_weights():
            if start.cell is not None:
                first_cell = start.cell.to(kind).unsqueeze(0)
                outputs, _, cell = torch.lstm(inputs.to(kind), [first, first_cell], *settings)
                return outputs, cell.squeeze(0)
            run = torch.gru if self.kind == "gru" else torch.rnn_tanh
            outputs, _ = run(inputs.to(kind), first, *settings)
        return outputs, None


def _gru(share: Tensor, recurrent: Tensor, hidden: Tensor) -> Tensor:
    sizes = [2 * hidden.shape[-1], hidden.shape[-1]]
    gates, candidate = torch.split(share, sizes, dim=-1)
    recurrent_gates, recurrent_candidate = torch.split(recurrent, sizes, dim=-1)
    reset, update = torch.sigmoid(gates + recurrent_gates).chunk(2, dim=-1)
    candidate = torch.tanh(torch.addcmul(candidate, reset, recurrent_candidate))
    return torch.lerp(candidate, hidden, update)


def _lstm(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    enter, forget, candidate, leave = gates.chunk(4, dim=-1)
    kept = torch.sigmoid(forget) * cell
    cell = torch.addcmul(kept, torch.sigmoid(enter), torch.tanh(candidate))
    return torch.sigmoid(leave) * torch.tanh(cell), cell


def _at_the_end(
    outputs: Float[Tensor, "B T H"], mask: Bool[Tensor, "B T"], start: Float[Tensor, "B H"]
) -> Float[Tensor, "B H"]:
    """The state at the last real step; where there is none, the one from the start."""
    lengths = mask.sum(dim=1)
    place = (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, outputs.shape[-1])
    last = outputs.gather(1, place).squeeze(1)
    return torch.where((lengths > 0).unsqueeze(1), last, start.to(last.dtype))
