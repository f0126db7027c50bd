"""Small layers of several models: layer normalisation and maxout."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class LayerNorm(nn.LayerNorm):
    """Layer normalisation (Ba et al. 2016) whose output is of half precision under autocast.

    There torch's own layer returns float32, and so do the sum and the dropout after it, which then
    read and write twice as much as the products between them. The kernel sums in float32 either
    way. Without autocast both are the same.

    >>> norm = LayerNorm(4)
    >>> torch.equal(norm(torch.ones(2, 4)), nn.LayerNorm(4)(torch.ones(2, 4)))
    True
    """

    def forward(self, input: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Each vector with mean 0 and variance 1, then a learned scale and shift."""
        kind = input.device.type
        if not torch.amp.is_autocast_available(kind) or not torch.is_autocast_enabled(kind):
            return super().forward(input)
        half = torch.get_autocast_dtype(kind)
        with torch.autocast(kind, enabled=False):
            scale, shift = self.weight.to(input.dtype), self.bias.to(input.dtype)
            answer = F.layer_norm(input, self.normalized_shape, scale, shift, self.eps)
        return answer.to(half)


class Maxout(nn.Module):
    """The maximum of pairs of a linear layer's outputs (Goodfellow et al. 2013).

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
