"""Layer normalisation that stays in the precision of what is around it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


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
