"""LSTM and GRU that read a padded sentence from both ends.

B sentences, T tokens, D input width, H width of one direction.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

Cell = Literal["lstm", "gru"]
CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def reverse_within(
    inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T D"]:
    """Turn each sentence round and leave its padding where it is. It is its own inverse.

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

    The backward one reads each sentence turned round within its own length, so that no packing is
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
    """Orthogonal recurrence, Xavier inputs, and an LSTM that starts by remembering."""
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
    """Run what follows on a second CUDA stream; calling what is yielded waits for it."""
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
        """Wait."""
        if self.side is not None:
            torch.cuda.current_stream(self.side.device).wait_stream(self.side)


_SIDE_STREAMS: dict[torch.device, torch.cuda.Stream] = {}


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    if device not in _SIDE_STREAMS:
        _SIDE_STREAMS[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return _SIDE_STREAMS[device]
