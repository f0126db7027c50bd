"""From a sequence of states, or from the layers of a deep model, to one vector by learned weights.

B sentences, T tokens, D width, E width of a query, J layers. Padding never counts; a sentence
without tokens pools to zeros.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import attend, dot
from softquery.nn.recurrent import max_pool, mean_pool

TokenPool = Literal["cls", "max", "mean", "mean_sqrt_len"]
"""How token states become one vector without learning anything, as sentence-transformers calls it:
the first token's, the largest values, the mean, or the sum by the root of the number of tokens."""


def pool_tokens(
    states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"], pool: TokenPool
) -> Float[Tensor, "B D"]:
    """One vector per sentence.

    >>> states = torch.tensor([[[1.0], [3.0], [9.0]]])
    >>> mask = torch.tensor([[True, True, False]])
    >>> [pool_tokens(states, mask, pool).item() for pool in ("cls", "max", "mean")]
    [1.0, 3.0, 2.0]
    """
    if pool == "max":
        return max_pool(states, mask)
    if pool == "cls":
        return states[:, 0] * mask[:, :1]
    mean = mean_pool(states, mask)
    return mean if pool == "mean" else mean * mask.sum(dim=1, keepdim=True).sqrt()


def check_pools(pools: tuple[str, ...]) -> None:
    """Refuse pools that are unknown, none, or named twice."""
    known = get_args(TokenPool)
    if not pools or len(set(pools)) != len(pools) or not set(pools) <= set(known):
        raise ValueError(f"pools must be some of {', '.join(known)}, each once; got {pools!r}")


class PooledStates(NamedTuple):
    """The mixed states, and the weight of each."""

    mixed: Float[Tensor, "B D"]
    weights: Float[Tensor, "B T"]


class LearnedQueries(nn.Module):
    """Query: H learned vectors. Key: tanh of the states, in H parts. Score: dot.

    Each query asks its own part of every state, as heads do, and mixes that part alone, so that
    one query has as many numbers as H of them (Lin et al. 2017, Section 2.1, ask the whole state H
    times). Padding weighs nothing, and a sequence without states gives zeros.

    Args:
        size: Width of a state, a multiple of the number of queries.
        num_queries: H.
    """

    def __init__(self, size: int, num_queries: int = 1) -> None:
        super().__init__()
        if size % num_queries:
            raise ValueError(f"{num_queries} queries cannot share states of width {size} evenly")
        self.query = nn.Parameter(torch.empty(num_queries, size // num_queries))
        nn.init.normal_(self.query, std=self.query.shape[1] ** -0.5)

    def forward(self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> PooledStates:
        """Ask all states of each sequence; the weights are the mean of all queries'."""
        size = (len(states), states.shape[1], *self.query.shape)
        parts = states.reshape(size).transpose(1, 2)  # [B, H, T, D / H]
        query = self.query.to(states.dtype).unsqueeze(1).expand(len(states), -1, -1, -1)
        mixed, weights = attend(
            query, torch.tanh(parts), parts, score=dot, mask=mask[:, None, None]
        )
        return PooledStates(mixed.flatten(1), weights.mean(dim=1).squeeze(1))


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


class LayerMix(nn.Module):
    """γ Σ_j softmax(w)_j h_j (Peters et al. 2018, Section 3.2, Eq. 1).

    Query: one learned vector that never sees the input. Key: none; the score of a layer is its
    weight w_j itself. Value: the layer. Every token thus gets the same mixture, which is where the
    picture of a soft query bends.

    Differs from paper's code: layer normalisation is over each token, so that no sentence depends
    on others in its batch.

    Args:
        num_layers: J.
        normalise: Whether layers are normalised first (Section 3.2).
        penalty: λ of λ‖w‖² (Section 3.3); large values keep the mixture near the mean of all
            layers.
        dropout: Dropout of the mixed vectors.
        learn_scale: Whether γ is learned; otherwise it is 1.
    """

    def __init__(
        self,
        num_layers: int,
        *,
        normalise: bool = False,
        penalty: float = 0.0,
        dropout: float = 0.0,
        learn_scale: bool = True,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be positive, got {num_layers}")
        if penalty < 0 or not 0 <= dropout < 1:
            raise ValueError(
                f"penalty must not be negative and dropout in [0, 1), got {penalty} and {dropout}"
            )
        self.normalise, self.penalty = normalise, penalty
        self.weights = nn.Parameter(torch.zeros(num_layers))
        self.scale = nn.Parameter(torch.ones(()), requires_grad=learn_scale)
        self.dropout = nn.Dropout(dropout)

    def forward(self, layers: Float[Tensor, "J B T D"]) -> Float[Tensor, "B T D"]:
        """Mix the layers.

        >>> mix = LayerMix(2)
        >>> mix(torch.tensor([1.0, 3.0]).view(2, 1, 1, 1)).item()
        2.0
        """
        if len(layers) != len(self.weights):
            raise ValueError(f"expected {len(self.weights)} layers, got {len(layers)}")
        if self.normalise:
            layers = F.layer_norm(layers, layers.shape[-1:])
        share = self.weights.softmax(dim=0).view(-1, 1, 1, 1)
        mixed: Tensor = self.dropout(self.scale * (share * layers).sum(dim=0))
        return mixed

    def regulariser(self) -> Float[Tensor, ""]:
        """λ‖w‖², to be added to the task's loss."""
        return self.penalty * self.weights.square().sum()
