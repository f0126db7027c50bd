"""Texts that are near a pair in the teacher's eyes, and yet mean something else.

P pairs, K negatives of each, N texts, E width of a vector.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softquery.recipes.students import StudentPairs

PART = 256
"""Pairs that are compared with all candidates at a time."""
CANDIDATES = 50_000
"""The most texts among which negatives are looked for: evenly spaced second sides."""
IMPOSSIBLE = -2.0
"""Below every cosine."""


@torch.inference_mode()
def mine_negatives(
    pairs: Int[Tensor, "P 2"], vectors: Float[Tensor, "N E"] | None, settings: StudentPairs
) -> Int[Tensor, "P S"]:
    """Each pair with the texts that are nearest to its first one, and clearly less so than its own.

    Candidates are the second texts of other pairs. One whose cosine comes within the margin of the
    pair's own may mean the same, and is passed over (as in Moreira et al. 2024, Section 3), unless
    it is below the floor.

    Args:
        pairs: Rows of texts that mean the same.
        vectors: The teacher's vectors of length one, by which nearness is judged.
        settings: How many negatives, the margin and the floor.

    >>> vectors = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    >>> mine_negatives(torch.tensor([[0, 1], [3, 2]]), vectors, StudentPairs()).tolist()
    [[0, 1, 2], [3, 2, 1]]
    """
    if vectors is None:
        raise ValueError("mining needs the teacher's vectors")
    if settings.num_negatives == 0:
        return pairs
    others = torch.unique(pairs[:, 1])
    others = others[:: max(1, -(-len(others) // CANDIDATES))]
    candidates = vectors[others].float()
    count = min(settings.num_negatives, len(others))
    parts = []
    for some in torch.split(pairs, PART):
        first, second = vectors[some[:, 0]].float(), vectors[some[:, 1]].float()
        own = (first * second).sum(dim=-1, keepdim=True)
        cosines = first @ candidates.T  # [P, C]
        cosines[cosines > (own - settings.margin).clamp(min=settings.floor)] = IMPOSSIBLE
        for side in some.T:
            cosines[others == side[:, None]] = IMPOSSIBLE
        parts.append(torch.cat([some, others[cosines.topk(count, dim=-1).indices]], dim=-1))
    return torch.cat(parts)
