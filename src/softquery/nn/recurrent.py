"""Recurrent encoders: they read padded sentences from one end or from both, into states that pool.

Padding never counts; a sentence without tokens pools to zeros.

B sentences, T tokens, D input width, H width of one direction, E width of a state (both directions
together).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.nn.recurrent_layer import CellState, Recurrence, RecurrentCell

Cell = Literal["lstm", "gru"]
CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def reverse_within(
    inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T D"]:
    """Reverse each sentence and leave its padding where it is; its own inverse.

    >>> words = torch.tensor([[[1.0], [2.0], [0.0]]])
    >>> reverse_within(words, torch.tensor([[True, True, False]])).flatten().tolist()
    [2.0, 1.0, 0.0]
    """
    position = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    mirrored = mask.sum(dim=1, keepdim=True) - 1 - position
    index = torch.where(mask, mirrored, position)  # [B, T]
    return inputs.gather(1, index.unsqueeze(-1).expand_as(inputs))


class BiRecurrent(nn.Module):
    """A forward and a backward LSTM (or GRU) side by side; padding never touches a real token.

    The backward one reads each sentence reversed within its own length, so that no packing is
    needed: the shapes depend on the padded length alone, which lets a training step be recorded as
    a CUDA graph. On a GPU the two directions run in two streams.

    Args:
        input_size: Width of a token.
        hidden_size: Width of one direction; the output is twice as wide.
        cell: `"lstm"` or `"gru"`.
    """

    def __init__(self, input_size: int, hidden_size: int, *, cell: Cell = "lstm") -> None:
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"cell must be one of {sorted(CELLS)}, got {cell!r}")
        self.output_size = 2 * hidden_size
        self.forwards = CELLS[cell](input_size, hidden_size, batch_first=True)
        self.backwards = CELLS[cell](input_size, hidden_size, batch_first=True)
        for direction in (self.forwards, self.backwards):
            _initialise(direction)

    def forward(
        self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T {self.output_size}"]:
        """States of both directions at every token; zeros at padding."""
        with beside(inputs) as joined:
            from_right, _ = self.backwards(reverse_within(inputs, mask))
        from_left, _ = self.forwards(inputs)
        joined()
        states = torch.cat([from_left, reverse_within(from_right, mask)], dim=-1)
        return states * mask.unsqueeze(-1)


def _initialise(recurrent: nn.LSTM | nn.GRU) -> None:
    """Orthogonal recurrence, Xavier inputs, and a forget gate that starts open."""
    hidden_size = recurrent.hidden_size
    for name, parameter in recurrent.named_parameters():
        if name.startswith("weight_hh"):
            for gate in parameter.data.chunk(len(parameter) // hidden_size):
                nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            for gate in parameter.data.chunk(len(parameter) // hidden_size):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if isinstance(recurrent, nn.LSTM) and name.startswith("bias_ih"):
                parameter.data[hidden_size : 2 * hidden_size] = 1.0


@contextmanager
def beside(inputs: Tensor) -> Iterator["Join"]:
    """Run the block on a second CUDA stream; calling the yielded `Join` waits for it."""
    if not inputs.is_cuda:
        yield Join(None)
        return
    side = _side_stream(inputs.device)
    side.wait_stream(torch.cuda.current_stream(inputs.device))
    with torch.cuda.stream(side):
        yield Join(side)


class Join:
    """Waits for a side stream, where there is one.

    Args:
        side: The stream.
    """

    def __init__(self, side: torch.cuda.Stream | None) -> None:
        self.side = side

    def __call__(self) -> None:
        """Let the current stream wait for the side stream."""
        if self.side is not None:
            torch.cuda.current_stream(self.side.device).wait_stream(self.side)


_SIDE_STREAMS: dict[torch.device, torch.cuda.Stream] = {}


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    if device not in _SIDE_STREAMS:
        _SIDE_STREAMS[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return _SIDE_STREAMS[device]


Direction = Literal["forwards", "backwards", "both"]


class RecurrentOutput(NamedTuple):
    """The highest layer's states, zeros at padding, and each layer's state after the last token.

    With both directions, their states are concatenated; the backward one ends at the first token.
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
        dropout: Dropout of what goes from layer to layer.
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
        """Read every sentence; padding is at the end and changes nothing."""
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


class Bridge(nn.Module):
    """From the last states of a bidirectional encoder to a decoder's first, layer by layer.

    s_0 = tanh(W h) (Bahdanau et al. 2015, Appendix A.2.2). Differs from paper: h holds the last
    states of both directions, not of the backward one alone. An LSTM's cell is projected without
    the tanh.

    Args:
        input_size: Width of both directions together.
        output_size: Width of the decoder.
        num_layers: Layers of both.
        has_cell: Whether both are LSTMs.
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
        """The decoder states before the first step."""
        hiddens = [
            torch.tanh(bring(state.hidden)) for bring, state in zip(self.hidden, last, strict=True)
        ]
        if not self.cell:
            return tuple(CellState(hidden) for hidden in hiddens)
        cells = [bring(state.cell) for bring, state in zip(self.cell, last, strict=True)]
        return tuple(CellState(*both) for both in zip(hiddens, cells, strict=True))


def mean_pool(states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """The mean over real tokens.

    >>> states = torch.tensor([[[1.0], [3.0], [9.0]]])
    >>> mean_pool(states, torch.tensor([[True, True, False]])).tolist()
    [[2.0]]
    """
    total = (states * mask.unsqueeze(-1)).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def max_pool(states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """The largest value of each feature over real tokens.

    >>> states = torch.tensor([[[-1.0], [-3.0], [9.0]]])
    >>> max_pool(states, torch.tensor([[True, True, False]])).tolist()
    [[-1.0]]
    """
    lowest = torch.finfo(states.dtype).min
    largest = states.masked_fill(~mask.unsqueeze(-1), lowest).amax(dim=1)
    return largest * mask.any(dim=1, keepdim=True)
