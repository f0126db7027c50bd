"""From a sequence of states to one vector.

B sentences, T tokens, D width. Padding never counts; a sentence without tokens pools to zeros.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import Additive, attend


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


class AttentivePool(nn.Module):
    """One learned context vector asks every state (Yang et al. 2016, Section 2.2, Eqs. 5-7).

    Query: the learned vector. Key, value: the states. Score: additive.

    Args:
        size: Width of a state.
        hidden_size: Width of the space in which the query meets the keys.
    """

    def __init__(self, size: int, hidden_size: int) -> None:
        super().__init__()
        self.context = nn.Parameter(torch.empty(1, hidden_size))
        nn.init.normal_(self.context, std=hidden_size**-0.5)
        self.score = Additive(hidden_size, size, hidden_size)

    def forward(
        self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B D"]:
        """Mix the states by how well they answer the context vector."""
        query = self.context.expand(states.shape[0], 1, -1)
        return attend(
            query, states, states, score=self.score, mask=mask.unsqueeze(1)
        ).mixed.squeeze(1)
