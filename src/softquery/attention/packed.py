"""Sequences of any lengths end to end in one long row: attention in which no padding takes part.

On a GPU in half precision, one kernel serves all sequences (Dao 2023, FlashAttention-2). Elsewhere
the sequences are padded and stacked for the computation. Both give the same.

N tokens in all, S sequences, T tokens of the longest one, H heads, D width of a head.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softquery.attention.fused import fused_attend
from softquery.attention.masks import padding_mask
from softquery.attention.windowed import Window, windowed_attend

HALF = (torch.float16, torch.bfloat16)
LARGEST_HEAD, HEAD_MULTIPLE = 256, 8
"""Widths of a head that the kernel takes."""


class Packing(NamedTuple):
    """Where each sequence begins, and behind them where the last one ends.

    Every token belongs to a sequence, fillings included: the kernel leaves the others undefined. A
    sequence may be empty.
    """

    starts: Int[Tensor, " ends"]
    longest: int
    """No sequence is longer; asked for, because reading it off would make a GPU wait."""

    @classmethod
    def of(cls, lengths: Sequence[int], *, device: torch.device | str | None = None) -> "Packing":
        """Sequences of these lengths.

        >>> Packing.of([2, 0, 3]).starts.tolist()
        [0, 2, 2, 5]
        """
        starts = torch.tensor([0, *lengths]).cumsum(0)
        return cls(starts.to(device, torch.int32), max(lengths, default=0))

    def lengths(self) -> Int[Tensor, " S"]:
        """Tokens of each sequence."""
        return self.starts.diff()

    def rows(self, num_tokens: int) -> Int[Tensor, " {num_tokens}"]:
        """The number of the sequence that each token belongs to.

        >>> Packing.of([2, 0, 3]).rows(5).tolist()
        [0, 0, 2, 2, 2]
        """
        places = torch.arange(num_tokens, device=self.starts.device, dtype=self.starts.dtype)
        return torch.searchsorted(self.starts[1:], places, right=True)

    def positions(self, num_tokens: int) -> Int[Tensor, " {num_tokens}"]:
        """Where in its sequence each token stands.

        >>> Packing.of([2, 0, 3]).positions(5).tolist()
        [0, 1, 0, 1, 2]
        """
        places = torch.arange(num_tokens, device=self.starts.device)
        return places - self.starts[self.rows(num_tokens)]

    def without_empty(self) -> "Packing":
        """The same without sequences of no token; a GPU waits for it."""
        lengths = self.lengths()
        starts = torch.cat([self.starts[:1], self.starts[1:][lengths > 0]])
        return Packing(starts, int(lengths.max()) if len(lengths) else 0)


def packed_attend(
    query: Float[Tensor, "N H D"],
    key: Float[Tensor, "N H D"],
    value: Float[Tensor, "N H D"],
    packing: Packing,
    *,
    causal: bool = False,
    window: Window | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "N H D"]:
    """Mix values by scaled dot products with the keys of the same sequence.

    Args:
        query: Who asks.
        key: Who is asked, in the same order.
        value: What comes back.
        packing: Where the sequences lie.
        causal: Hide what comes later in the sequence, too.
        window: Hide what stands further off; sequences are then padded everywhere. Not with
            `causal`.
        dropout: Probability that a weight is dropped; 0.0 outside training.

    >>> words = torch.eye(3).unsqueeze(1)
    >>> packed_attend(words, words, words, Packing.of([1, 2]))[0].tolist()
    [[1.0, 0.0, 0.0]]
    """
    if window is None and _has_kernel(query):
        # torch's own attention over nested tensors makes the same call; its public door to it,
        # `varlen_attn`, knows no dropout, and names `causal` differently from version to version.
        starts, longest = packing
        mixed: Tensor = torch.ops.aten._flash_attention_forward(
            query, key, value, starts, starts, longest, longest, dropout, causal, False
        )[0]
        return mixed
    return _side_by_side(query, key, value, packing, causal=causal, window=window, dropout=dropout)


def _has_kernel(query: Tensor) -> bool:
    width = query.shape[-1]
    fits = width % HEAD_MULTIPLE == 0 and width <= LARGEST_HEAD
    return query.is_cuda and query.dtype in HALF and fits


def _side_by_side(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    *,
    causal: bool,
    window: Window | None,
    dropout: float,
) -> Tensor:
    """The same with padding."""
    if not (query.is_cuda and torch.cuda.is_current_stream_capturing()):
        packing = packing.without_empty()
    num_tokens, num_rows, longest = len(query), len(packing.starts) - 1, packing.longest
    place = packing.rows(num_tokens) * longest + packing.positions(num_tokens)  # [N]

    def padded(values: Tensor) -> Tensor:
        room = values.new_zeros(num_rows * longest, *values.shape[1:])
        laid = room.index_copy(0, place, values)
        return laid.view(num_rows, longest, *values.shape[1:]).transpose(1, 2)  # [S, H, T, D]

    mask = padding_mask(packing.lengths(), longest).unsqueeze(1)
    rows = padded(query), padded(key), padded(value)
    if window is None:
        mixed = fused_attend(*rows, mask=mask.unsqueeze(1), causal=causal, dropout=dropout)
    else:
        mixed = windowed_attend(*rows, window, mask=mask, dropout=dropout)
    return mixed.transpose(1, 2).flatten(end_dim=1)[place]
