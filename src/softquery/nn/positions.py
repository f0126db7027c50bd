"""Where a token stands, as a vector that is added to it.

T positions, D width.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

PositionKind = Literal["sinusoidal", "learned"]


def sinusoids(
    length: int, size: int, *, device: torch.device | str | None = None
) -> Float[Tensor, "{length} {size}"]:
    """Sines and cosines of ever longer waves (Vaswani et al. 2017, Section 3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i + 1) = cos of the same.

    >>> sinusoids(2, 2).tolist()[0]
    [0.0, 1.0]
    """
    place = torch.arange(length, dtype=torch.float32, device=device).unsqueeze(1)
    even = torch.arange(0, size, 2, dtype=torch.float32, device=device)
    angle = place * torch.exp(even * (-math.log(10_000.0) / size))  # [T, D / 2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :size]


class Positions(nn.Module):
    """A vector for every position: computed, for as many as there are, or learned.

    Args:
        kind: `"sinusoidal"`, which is defined for any length, or `"learned"`, which ends.
        size: Width.
        max_length: How many are learned, or kept ready.
    """

    table: Tensor

    def __init__(self, kind: PositionKind, size: int, max_length: int) -> None:
        super().__init__()
        if kind not in get_args(PositionKind):
            raise ValueError(f"kind must be one of {get_args(PositionKind)}, got {kind!r}")
        if max_length < 1:
            raise ValueError(f"max_length must be positive, got {max_length}")
        self.kind = kind
        if kind == "learned":
            self.table = nn.Parameter(size**-0.5 * torch.randn(max_length, size))
        else:
            self.register_buffer("table", sinusoids(max_length, size), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} D"]:
        """The vectors of so many positions."""
        end, known = start + length, len(self.table)
        if end <= known:
            return self.table[start:end]
        if self.kind == "learned":
            raise ValueError(f"{known} positions were learned, but {end} are asked for")
        return sinusoids(end, self.table.shape[1], device=self.table.device)[start:]
