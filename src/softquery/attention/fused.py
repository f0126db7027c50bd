"""The soft query in one kernel: what comes back, without the weights.

The twin of `attend(score=scaled_dot)` for when nobody looks at the weights: torch's fused kernels
never write them to memory. Only this file and `packed.py` call them. They have laws of their own
(the causal flag aligns queries and keys at their starts; a row without keys is left undefined), and
callers should meet only ours.

Shapes: *B batch axes, Q queries, K keys; widths D of a query and a key, V of a value.
"""

import math

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from softquery.attention.masks import both, causal_mask


def fused_attend(
    query: Float[Tensor, "*B Q D"],
    key: Float[Tensor, "*B K D"],
    value: Float[Tensor, "*B K V"],
    *,
    bias: Float[Tensor, "*#B #Q #K"] | None = None,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "*B Q V"]:
    """Mix values by scaled dot products with their keys (Vaswani+ 2017, Eq. 1).

    Masked keys weigh exactly 0; a query with no key left receives zeros and has zero gradient.

    Args:
        query: Who asks.
        key: Who is asked.
        value: What comes back, one for each key.
        bias: Added to the scaled products; None adds nothing.
        mask: True where a query may see a key; None lets everyone see everything.
        causal: Hide the future too, as `mask & causal_mask(Q, K)` would. Without mask and bias, a
            whole sequence (Q = K) or its last position (Q = 1) then needs no mask at all, and the
            fastest kernels serve it.
        dropout: Probability that a weight is dropped; 0.0 outside training.

    >>> import torch
    >>> eye = torch.eye(2)
    >>> fused_attend(eye, eye, eye, mask=torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    query_length, key_length = query.shape[-2], key.shape[-2]
    # The kernels know the whole triangle by themselves, and a single query stands last: no future.
    needs_mask = not (mask is None and bias is None) or query_length not in (1, key_length)
    if causal and needs_mask:
        mask = both(mask, causal_mask(query_length, key_length, device=query.device))
    bias = None if bias is None else bias.to(query.dtype)
    if mask is None and bias is not None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
    if mask is None:
        whole = query_length == key_length
        return F.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout, is_causal=causal and whole
        )
    # What a query that may see nothing gets is each kernel's own affair, and undocumented. Show it
    # everything, then discard the answer: the law holds whichever kernel is chosen.
    blind = ~mask.any(dim=-1, keepdim=True)  # [*#B, #Q, 1]
    seen = mask | blind
    mixed = F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=seen if bias is None else bias.masked_fill(~seen, -math.inf),
        dropout_p=dropout,
    )
    return mixed.masked_fill(blind, 0.0)
