"""MPNet (Song et al., 2020).  Query, key, value: every token.  Score: scaled dot, and distance.

Song, Tan, Qin, Lu, Liu: "MPNet: Masked and Permuted Pre-training for Language Understanding",
NeurIPS 2020. What is left of it after pretraining is an encoder as BERT's, without segments, whose
attention also knows how far two tokens stand apart: a learned number per head and distance, shared
by all layers, is added to the logits.

B sentences, T tokens, D width.
"""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softquery.attention import MultiHead
from softquery.data import Tokens
from softquery.models.config_checks import check_choices, check_dropout, check_heads, check_positive
from softquery.nn import (
    BlockActivation,
    EncoderBlock,
    FeedForward,
    InputEmbedding,
    RelativePositionBias,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MpnetConfig:
    """Sizes of an MPNet; the defaults are the published base model's."""

    vocab_size: int = 0
    """Pieces, reserved ones included; 0 until the data is known."""
    hidden_size: int = 768
    num_layers: int = 12
    num_heads: int = 12
    inner_size: int = 3072
    """Width inside the feed-forward network."""
    max_length: int = 512
    """Tokens of the longest text; the table of positions has a few rows more."""
    num_buckets: int = 32
    """Groups of distances, each with a number per head."""
    max_distance: int = 128
    """Beyond it all distances are one group."""
    padding_id: int = 1
    """Positions are counted from the number behind it, and a token of this id has none."""
    activation: BlockActivation = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        check_choices(self, {"activation": BlockActivation})
        check_positive(
            self,
            "hidden_size",
            "num_layers",
            "num_heads",
            "inner_size",
            "max_length",
            "num_buckets",
            "max_distance",
        )
        check_heads(self.hidden_size, self.num_heads)
        check_dropout(self, "dropout", "attention_dropout")
        if self.padding_id < 0:
            raise ValueError(f"padding_id must not be negative, got {self.padding_id}")

    @property
    def num_positions(self) -> int:
        """Rows of the table of positions."""
        return self.max_length + self.padding_id + 1


class MpnetOutput(NamedTuple):
    """The states of every token in the highest layer."""

    states: Float[Tensor, "B T D"]
    mask: Bool[Tensor, "B T"]


class Mpnet(nn.Module):
    """Token and position embeddings, then blocks of self-attention with a bias by distance.

    Args:
        config: The sizes.
    """

    def __init__(self, config: MpnetConfig) -> None:
        super().__init__()
        self.config, self.output_size = config, config.hidden_size
        self.embedding = InputEmbedding(
            config.vocab_size,
            config.num_positions,
            0,
            config.hidden_size,
            dropout=config.dropout,
            eps=config.norm_eps,
        )
        self.distances = RelativePositionBias(
            config.num_buckets, config.num_heads, max_distance=config.max_distance
        )
        self.blocks = nn.ModuleList(self._block() for _ in range(config.num_layers))

    def encode(self, tokens: Tokens) -> MpnetOutput:
        """The highest states of padded sentences; each depends on its own tokens alone."""
        ids, mask = tokens
        length, known = ids.shape[1], self.config.max_length
        if length > known:
            raise ValueError(f"{known} positions were learned, but {length} are asked for")
        states: Tensor = self.embedding(ids, positions_behind(ids, self.config.padding_id))
        bias = self.distances(length)
        for block in self.blocks:
            states, _ = block(states, mask, bias=bias)
        return MpnetOutput(states, mask)

    def _block(self) -> EncoderBlock:
        config = self.config
        return EncoderBlock(
            MultiHead(config.hidden_size, config.num_heads, dropout=config.attention_dropout),
            FeedForward(config.hidden_size, config.inner_size, activation=config.activation),
            dropout=config.dropout,
            eps=config.norm_eps,
        )


def positions_behind(ids: Int[Tensor, "B T"], padding_id: int) -> Int[Tensor, "B T"]:
    """Positions that count from behind the id of padding, which itself stands nowhere.

    A text may hold the padding token: it is then not counted, as in the published code.

    >>> import torch
    >>> positions_behind(torch.tensor([[0, 7, 1, 2]]), padding_id=1).tolist()
    [[2, 3, 1, 4]]
    """
    counted = (ids != padding_id).long()
    return counted.cumsum(dim=1) * counted + padding_id
