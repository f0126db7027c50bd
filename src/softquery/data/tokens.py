"""Token ids of many sentences, kept without padding until a batch asks for them.

B sentences of a batch, T padded length, N sentences in all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F


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
