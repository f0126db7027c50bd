"""The hard query: one key answers, as in a dictionary where the nearest key will do.

A falling temperature sharpens soft attention until the best key takes all: as t falls to 0,
`attend(score=tempered(score, t))` tends to `hard_attend(score=score)`, wherever no two keys tie.
The limit is flat almost everywhere and teaches queries and keys nothing; `straight_through` answers
hard and learns soft.

Shapes: *B batch axes, Q queries, K keys; widths D of a query, E of a key, V of a value.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softquery.attention.attend import Attended, Score, masked_softmax, scaled_dot


def tempered(score: Score, temperature: float) -> Score:
    """Make a score sharper (temperature below 1) or softer (above 1).

    >>> eye = torch.eye(2)
    >>> tempered(scaled_dot, 0.5)(eye, eye).equal(2 * scaled_dot(eye, eye))
    True
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0 (at 0: hard_attend), got {temperature}")
    return lambda query, key: score(query, key) / temperature


def hard_attend(
    query: Float[Tensor, "*B Q D"],
    key: Float[Tensor, "*B K E"],
    value: Float[Tensor, "*B K V"],
    *,
    score: Score = scaled_dot,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
) -> Attended:
    """Return the value of the best key, the first of equals; gradients reach the values alone.

    Weights are 0 or 1. A query with no key left receives zeros.

    >>> key = torch.tensor([[1.0], [3.0], [2.0]])
    >>> hard_attend(torch.tensor([[1.0], [-1.0]]), key, key).mixed.tolist()
    [[3.0], [1.0]]
    """
    weights = hard_weights(score(query, key), mask)
    return Attended(weights @ value, weights)


def straight_through(
    query: Float[Tensor, "*B Q D"],
    key: Float[Tensor, "*B K E"],
    value: Float[Tensor, "*B K V"],
    *,
    score: Score = scaled_dot,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
) -> Attended:
    """Answer as `hard_attend`, learn as `attend` (Bengio+ 2013, "straight-through").

    The weights are hard in the forward pass and pass their gradient on as if they had been soft.

    >>> query = torch.ones(1, 1, requires_grad=True)
    >>> key = torch.tensor([[1.0], [2.0]])
    >>> mixed = straight_through(query, key, key).mixed
    >>> mixed.item(), bool(torch.autograd.grad(mixed.sum(), query)[0] > 0)
    (2.0, True)
    """
    logits = score(query, key)
    soft = masked_softmax(logits, mask)
    # In this order the added part is exactly zero; `soft + (hard - soft)` would round.
    weights = hard_weights(logits, mask) + (soft - soft.detach())
    return Attended(weights @ value, weights)


def hard_weights(
    logits: Float[Tensor, "*B Q K"], mask: Bool[Tensor, "*#B #Q #K"] | None = None
) -> Float[Tensor, "*B Q K"]:
    """Give each row's weight of 1 to the largest logit it may see, the first of equals.

    A row that may see nothing is all zeros. No gradient passes.

    >>> hard_weights(torch.tensor([[1.0, 1.0, 9.0]]), torch.tensor([[True, True, False]])).tolist()
    [[1.0, 0.0, 0.0]]
    """
    num_keys = logits.shape[-1]
    if num_keys == 0:  # nothing has no largest
        return torch.zeros_like(logits)
    if mask is not None:
        logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
    best = logits.argmax(dim=-1, keepdim=True)  # [*B, Q, 1]
    chosen = torch.arange(num_keys, device=logits.device) == best  # [*B, Q, K]
    return (chosen if mask is None else chosen & mask).to(logits.dtype)
