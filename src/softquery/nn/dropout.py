"""Dropout that holds still in time."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class VariationalDropout(nn.Module):
    """Drops the same features at every step of a sequence (Gal & Ghahramani 2016, Section 4).

    Drawing a new mask at each step, as plain dropout does, lets noise pile up in a recurrent state;
    one mask a sentence does not.

    Args:
        dropout: The share of features to drop, in [0, 1).
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        self.dropout = dropout

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Scale what is kept by 1 / (1 - dropout); do nothing in evaluation."""
        if not self.training or self.dropout == 0:
            return inputs
        ones = inputs.new_ones(inputs.shape[0], 1, inputs.shape[2])
        return inputs * F.dropout(ones, self.dropout, training=True)

    def extra_repr(self) -> str:
        """Show the probability when the module is printed."""
        return f"dropout={self.dropout}"
