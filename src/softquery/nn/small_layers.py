"""Small layers of several models: dropout that holds still in time, layer normalisation, maxout."""

import torch
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


class LayerNorm(nn.LayerNorm):
    """Layer normalisation (Ba et al. 2016), with an answer of half precision under autocast.

    There torch's own answers in float32, and so do the sum and the dropout after it, which then
    read and write twice as much as the products between them. The kernel sums in float32 either
    way. Without autocast both are the same.

    >>> norm = LayerNorm(4)
    >>> torch.equal(norm(torch.ones(2, 4)), nn.LayerNorm(4)(torch.ones(2, 4)))
    True
    """

    def forward(self, input: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Each vector with a mean of 0 and a variance of 1, then scaled and moved as was learnt."""
        kind = input.device.type
        if not torch.amp.is_autocast_available(kind) or not torch.is_autocast_enabled(kind):
            return super().forward(input)
        half = torch.get_autocast_dtype(kind)
        with torch.autocast(kind, enabled=False):
            scale, shift = self.weight.to(input.dtype), self.bias.to(input.dtype)
            answer = F.layer_norm(input, self.normalized_shape, scale, shift, self.eps)
        return answer.to(half)


class Maxout(nn.Module):
    """max of pairs of a linear layer's outputs (Goodfellow et al. 2013, Section 2).

    The output layer of Cho et al. (2014), Appendix A.1.2, and Bahdanau et al. (2015), Appendix
    A.2.2.

    Args:
        input_size: Width of the input.
        output_size: Width of the output.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.pairs = nn.Linear(input_size, 2 * output_size)
        nn.init.xavier_uniform_(self.pairs.weight)
        nn.init.zeros_(self.pairs.bias)

    def forward(self, inputs: Float[Tensor, "*B D"]) -> Float[Tensor, "*B E"]:
        """The larger of each pair."""
        pairs: Tensor = self.pairs(inputs)
        return pairs.view(*inputs.shape[:-1], -1, 2).amax(dim=-1)
