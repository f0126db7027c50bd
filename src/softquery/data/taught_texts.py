"""Texts, and the vectors that a teacher gives them.

N texts in all, B of a batch, T padded length, E width of a vector.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from softquery.data.tokens import Sentences, Tokens


class TaughtBatch(NamedTuple):
    """B texts, and the vector of length one that each should have."""

    tokens: Tokens
    vectors: Float[Tensor, "B E"] | None
    num_sides: int = 1
    """Blocks of equal size in which the texts come: with two or more, texts of the second block
    mean the same as those of the first, and those of further blocks do not."""

    @property
    def size(self) -> int:
        """Number of texts."""
        return len(self.tokens.ids)


@dataclass(frozen=True, slots=True)
class TaughtTexts:
    """A whole set of texts with a teacher's vectors, ready to be cut into batches.

    Vectors may be of half precision, and may lie in a file that is mapped into memory; those of a
    batch become float32.
    """

    sentences: Sentences
    vectors: Float[Tensor, "N E"] | None = None
    num_cut: int = 0
    """Texts that were longer than the pipeline's limit."""

    def __len__(self) -> int:
        return len(self.sentences)

    def lengths(self) -> Int[Tensor, " N"]:
        """Tokens of each text."""
        return self.sentences.lengths

    def to(self, device: torch.device | str) -> "TaughtTexts":
        """The same texts on another device."""
        vectors = None if self.vectors is None else self.vectors.to(device)
        return replace(self, sentences=self.sentences.to(device), vectors=vectors)

    def batch(self, rows: Int[Tensor, "B *S"], length: int) -> TaughtBatch:
        """The chosen texts, padded to `length`; where rows name several texts each, in blocks.

        >>> texts = TaughtTexts(Sentences.pack([[4, 5], [6]]), torch.eye(2).half())
        >>> texts.batch(torch.tensor([1]), 2).vectors.tolist()
        [[0.0, 1.0]]
        >>> texts.batch(torch.tensor([[0, 1]]), 2).num_sides
        2
        """
        blocks = rows.view(len(rows), -1).T
        num_sides, chosen = len(blocks), blocks.flatten()
        vectors = None if self.vectors is None else self.vectors[chosen].float()
        return TaughtBatch(self.sentences.pad(chosen, length), vectors, num_sides)
