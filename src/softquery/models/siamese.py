"""Siamese matching.  Query: a sentence.  Key: another sentence.  Score: cosine, or a network.

Both sentences pass through one encoder and meet only as vectors (Bromley et al., 1993; for
sentences Mueller & Thyagarajan, 2016, and Conneau et al., 2017, Section 3), so that a sentence's
vector can be stored and searched.

B pairs, T tokens, D width of a sentence vector, C outputs.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.data import PairBatch, Tokens
from softquery.models.config_checks import check_dropout, check_positive
from softquery.models.pair_output import PairOutput
from softquery.nn import (
    BiRecurrent,
    Cell,
    Embedded,
    LearnedQuery,
    Lexicon,
    PooledStates,
    TokenEmbedder,
    VariationalDropout,
    WordEmbedding,
    max_pool,
    mean_pool,
)

Pooling = Literal["mean", "max", "attentive"]
Head = Literal["cosine", "features"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SiameseConfig:
    """Sizes of a Siamese matcher."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 2
    """Number of classes, or 1 for a graded score."""
    embedding_size: int = 300
    hidden_size: int = 300
    """Width of one LSTM direction."""
    cell: Cell = "lstm"
    dropout: float = 0.2
    pooling: Pooling = "max"
    head: Head = "features"
    """`"features"` reads [u; v; |u − v|; u ⊙ v]; `"cosine"` the angle alone, for retrieval."""

    def __post_init__(self) -> None:
        if self.pooling not in ("mean", "max", "attentive"):
            raise ValueError(f"pooling must be mean, max or attentive, got {self.pooling!r}")
        if self.head not in ("cosine", "features"):
            raise ValueError(f"head must be cosine or features, got {self.head!r}")
        check_positive(self, "output_size", "embedding_size", "hidden_size")
        check_dropout(self, "dropout")
        if self.head == "cosine" and self.output_size > 2:
            raise ValueError(
                f"a cosine orders pairs on one scale and cannot tell {self.output_size} classes "
                "apart; use head='features'"
            )


class Siamese(nn.Module):
    """One encoder for both sentences, and a head that compares the two vectors.

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. It must have
            none to lay beside the encoder's states.
    """

    def __init__(self, config: SiameseConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(config.vocab_size, config.embedding_size)
        if embedder.added_size:
            raise ValueError("ELMo has a place at the input alone; nothing reads it at the output")
        self.embedder = embedder
        self.dropout = VariationalDropout(config.dropout)
        self.encoder = BiRecurrent(embedder.output_size, config.hidden_size, cell=config.cell)
        width = self.encoder.output_size
        self.attentive = (
            LearnedQuery(width, config.hidden_size) if config.pooling == "attentive" else None
        )
        self.head = (
            CosineHead(config.output_size)
            if config.head == "cosine"
            else FeatureHead(width, config.hidden_size, config.output_size, config.dropout)
        )

    def forward(self, batch: PairBatch) -> PairOutput:
        """Encode both sides in one go and compare them."""
        vectors = self.encode(batch.first.beside(batch.second), batch.lexicon)
        return self.compare(vectors[: batch.size], vectors[batch.size :])

    def encode(self, tokens: Tokens, lexicon: Lexicon | None = None) -> Float[Tensor, "B D"]:
        """One vector per sentence; with a lexicon, ids are its rows."""
        embedded = Embedded.of(self.embedder(tokens.ids, lexicon))
        states = self.encoder(self.dropout(embedded.at_input), tokens.mask)
        if self.attentive is not None:
            pooled: PooledStates = self.attentive(states, tokens.mask)
            return pooled.mixed
        pool = mean_pool if self.config.pooling == "mean" else max_pool
        return pool(states, tokens.mask)

    def compare(self, first: Float[Tensor, "B D"], second: Float[Tensor, "B D"]) -> PairOutput:
        """Logits from two vectors."""
        return PairOutput(self.head(first, second), first_vector=first, second_vector=second)


class CosineHead(nn.Module):
    """A learned scale and offset on the cosine: one graded logit, or two classes.

    Args:
        output_size: 1 or 2.
    """

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.scale = nn.Parameter(torch.tensor(5.0))
        self.offset = nn.Parameter(torch.tensor(-2.5))

    def forward(
        self, first: Float[Tensor, "B D"], second: Float[Tensor, "B D"]
    ) -> Float[Tensor, "B C"]:
        """The logit of "same", against a constant 0 where there are two classes."""
        same = self.scale * F.cosine_similarity(first, second, dim=-1) + self.offset
        columns = [same] if self.output_size == 1 else [torch.zeros_like(same), same]
        return torch.stack(columns, dim=-1)


class FeatureHead(nn.Module):
    """[u; v; |u − v|; u ⊙ v] through one hidden layer (Conneau et al. 2017, Section 3.1).

    Args:
        size: Width of u and v.
        hidden_size: Width of the hidden layer.
        output_size: Logits.
        dropout: Applied before both layers.
    """

    def __init__(self, size: int, hidden_size: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(4 * size, hidden_size),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, output_size),
        )

    def forward(
        self, first: Float[Tensor, "B D"], second: Float[Tensor, "B D"]
    ) -> Float[Tensor, "B C"]:
        """Logits from the four views of two vectors."""
        views = torch.cat([first, second, (first - second).abs(), first * second], dim=-1)
        logits: Tensor = self.layers(views)
        return logits
