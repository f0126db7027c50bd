"""One learned vector that asks every state: from a sequence to one vector, and to the weights.

B sequences, T states of width D, E width of the query.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import attend, dot


class PooledStates(NamedTuple):
    """What came back from the states, and how much of it from each."""

    mixed: Float[Tensor, "B D"]
    weights: Float[Tensor, "B T"]


class LearnedQuery(nn.Module):
    """Query: a learned vector. Key: tanh of the states, projected or not. Score: dot.

    Without a projection as in Zhou et al. (2016), Eqs. 9-11; with one as in Yang et al. (2016),
    Eqs. 5-7. Padding weighs nothing, and a sequence without states gives zeros.

    Args:
        size: Width of a state.
        query_size: Width of the space in which the query meets the states; None for that of the
            states themselves, which are then not projected.
    """

    def __init__(self, size: int, query_size: int | None = None) -> None:
        super().__init__()
        width = size if query_size is None else query_size
        self.projection = None if query_size is None else nn.Linear(size, query_size)
        self.query = nn.Parameter(torch.empty(1, width))
        nn.init.normal_(self.query, std=width**-0.5)
        if self.projection is not None:
            nn.init.xavier_uniform_(self.projection.weight)
            nn.init.zeros_(self.projection.bias)

    def forward(self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> PooledStates:
        """Ask all states of each sequence."""
        key = torch.tanh(states if self.projection is None else self.projection(states))
        query = self.query.to(key.dtype).expand(len(states), 1, -1)
        mixed, weights = attend(query, key, states, score=dot, mask=mask.unsqueeze(1))
        return PooledStates(mixed.squeeze(1), weights.squeeze(1))
