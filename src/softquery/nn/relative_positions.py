"""What distance alone makes of a pair of tokens: a learned number per head, added to the logits.

T tokens, H heads.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class RelativePositionBias(nn.Module):
    """One number per head and bucket of distances (Raffel et al. 2020, Section 2.1).

    Half of the buckets are for keys behind the query, half for keys ahead of it. Of each half, the
    first are for one distance each; the others grow with the logarithm of the distance, up to
    `max_distance`, beyond which all share the last.

    Args:
        num_buckets: A multiple of 4.
        num_heads: H.
        max_distance: Where the last bucket begins, or a little before.
    """

    def __init__(self, num_buckets: int, num_heads: int, *, max_distance: int = 128) -> None:
        super().__init__()
        if num_buckets < 4 or num_buckets % 4:
            raise ValueError(f"num_buckets must be a multiple of 4, got {num_buckets}")
        if max_distance <= num_buckets // 4:
            raise ValueError(
                f"max_distance must be above {num_buckets // 4}, a quarter of num_buckets, "
                f"got {max_distance}"
            )
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.table = nn.Embedding(num_buckets, num_heads)

    def forward(self, length: int) -> Float[Tensor, "1 H T T"]:
        """The bias of every query and key of `length` tokens."""
        places = torch.arange(length, device=self.table.weight.device)
        ahead = places.unsqueeze(0) - places.unsqueeze(1)
        buckets = distance_buckets(ahead, self.num_buckets, self.max_distance)
        bias: Tensor = self.table(buckets)  # [T, T, H]
        return bias.permute(2, 0, 1).unsqueeze(0)


def distance_buckets(
    ahead: Int[Tensor, "*T"], num_buckets: int, max_distance: int
) -> Int[Tensor, "*T"]:
    """The bucket of a key that lies this far ahead of its query; negative is behind it.

    >>> distance_buckets(torch.tensor([0, -1, -7, -8, -16, -500, 1, 500]), 32, 128).tolist()
    [0, 1, 7, 8, 10, 15, 17, 31]
    """
    half = num_buckets // 2
    exact = half // 2
    distance = ahead.abs()
    # In float32 and in this order, because a published model was trained with its rounding.
    logarithm = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = exact + (logarithm * (half - exact)).long()
    bucket = torch.where(distance < exact, distance, far.clamp(max=half - 1))
    return bucket + (ahead > 0) * half
