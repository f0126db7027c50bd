"""Tokens of sequences end to end, as encoders read them that need no padding.

N tokens of S sequences.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from softquery.attention import Packing


class PackedTokens(NamedTuple):
    """Ids with what an encoder must know of each token, and where the sequences lie."""

    ids: Int[Tensor, " N"]
    positions: Int[Tensor, " N"]
    """Place within the sequence."""
    segments: Int[Tensor, " N"]
    """0 for the first text of a sequence, 1 for the second."""
    packing: Packing

    @classmethod
    def of(
        cls, sequences: Sequence[Sequence[int]], segments: Sequence[Sequence[int]] | None = None
    ) -> "PackedTokens":
        """Lay sequences end to end.

        >>> PackedTokens.of([[7, 8], [9]]).positions.tolist()
        [0, 1, 0]
        """
        ids = torch.tensor(list(chain.from_iterable(sequences)), dtype=torch.int64)
        parts = torch.zeros_like(ids)
        if segments is not None:
            parts = torch.tensor(list(chain.from_iterable(segments)), dtype=torch.int64)
        packing = Packing.of([len(sequence) for sequence in sequences])
        return cls(ids, packing.positions(len(ids)), parts, packing)
