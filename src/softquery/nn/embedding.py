"""From ids to vectors."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softquery.nn.lexicon import Lexicon
from softquery.text import PAD_ID, UNK_ID


class WordEmbedding(nn.Module):
    """A table with one vector a word; row 0 is padding and stays zero.

    Any module that maps `ids [B, T]` to `[B, T, output_size]` can stand in its place.

    Args:
        vocab_size: Number of words, padding included.
        embedding_size: Width of a vector.
        word_dropout: Share of words that are read as `<unk>` in training, so that its vector is
            learnt too.
    """

    def __init__(self, vocab_size: int, embedding_size: int, *, word_dropout: float = 0.0) -> None:
        super().__init__()
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be positive, got {vocab_size}")
        if not 0 <= word_dropout < 1:
            raise ValueError(f"word_dropout must be in [0, 1), got {word_dropout}")
        self.output_size = embedding_size
        self.word_dropout = word_dropout
        self.table = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        nn.init.normal_(self.table.weight, std=0.1)
        self.table.weight.data[0].zero_()

    def forward(
        self, ids: Int[Tensor, "B T"], lexicon: Lexicon | None = None
    ) -> Float[Tensor, "B T D"]:
        """Look every id up; with a lexicon, ids are its rows."""
        words = ids if lexicon is None else lexicon.words[ids]
        if self.training and self.word_dropout:
            chosen = torch.rand(words.shape, device=words.device) < self.word_dropout
            words = words.masked_fill(chosen & (words != PAD_ID), UNK_ID)
        vectors: Tensor = self.table(words)
        return vectors
