"""A score that weighs the query, the key, and what they have in common.

Shapes: *B batch axes, Q queries, K keys, D width of both.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.attention.scores import dot


class Trilinear(nn.Module):
    """Compare by a weighted sum of query, key and their product (Seo+ 2017, Eq. 1).

    `w^T [q; k; q ∘ k]`. With `w = [a; b; c]` that is `a·q + b·k + (c ∘ q)·k`: one matrix product
    and two sums, so the Q·K vectors of width 3 D are never built. For one query, `a·q` shifts all
    keys alike and leaves its weights as they are; who compares scores across queries sees it.

    A decoder asks the same keys at every step: `project_key` does once what concerns them alone.

    >>> Trilinear(3)(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query_weight = nn.Parameter(torch.empty(size))
        self.key_weight = nn.Parameter(torch.empty(size))
        self.product_weight = nn.Parameter(torch.empty(size))
        bound = (6 / (3 * size + 1)) ** 0.5  # Xavier, as for one layer from all three to a number
        for weight in (self.query_weight, self.key_weight, self.product_weight):
            nn.init.uniform_(weight, -bound, bound)

    def forward(
        self, query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K D"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score every query against every key."""
        own = (query * self.query_weight).sum(dim=-1, keepdim=True)  # [*B, Q, 1]
        others = (key * self.key_weight).sum(dim=-1).unsqueeze(-2)  # [*B, 1, K]
        return dot(query * self.product_weight, key) + own + others

    def project_key(self, key: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B K D+1"]:
        """The key's part of the product, and behind it what the key is worth by itself."""
        alone = (key * self.key_weight).sum(dim=-1, keepdim=True)
        return torch.cat([key * self.product_weight, alone], dim=-1)

    def compare(
        self, query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K D+1"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score queries against keys that are projected already."""
        own = (query * self.query_weight).sum(dim=-1, keepdim=True)  # [*B, Q, 1]
        others = key[..., -1].unsqueeze(-2)  # [*B, 1, K]
        return dot(query, key[..., :-1]) + own + others
