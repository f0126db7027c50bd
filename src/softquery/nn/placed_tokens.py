"""What a token is, where it stands, and which of two texts it belongs to, in one vector.

*B batch axes, D width.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from softquery.nn.layer_norm import LayerNorm


class InputEmbedding(nn.Module):
    """The sum of three tables, normalised (Devlin et al. 2019, Section 3, Figure 2).

    Args:
        vocab_size: Rows of the table of tokens.
        max_length: Positions that are learned.
        num_segments: Texts that are told apart.
        size: Width.
        dropout: Of the normalised sum.
        eps: Of the normalisation.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        num_segments: int,
        size: int,
        *,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocab_size, size)
        self.positions = nn.Embedding(max_length, size)
        self.segments = nn.Embedding(num_segments, size)
        self.norm = LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        ids: Int[Tensor, "*B"],
        positions: Int[Tensor, "*#B"],
        segments: Int[Tensor, "*B"],
    ) -> Float[Tensor, "*B D"]:
        """Look all three up; positions may be the same for every row."""
        summed = self.words(ids) + self.positions(positions) + self.segments(segments)
        vectors: Tensor = self.dropout(self.norm(summed))
        return vectors
