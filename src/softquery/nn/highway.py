"""A layer that may let its input pass."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Highway(nn.Module):
    """g ⊙ relu(W x + b) + (1 − g) ⊙ x with a learned gate g (Srivastava et al. 2015, Eq. 3).

    The gate starts nearly closed, so that a fresh layer hands on what it gets (Section 2.2).

    Args:
        size: Width of input and output.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.change = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)
        for layer, bias in ((self.change, 0.0), (self.gate, -2.0)):
            nn.init.normal_(layer.weight, std=size**-0.5)
            nn.init.constant_(layer.bias, bias)

    def forward(self, inputs: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Change some of the input, pass the rest."""
        gate = torch.sigmoid(self.gate(inputs))
        return gate * F.relu(self.change(inputs)) + (1 - gate) * inputs
