"""A vector for a sentence.  Query: learned vectors.  Key, value: the tokens' states.  Score: dot.

A table of sub-words, a body that reads them (nothing, a BiLSTM, convolutions or a Transformer), and
pooling by learned queries (Lin et al. 2017, Section 2.1) beside the largest or the mean value of
each feature. A linear layer makes the vector, whose length is one.
Vectors are compared by cosine; the first 64, 128 or 256 numbers serve by themselves where training
asked for it (Kusupati et al. 2022, Section 3).

B sentences, T tokens, D width of a state, E width of a vector.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import MultiHead
from softquery.data import TaughtBatch, Tokens
from softquery.models.config_checks import check_choices, check_dropout, check_heads, check_positive
from softquery.models.outputs import SentenceOutput
from softquery.nn import (
    BiRecurrent,
    Cell,
    EncoderBlock,
    FeedForward,
    LayerNorm,
    LearnedQueries,
    Positions,
    WordEmbedding,
    max_pool,
    mean_pool,
    with_neighbours,
)

Body = Literal["static", "recurrent", "convolution", "transformer"]
"""What reads the table's vectors: nothing, a BiLSTM, layers over a window of tokens, or blocks of
self-attention."""
SentencePool = Literal["query", "max", "mean"]
"""How the states of a sentence become one vector."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledEncoderConfig:
    """Sizes of a pooled encoder."""

    vocab_size: int = 0
    """Sub-words, padding included; 0 until the data is known."""
    output_size: int = 384
    """Width of a sentence's vector."""
    body: Body = "recurrent"
    embedding_size: int = 256
    hidden_size: int = 320
    """Width of one LSTM direction, or of the states of layers; unused where nothing reads."""
    cell: Cell = "lstm"
    num_layers: int = 3
    """Blocks of a Transformer, or convolutions."""
    window: int = 3
    """Tokens that a convolution sees, an odd number."""
    num_context: int = 0
    """Before how many of the convolutions, the last ones, every token is told the mean of all
    tokens' states, projected: convolutions alone see no further than their windows."""
    num_heads: int = 4
    pools: tuple[SentencePool, ...] = ("query", "max")
    """Laid side by side."""
    num_queries: int = 1
    """Learned queries, each of which mixes its own part of every state."""
    middle_size: int = 0
    """Width of a rectified layer over what was pooled, which the vector is made of besides; it is
    paid once per text. 0 for none."""
    dropout: float = 0.0
    word_dropout: float = 0.0
    """Share of sub-words that the table reads as unknown in training."""

    def __post_init__(self) -> None:
        check_choices(self, {"body": Body, "cell": Cell})
        unknown = [pool for pool in self.pools if pool not in get_args(SentencePool)]
        if unknown or not self.pools or len(set(self.pools)) != len(self.pools):
            known = ", ".join(get_args(SentencePool))
            raise ValueError(f"pools must be some of {known}, each once; got {self.pools!r}")
        check_positive(
            self,
            "output_size",
            "embedding_size",
            "hidden_size",
            "num_layers",
            "num_heads",
            "num_queries",
            "window",
        )
        if self.window % 2 == 0:
            raise ValueError(f"window must be an odd number, got {self.window}")
        if self.middle_size < 0:
            raise ValueError(f"middle_size must not be negative, got {self.middle_size}")
        if not 0 <= self.num_context <= self.num_layers:
            raise ValueError(
                f"num_context must lie between 0 and num_layers, {self.num_layers}, "
                f"got {self.num_context}"
            )
        if self.body == "transformer":
            check_heads(self.hidden_size, self.num_heads)
        check_dropout(self, "dropout", "word_dropout")


