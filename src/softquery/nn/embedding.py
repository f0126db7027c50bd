"""From ids to vectors."""

from jaxtyping import Float, Int
from torch import Tensor, nn


class WordEmbedding(nn.Module):
    """A table with one vector a word; row 0 is padding and stays zero.

    Any module that maps `ids [B, T]` to `[B, T, output_size]` can stand in its place.

    Args:
        vocab_size: Number of words, padding included.
        embedding_size: Width of a vector.
    """

    def __init__(self, vocab_size: int, embedding_size: int) -> None:
        super().__init__()
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be positive, got {vocab_size}")
        self.output_size = embedding_size
        self.table = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        nn.init.normal_(self.table.weight, std=0.1)
        self.table.weight.data[0].zero_()

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Look every id up."""
        vectors: Tensor = self.table(ids)
        return vectors
