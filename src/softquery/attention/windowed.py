"""Self-attention in a window: each token asks its neighbours, at a cost that grows with the length.

A mask alone saves nothing, because all pairs are compared before most are hidden. Here a text is
cut into chunks as long as the window's radius, and a chunk asks itself and the two beside it, so
that N tokens take N · 3R products in place of N² (Beltagy, Peters & Cohan 2020, "Longformer: The
Long-Document Transformer", Section 3.1). A few tokens at the beginning may be global: all ask them,
and they ask all (ibid., "global attention").

*B batch axes, N tokens, H heads, C chunks, R radius, G global tokens, D width of a head.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from softquery.attention.fused import fused_attend
from softquery.attention.masks import window_mask


@dataclass(frozen=True, slots=True)
class Window:
    """How far tokens see.

    Attributes:
        radius: How many tokens to either side; at least 1.
        num_global: How many tokens at the beginning see all and are seen by all.
    """

    radius: int
    num_global: int = 0

    def __post_init__(self) -> None:
        if self.radius < 1 or self.num_global < 0:
            raise ValueError(
                "radius must be at least 1 and num_global not negative, got "
                f"{self.radius} and {self.num_global}"
            )


def near_mask(
    length: int, window: Window, *, device: torch.device | str | None = None
) -> Bool[Tensor, "{length} {length}"]:
    """Who asks whom in `windowed_attend`: neighbours, and global tokens in both directions.

    >>> near_mask(4, Window(1, num_global=1)).int().tolist()
    [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1]]
    """
    near = window_mask(length, length, window.radius, device=device)
    is_global = torch.arange(length, device=device) < window.num_global
    return near | is_global | is_global.unsqueeze(1)


def windowed_attend(
    query: Float[Tensor, "*B N D"],
    key: Float[Tensor, "*B N D"],
    value: Float[Tensor, "*B N D"],
    window: Window,
    *,
    mask: Bool[Tensor, "*#B N"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*B N D"]:
    """Mix the values of near keys by scaled dot products: `fused_attend` under `near_mask`.

    Differs from paper: global tokens use the same projections as all others.

    Args:
        query: Who asks.
        key: Who is asked, in the same order.
        value: What comes back.
        window: Which keys a query sees.
        mask: The real tokens; None for all. A query that sees none of them receives zeros.
        dropout: Probability that a weight is dropped; 0.0 outside training.

    >>> words = torch.eye(8)
    >>> near = fused_attend(words, words, words, mask=near_mask(8, Window(1)))
    >>> torch.allclose(windowed_attend(words, words, words, Window(1)), near)
    True
    """
    length, num_global = query.shape[-2], window.num_global
    if length <= 3 * window.radius + num_global:  # chunks would be no smaller than the whole
        seen = near_mask(length, window, device=query.device)
        seen = seen if mask is None else seen & mask.unsqueeze(-2)
        return fused_attend(query, key, value, mask=seen, dropout=dropout)
    mixed = _by_chunks(query, key, value, window, mask, dropout)
    if not num_global:
        return mixed
    rows = None if mask is None else mask.unsqueeze(-2)
    first = fused_attend(query[..., :num_global, :], key, value, mask=rows, dropout=dropout)
    return torch.cat([first, mixed[..., num_global:, :]], dim=-2)


def _by_chunks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    window: Window,
    mask: Tensor | None,
    dropout: float,
) -> Tensor:
    """Each chunk of R queries asks G global keys and 3R keys around it."""
    radius, num_global = window.radius, window.num_global
    length, device = query.shape[-2], query.device
    filling = -length % radius
    filled = F.pad(query, (0, 0, 0, filling))
    chunks = filled.reshape(*query.shape[:-2], -1, radius, query.shape[-1])  # [*B, C, R, D]
    num_chunks = chunks.shape[-3]
    keys, values = (
        torch.cat(
            [
                each[..., None, :num_global, :].expand(*chunks.shape[:-2], num_global, -1),
                _around(each, radius, filling),
            ],
            dim=-2,
        )
        for each in (key, value)
    )  # [*B, C, G + 3R, D]
    places = torch.arange(num_chunks * radius, device=device).view(num_chunks, radius)
    beside = places[:, :1] - radius + torch.arange(3 * radius, device=device)  # [C, 3R]
    is_near = (places.unsqueeze(2) - beside.unsqueeze(1)).abs() <= radius
    is_near &= ((beside >= num_global) & (beside < length)).unsqueeze(1)
    seen = F.pad(is_near, (num_global, 0), value=True)  # [C, R, G + 3R]
    if mask is not None:
        real = torch.cat(
            [
                mask[..., None, :num_global].expand(*mask.shape[:-1], num_chunks, num_global),
                _around(mask.unsqueeze(-1), radius, filling).squeeze(-1),
            ],
            dim=-1,
        )
        seen = seen & real.unsqueeze(-2)
    # The kernels are made for four axes: all before the chunks become one.
    if seen.ndim > 3:
        seen = seen.expand(*chunks.shape[:-1], seen.shape[-1]).reshape(-1, *seen.shape[-3:])
    rows = (each.reshape(-1, *each.shape[-3:]) for each in (chunks, keys, values))
    mixed = fused_attend(*rows, mask=seen, dropout=dropout)
    return mixed.reshape(*query.shape[:-2], -1, query.shape[-1])[..., :length, :]


def _around(
    rows: Shaped[Tensor, "*B N D"], radius: int, filling: int
) -> Shaped[Tensor, "*B C W D"]:
    """For each chunk its own R rows, those before and those behind it: W = 3R."""
    filled = F.pad(rows, (0, 0, radius, radius + filling))
    return filled.unfold(-2, 3 * radius, radius).transpose(-1, -2)
