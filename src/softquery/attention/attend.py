"""The soft query: compare a query with every key, and return the values in proportion.

A dictionary answers where the query equals a key. Attention answers from everywhere at once, by as
much as each key resembles the query. Every model of this library asks its questions here, or of the
fused twin in `fused.py`.

Shapes: *B batch axes, Q queries, K keys; widths D of a query, E of a key, V of a value.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from softquery.attention.scores import Score, scaled_dot


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
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    dropout: float = 0.0,
) -> Attended:
    """Mix values by how well their keys answer each query (Vaswani+ 2017, Eq. 1).

    Masked keys weigh exactly 0; a query with no key left receives zeros, not NaN.

    Args:
        query: Who asks.
        key: Who is asked.
        value: What comes back, one for each key.
        score: How well a key answers a query; see `scores.py`.
        mask: True where a query may see a key; None lets everyone see everything.
        dropout: Probability that a weight is dropped; the others grow, and the expected sum stays.
            A module passes 0.0 outside training: this function knows no modes.

    >>> eye = torch.eye(2)
    >>> attend(eye, eye, eye, mask=torch.tensor([[True, False]])).weights.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    logits = score(query, key)  # [*B, Q, K]
    weights = masked_softmax(logits, mask)
    if dropout > 0.0:
        weights = F.dropout(weights, dropout)
    return Attended(weights @ value, weights)


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
