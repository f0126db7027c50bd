"""The soft query: compare a query with every key, and return the values in proportion.

A dictionary answers where the query equals a key. Attention answers from everywhere at once, by as
much as each key resembles the query. Every model of this library asks its questions here, or of the
fused twin in `fused.py`.

How well a key answers a query is a score: it takes queries and keys and returns logits, unmasked;
`attend` turns them into weights. Three scores need no parameters and are functions, the other four
learn and are modules. Both kinds are called alike, and `attend` takes either.

Shapes: *B batch axes, Q queries, K keys; widths D of a query, E of a key, V of a value, H of a
hidden layer.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

Score: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Queries [*B, Q, D] and keys [*B, K, E] to logits [*B, Q, K]."""

SHORTEST = 1e-12
"""A vector shorter than this has no direction that floating point could tell."""


def dot(query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B Q K"]:
    """Compare by inner product, length and direction alike (Luong+ 2015, §3.1, "dot").

    >>> dot(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 3.0]])).tolist()
    [[3.0, 6.0]]
    """
    return query @ key.transpose(-2, -1)


def scaled_dot(
    query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K D"]
) -> Float[Tensor, "*B Q K"]:
    """Compare by inner product, kept at unit variance whatever the width (Vaswani+ 2017, Eq. 1).

    The sum of D products of independent unit-variance numbers has variance D; left alone it would
    drive the softmax into its flat ends (§3.2.1, footnote 4).

    >>> scaled_dot(torch.ones(1, 4), torch.ones(1, 4)).tolist()
    [[2.0]]
    """
    # Scaled before the product rather than after, float16 overflows later.
    return dot(query / math.sqrt(query.shape[-1]), key)


def cosine(query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K D"]) -> Float[Tensor, "*B Q K"]:
    """Compare by direction alone, within [-1, 1] (Graves+ 2014, Eq. 6).

    The zero vector has no direction: its cosine with everything is 0, and its gradient is finite.

    >>> cosine(torch.tensor([[5.0, 0.0], [0.0, 0.0]]), torch.tensor([[2.0, 0.0]])).tolist()
    [[1.0], [0.0]]
    """
    return dot(_direction(query), _direction(key))


def _direction(vector: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
    """Shorten or stretch every vector to length 1, but leave the zero vector where it is."""
    # Squares need more range than float16 has: 256 overflows, 0.0001 vanishes.
    precise = torch.promote_types(vector.dtype, torch.float32)
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1, keepdim=True, dtype=precise)
    # Divided by 1, not by some epsilon, the zero vector has a gradient of ordinary size.
    direction = vector / length.masked_fill(length < SHORTEST, 1.0)
    return direction.to(vector.dtype)


class Bilinear(nn.Module):
    """Compare through a learned matrix (Luong+ 2015, §3.1, "general").

    `query^T W key`: the query is moved into the space of the keys, then compared by `dot`, so that
    their widths may differ.

    >>> Bilinear(query_size=3, key_size=5)(torch.ones(2, 3), torch.ones(4, 5)).shape
    torch.Size([2, 4])
    """

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, key_size, bias=False)

    def forward(
        self, query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K E"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score every query against every key."""
        return dot(self.query_projection(query), key)


class Additive(nn.Module):
    """Compare by a small network with one hidden layer (Bahdanau+ 2015, appendix A.1.2).

    `v^T tanh(W query + U key)`. Its memory is Q·K·H, where the products above need Q·K.

    While decoding, the keys stay and only the query moves. Project the keys once, then ask with
    `compare` in place of the module, as the paper advises:
    `attend(score.query_projection(state), projected_key, value, score=score.compare)`.

    >>> Additive(query_size=3, key_size=5, hidden_size=8)(torch.ones(2, 3), torch.ones(4, 5)).shape
    torch.Size([2, 4])
    """

    def __init__(self, query_size: int, key_size: int, hidden_size: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, hidden_size, bias=False)
        self.key_projection = nn.Linear(key_size, hidden_size, bias=False)
        self.energy = nn.Linear(hidden_size, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K E"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score every query against every key."""
        return self.compare(self.query_projection(query), self.key_projection(key))

    def compare(
        self, query: Float[Tensor, "*B Q H"], key: Float[Tensor, "*B K H"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score queries and keys that are projected already."""
        return _energy_of_sums(query, key, self.energy)


class Concat(nn.Module):
    """Compare by a small network over the two vectors end to end (Luong+ 2015, §3.1, "concat").

    `v^T tanh(W [s; h])`. With `W = [W_s, W_h]`, `W [s; h] = W_s s + W_h h`: this is `Additive` with
    both of its matrices in one, so the Q·K concatenations are never built. What differs is the
    initialisation, which here draws both halves for the joint width.

    >>> Concat(query_size=3, key_size=5, hidden_size=8)(torch.ones(2, 3), torch.ones(4, 5)).shape
    torch.Size([2, 4])
    """

    def __init__(self, query_size: int, key_size: int, hidden_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.projection = nn.Linear(query_size + key_size, hidden_size, bias=False)
        self.energy = nn.Linear(hidden_size, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "*B Q D"], key: Float[Tensor, "*B K E"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score every query against every key."""
        return self.compare(self.project_query(query), self.project_key(key))

    def project_query(self, query: Float[Tensor, "*B Q D"]) -> Float[Tensor, "*B Q H"]:
        """The query's part of the joint layer."""
        return F.linear(query, self.projection.weight[:, : self.query_size])

    def project_key(self, key: Float[Tensor, "*B K E"]) -> Float[Tensor, "*B K H"]:
        """The key's part of the joint layer, which a decoder computes but once."""
        return F.linear(key, self.projection.weight[:, self.query_size :])

    def compare(
        self, query: Float[Tensor, "*B Q H"], key: Float[Tensor, "*B K H"]
    ) -> Float[Tensor, "*B Q K"]:
        """Score queries and keys that are projected already."""
        return _energy_of_sums(query, key, self.energy)


def _energy_of_sums(
    query: Float[Tensor, "*B Q H"], key: Float[Tensor, "*B K H"], energy: nn.Linear
) -> Float[Tensor, "*B Q K"]:
    """Add every query to every key, and read one number off each sum."""
    hidden = torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))  # [*B, Q, K, H]
    logits: Tensor = energy(hidden).squeeze(-1)  # [*B, Q, K]
    return logits


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


class Attended(NamedTuple):
    """What came back, and from where: `mixed` is `weights @ value`, dropout included."""

    mixed: Float[Tensor, "*B Q V"]
    weights: Float[Tensor, "*B Q K"]


def attend(
    query: Float[Tensor, "*B Q D"],
    key: Float[Tensor, "*B K E"],  # E = D unless the score projects
    value: Float[Tensor, "*B K V"],
    *,
    score: Score = scaled_dot,
    bias: Float[Tensor, "*#B #Q #K"] | None = None,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    dropout: float = 0.0,
) -> Attended:
    """Mix values by how well their keys answer each query (Vaswani+ 2017, Eq. 1).

    Masked keys weigh exactly 0; a query with no key left receives zeros, not NaN.

    Args:
        query: Who asks.
        key: Who is asked.
        value: What comes back, one for each key.
        score: How well a key answers a query.
        bias: Added to the logits, such as what distance alone makes of a pair; None adds nothing.
        mask: True where a query may see a key; None lets everyone see everything.
        dropout: Probability that a weight is dropped; the others grow, and the expected sum stays.
            A module passes 0.0 outside training: this function knows no modes.

    >>> eye = torch.eye(2)
    >>> attend(eye, eye, eye, mask=torch.tensor([[True, False]])).weights.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    logits = score(query, key)  # [*B, Q, K]
    logits = logits if bias is None else logits + bias.to(logits.dtype)
    weights = masked_softmax(logits, mask)
    if dropout > 0.0:
        weights = F.dropout(weights, dropout)
    return Attended(weights @ value, weights)


def weighted_values(
    weights: Float[Tensor, "*B Q K"], value: Float[Tensor, "*B K V"]
) -> Float[Tensor, "*B Q K V"]:
    """Each value by its weight, not yet summed: over the keys they add up to `mixed`.

    For a layer that goes on over words, such as a tagger's, or to see what each key brought. It
    takes K times the memory of the sum.

    >>> answer = attend(torch.ones(1, 2), torch.eye(2), value := torch.tensor([[2.0], [4.0]]))
    >>> weighted_values(answer.weights, value).tolist()
    [[[1.0], [2.0]]]
    """
    return weights.unsqueeze(-1) * value.unsqueeze(-3)


def masked_softmax(
    logits: Float[Tensor, "*B Q K"], mask: Bool[Tensor, "*#B #Q #K"] | None = None
) -> Float[Tensor, "*B Q K"]:
    """Share each row's weight of 1 among the keys it may see.

    Masked keys weigh exactly 0. A row that may see nothing is all zeros, and so is its gradient.
    The value of a masked logit, even infinite or NaN, reaches neither of them.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, True], [False, False]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    if mask is None:
        return logits.softmax(dim=-1)
    # -inf would make a row that sees nothing NaN on the way, forward and backward; the fills would
    # hide that from the result, but anomaly detection stops there. The lowest finite number leaves
    # the row uniform, and the second fill clears it, gradient included. No step asks the data which
    # case it is: graphs can capture it.
    unseen = ~mask
    lowest = torch.finfo(logits.dtype).min
    weights = logits.masked_fill(unseen, lowest).softmax(dim=-1)
    return weights.masked_fill(unseen, 0.0)
