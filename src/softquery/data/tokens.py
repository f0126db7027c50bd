"""Token ids of many sentences: kept without padding, padded for a batch, or packed end to end.

B sentences of a batch, T padded length, N sentences in all; of a packed batch, N tokens of S
sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from softquery.attention import Packing


class Tokens(NamedTuple):
    """A batch of sentences: ids, and where they are real (True) rather than padding."""

    ids: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def pad_to(self, length: int) -> "Tokens":
        """The same sentences with padding up to `length`."""
        more = length - self.ids.shape[1]
        if more < 0:
            raise ValueError(f"cannot pad {self.ids.shape[1]} tokens to {length}")
        return Tokens(F.pad(self.ids, (0, more)), F.pad(self.mask, (0, more)))

    def beside(self, other: "Tokens") -> "Tokens":
        """Both batches as one of twice as many rows, padded to the longer of the two."""
        length = max(self.ids.shape[1], other.ids.shape[1])
        own, others = self.pad_to(length), other.pad_to(length)
        return Tokens(torch.cat([own.ids, others.ids]), torch.cat([own.mask, others.mask]))


@dataclass(frozen=True, slots=True)
class Sentences:
    """N sentences end to end in one tensor, with their starts and lengths.

    The tensors may live on a GPU: a hundred thousand pairs take ten megabytes there, and padding a
    batch then costs no transfer.
    """

    ids: Int[Tensor, " all"]
    starts: Int[Tensor, " N"]
    lengths: Int[Tensor, " N"]

    @classmethod
    def pack(cls, sentences: Sequence[Sequence[int]]) -> "Sentences":
        """Lay lists of ids end to end.

        >>> Sentences.pack([[7, 8], [9]]).pad(torch.tensor([1, 0]), 2).ids.tolist()
        [[9, 0], [7, 8]]
        """
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
        flat = [token for sentence in sentences for token in sentence]
        ids = torch.tensor([*flat, 0], dtype=torch.int32)  # the last one keeps the tensor non-empty
        return cls(ids, lengths.cumsum(0) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device | str) -> "Sentences":
        """The same sentences on another device."""
        return Sentences(self.ids.to(device), self.starts.to(device), self.lengths.to(device))

    def pad(self, rows: Int[Tensor, " B"], length: int) -> Tokens:
        """The chosen sentences side by side, padded with zeros to `length`."""
        position = torch.arange(length, device=rows.device)
        mask = position < self.lengths[rows].unsqueeze(1)  # [B, T]
        place = (self.starts[rows].unsqueeze(1) + position).clamp(max=len(self.ids) - 1)
        ids = self.ids[place].to(torch.int64)
        return Tokens(ids.masked_fill(~mask, 0), mask)


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