class PooledEncoder(nn.Module):
    """Reads a sentence into one vector.

    Differs from Lin et al. 2017: each query asks and mixes its own part of the states, and the
    states are not projected before.

    Args:
        config: The sizes.
    """

    def __init__(self, config: PooledEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedder = WordEmbedding(
            config.vocab_size, config.embedding_size, word_dropout=config.word_dropout
        )
        self.dropout = nn.Dropout(config.dropout)
        self.body = _body(config)
        width = config.embedding_size if self.body is None else self.body.output_size
        self.query = LearnedQueries(width, config.num_queries) if "query" in config.pools else None
        pooled = width * len(config.pools)
        self.middle = nn.Linear(pooled, config.middle_size) if config.middle_size else None
        self.output = nn.Linear(pooled + config.middle_size, config.output_size)

    def forward(self, batch: TaughtBatch) -> SentenceOutput:
        """The vectors of a batch."""
        return self.encode(batch.tokens)

    def encode(self, tokens: Tokens) -> SentenceOutput:
        """Vectors of sentences; one without tokens has that of the biases alone."""
        states = self.dropout(self.embedder(tokens.ids))
        if self.body is not None:
            states = self.body(states, tokens.mask)
        weights, pooled = None, []
        for pool in self.config.pools:
            if pool == "query" and self.query is not None:
                mixed, weights = self.query(states, tokens.mask)
                pooled.append(mixed)
            else:
                pooled.append((max_pool if pool == "max" else mean_pool)(states, tokens.mask))
        if self.middle is not None:
            pooled.append(torch.relu(self.middle(torch.cat(pooled, dim=-1))))
        vectors = self.output(torch.cat(pooled, dim=-1)).float()
        return SentenceOutput(F.normalize(vectors, dim=-1), weights)


class ConvolutionBody(nn.Module):
    """Convolutions around residual connections, normalised before each.

    Each is a linear layer over a token and its neighbours, [x_{t-1}; x_t; x_{t+1}] for a window of
    three: one matrix product for all tokens, not one per token.

    Args:
        input_size: Width of a token's vector; it is projected where the layers are of another.
        size: Width of the layers.
        num_layers: How many.
        window: Tokens that a layer sees.
        num_context: Before how many of them, the last ones, a projection of the mean of all
            tokens' states is added to each (the squeeze of Hu et al. 2018, Section 3.1, with a
            sum for its product).
        dropout: Dropout of what each layer adds.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        num_layers: int,
        window: int,
        num_context: int = 0,
        dropout: float,
    ) -> None:
        super().__init__()
        self.output_size, self.window = size, window
        self.widen = nn.Linear(input_size, size) if input_size != size else None
        self.norms = nn.ModuleList(LayerNorm(size) for _ in range(num_layers))
        self.layers = nn.ModuleList(nn.Linear(window * size, size) for _ in range(num_layers))
        self.context = nn.ModuleList(nn.Linear(size, size) for _ in range(num_context))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T E"]:
        """States that have seen their neighbours; zeros at padding."""
        real = mask.unsqueeze(-1)
        states = states if self.widen is None else self.widen(states)
        alone = len(self.layers) - len(self.context)
        for number, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            if number >= alone:
                mean = mean_pool(states, mask)
                states = states + self.context[number - alone](mean).unsqueeze(1)
            near = with_neighbours(norm(states) * real, self.window)
            states = states + self.dropout(torch.relu(layer(near)))
        return states * real


class TransformerBody(nn.Module):
    """Blocks of self-attention with normalisation before each sublayer, and one at the top.

    Args:
        input_size: Width of a token's vector; it is projected where the blocks are of another.
        size: Width of the blocks.
        num_layers: How many blocks.
        num_heads: Heads of each.
        dropout: Dropout of the sublayers' outputs.
    """

    MAX_LENGTH = 512

    def __init__(
        self, input_size: int, size: int, *, num_layers: int, num_heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.output_size = size
        self.widen = nn.Linear(input_size, size) if input_size != size else None
        self.positions = Positions("learned", size, self.MAX_LENGTH)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHead(size, num_heads),
                FeedForward(size, 4 * size, activation="gelu"),
                norm="pre",
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        self.norm = LayerNorm(size)

    def forward(
        self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T E"]:
        """States in their context; zeros at padding."""
        states = states if self.widen is None else self.widen(states)
        states = states + self.positions(states.shape[1])
        for block in self.blocks:
            states, _ = block(states, mask)
        normed: Tensor = self.norm(states) * mask.unsqueeze(-1)
        return normed


def _body(config: PooledEncoderConfig) -> BiRecurrent | ConvolutionBody | TransformerBody | None:
    if config.body == "static":
        return None
    if config.body == "recurrent":
        return BiRecurrent(config.embedding_size, config.hidden_size, cell=config.cell)
    if config.body == "convolution":
        return ConvolutionBody(
            config.embedding_size,
            config.hidden_size,
            num_layers=config.num_layers,
            window=config.window,
            num_context=config.num_context,
            dropout=config.dropout,
        )
    return TransformerBody(
        config.embedding_size,
        config.hidden_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        dropout=config.dropout,
    )
