"""A pretrained encoder whose token states are pooled into one vector per sentence.

Reimers, Gurevych: "Sentence-BERT", EMNLP 2019, Section 3. The encoder is that of `bert.py` or of
`mpnet.py`; what a folder of sentence-transformers names behind it are the pools, a linear layer
where there is one, and whether vectors are brought to length one.

B sentences, T tokens, D width of a state, E width of a vector.
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.data import TaughtBatch, Tokens
from softquery.models.bert import Bert, BertConfig
from softquery.models.config_checks import check_choices
from softquery.models.mpnet import Mpnet, MpnetConfig
from softquery.models.outputs import SentenceOutput
from softquery.nn import TokenPool, check_pools, pool_tokens

Dense = Literal["none", "identity", "tanh"]
"""The layer behind the pools: none at all, a linear one, or one with an activation."""
VectorLength = Literal["one", "free"]
"""Whether vectors are brought to length one, or left as they are."""


def _bare_bert() -> BertConfig:
    """The paper's base model without heads and without the pooler."""
    return BertConfig(heads="none", pooler=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class BertSentenceEncoderConfig:
    """A BERT, and how its states become a vector."""

    encoder: BertConfig = field(default_factory=_bare_bert)
    output_size: int = 768
    """Width of a sentence's vector."""
    pools: tuple[TokenPool, ...] = ("mean",)
    """Laid side by side."""
    dense: Dense = "none"
    length: VectorLength = "one"

    def __post_init__(self) -> None:
        if self.encoder.heads != "none" or self.encoder.pooler:
            raise ValueError("encoder.heads must be none and encoder.pooler false under pools")
        _check(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class MpnetSentenceEncoderConfig:
    """An MPNet, and how its states become a vector."""

    encoder: MpnetConfig = field(default_factory=MpnetConfig)
    output_size: int = 768
    """Width of a sentence's vector."""
    pools: tuple[TokenPool, ...] = ("mean",)
    """Laid side by side."""
    dense: Dense = "none"
    length: VectorLength = "one"

    def __post_init__(self) -> None:
        _check(self)


class BertSentenceEncoder(nn.Module):
    """Reads a sentence into one vector by a BERT.

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertSentenceEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Bert(config.encoder)
        self.output = _dense(config)

    def forward(self, batch: TaughtBatch) -> SentenceOutput:
        """The vectors of a batch."""
        return self.encode(batch.tokens)

    def encode(self, tokens: Tokens) -> SentenceOutput:
        """Vectors of sentences; one without tokens pools to zeros."""
        return SentenceOutput(_vectors(self, self.encoder.encode(tokens).states, tokens))


class MpnetSentenceEncoder(nn.Module):
    """Reads a sentence into one vector by an MPNet.

    Args:
        config: The sizes.
    """

    def __init__(self, config: MpnetSentenceEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Mpnet(config.encoder)
        self.output = _dense(config)

    def forward(self, batch: TaughtBatch) -> SentenceOutput:
        """The vectors of a batch."""
        return self.encode(batch.tokens)

    def encode(self, tokens: Tokens) -> SentenceOutput:
        """Vectors of sentences; one without tokens pools to zeros."""
        return SentenceOutput(_vectors(self, self.encoder.encode(tokens).states, tokens))


def _check(config: BertSentenceEncoderConfig | MpnetSentenceEncoderConfig) -> None:
    check_choices(config, {"dense": Dense, "length": VectorLength})
    check_pools(config.pools)
    pooled = config.encoder.hidden_size * len(config.pools)
    if config.output_size < 1 or (config.dense == "none" and config.output_size != pooled):
        raise ValueError(
            f"output_size must be {pooled}, the width of all pools, got {config.output_size}"
            if config.dense == "none"
            else f"output_size must be positive, got {config.output_size}"
        )


def _dense(config: BertSentenceEncoderConfig | MpnetSentenceEncoderConfig) -> nn.Linear | None:
    if config.dense == "none":
        return None
    return nn.Linear(config.encoder.hidden_size * len(config.pools), config.output_size)


def _vectors(
    model: BertSentenceEncoder | MpnetSentenceEncoder,
    states: Float[Tensor, "B T D"],
    tokens: Tokens,
) -> Float[Tensor, "B E"]:
    """From states to vectors, as both encoders do it."""
    pools = [pool_tokens(states, tokens.mask, pool) for pool in model.config.pools]
    vectors = torch.cat(pools, dim=-1)
    if model.output is not None:
        vectors = model.output(vectors)
    if model.config.dense == "tanh":
        vectors = torch.tanh(vectors)
    vectors = vectors.float()
    return F.normalize(vectors, dim=-1) if model.config.length == "one" else vectors
