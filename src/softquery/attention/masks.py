"""Who may see whom: boolean masks, True where a query may attend to a key.

Masks combine by `&` and broadcast against logits [*B, Q, K]. A padding mask [B, K] says which
tokens are real; to hide keys it needs an axis for the queries: `mask[:, None]`.

Queries and keys are aligned at their ends: a decoder that keeps its past keys asks from the last
positions. Query i stands at position `i + key_length - query_length` of the keys.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(lengths: Int[Tensor, "*B"], max_length: int) -> Bool[Tensor, "*B {max_length}"]:
    """Tell real tokens from padding; True for the first `lengths` of `max_length` places.

    The longest length is asked for, not read from `lengths`, which would make a GPU wait.

    >>> padding_mask(torch.tensor([2, 0]), 3).tolist()
    [[True, True, False], [False, False, False]]
    """
    return torch.arange(max_length, device=lengths.device) < lengths.unsqueeze(-1)


def causal_mask(
    query_length: int, key_length: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "{query_length} {key_length}"]:
    """Let each position see itself and what came before (Vaswani+ 2017, §3.2.3).

    >>> causal_mask(3, 3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(1, 3).int().tolist()  # one new token, two remembered ones
    [[1, 1, 1]]
    """
    return _offsets(query_length, key_length, device) <= 0


def window_mask(
    query_length: int, key_length: int, radius: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "{query_length} {key_length}"]:
    """Let each position see at most `radius` steps to either side (Luong+ 2015, §3.2, "local-m").

    With `& causal_mask(...)`, the sliding window of a decoder: itself and `radius` tokens before.

    >>> window_mask(3, 3, radius=1).int().tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    if radius < 0:
        raise ValueError(f"radius must be at least 0, got {radius}")
    return _offsets(query_length, key_length, device).abs() <= radius


def both(
    first: Bool[Tensor, "..."] | None, second: Bool[Tensor, "..."] | None
) -> Bool[Tensor, "..."] | None:
    """Combine two masks, either of which may be missing and then forbids nothing.

    >>> both(causal_mask(2, 2), torch.tensor([[False, True]])).int().tolist()
    [[0, 0], [0, 1]]
    """
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _offsets(
    query_length: int, key_length: int, device: torch.device | str | None
) -> Int[Tensor, "{query_length} {key_length}"]:
    """How far each key lies ahead of each query; negative where it lies behind."""
    positions = torch.arange(query_length, device=device) + (key_length - query_length)
    return torch.arange(key_length, device=device) - positions.unsqueeze(-1)
