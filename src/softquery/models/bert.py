"""BERT (Devlin et al., 2019).  Query, key, value: every token.  Score: scaled dot.

Devlin, Chang, Lee, Toutanova: "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", NAACL 2019; section numbers below are the paper's. The blocks are those of the
Transformer's encoder. Every token sees both sides of itself, so that a word to be predicted must
be hidden first. With a `window`, tokens see their neighbours and the first token alone (Beltagy,
Peters, Cohan: "Longformer: The Long-Document Transformer", 2020, Section 3.1), so that a text
costs in proportion to its length. With `direction="left"` no token sees what follows, nothing has
to be hidden, and the same blocks are a language model that reads from left to right.

B sentences, T tokens; N tokens of S sequences end to end; M words to predict, V words, L layers, H
heads, D width.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import MultiHead, Window
from softquery.data import MaskedBatch, PackedTokens, Tokens
from softquery.models.config_checks import check_choices, check_dropout, check_heads, check_positive
from softquery.nn import (
    BlockActivation,
    EncoderBlock,
    FeedForward,
    InputEmbedding,
    Weights,
    WordHead,
)

Direction = Literal["both", "left"]
Heads = Literal["none", "words", "words+next"]
INITIAL_STD = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class BertConfig:
    """Sizes of a BERT; the defaults are the paper's base model (Section 3)."""

    vocab_size: int = 0
    """Pieces, reserved ones included; 0 until the data is known."""
    hidden_size: int = 768
    embedding_size: int = 0
    """Width of the tables that are looked up, where a linear layer brings it to the states' (Lan
    et al. 2020, Section 3.1); 0 for tables as wide as the states, as in the paper."""
    num_layers: int = 12
    num_heads: int = 12
    inner_size: int = 3072
    """Width inside the feed-forward network."""
    max_length: int = 512
    """Positions that are learned."""
    num_segments: int = 2
    activation: BlockActivation = "gelu"
    direction: Direction = "both"
    """Which tokens a token sees: all, or those before it."""
    window: int = 0
    """How many tokens to either side a token sees (Beltagy et al. 2020, Section 3.1); 0 for all.
    The first token sees all and is seen by all."""
    heads: Heads = "words+next"
    """Heads for pretraining: which words were hidden, and whether a text follows another."""
    pooler: bool = True
    """Whether there is a layer on top of the first token; `words+next` needs it."""
    dropout: float = 0.1
    attention_dropout: float = 0.1
    norm_eps: float = 1e-12

    def __post_init__(self) -> None:
        check_choices(self, {"activation": BlockActivation, "direction": Direction, "heads": Heads})
        check_positive(
            self,
            "hidden_size",
            "num_layers",
            "num_heads",
            "inner_size",
            "max_length",
            "num_segments",
        )
        check_heads(self.hidden_size, self.num_heads)
        check_dropout(self, "dropout", "attention_dropout")
        if self.embedding_size < 0:
            raise ValueError(f"embedding_size must be 0 or positive, got {self.embedding_size}")
        if self.window < 0 or (self.window and self.direction != "both"):
            raise ValueError(
                f"window must be 0, or positive with direction both; got {self.window}"
            )
        if self.heads == "words+next" and not self.pooler:
            raise ValueError("heads 'words+next' need the pooler")


class BertOutput(NamedTuple):
    """The states of every token in every layer, the embeddings first."""

    layers: tuple[Float[Tensor, "B T D"], ...]
    mask: Bool[Tensor, "B T"]

    @property
    def states(self) -> Float[Tensor, "B T D"]:
        """The states of the highest layer."""
        return self.layers[-1]


class MaskedOutput(NamedTuple):
    """What may stand where words were hidden, and whether texts belong together."""

    logits: Float[Tensor, "M V"]
    """Logits of all words at each place that is to be predicted."""
    follows: Float[Tensor, "S 2"] | None
    """Logits of no and yes, where there is a head for it."""


class Bert(nn.Module):
    """Token, position and segment embeddings, then blocks of self-attention (Section 3).

    `encode` reads padded sentences, `encode_packed` sequences end to end; both give the same
    states. `forward` is for pretraining (Section 3.1).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config, self.output_size = config, config.hidden_size
        size, eps = config.hidden_size, config.norm_eps
        self.embedding = InputEmbedding(
            config.vocab_size,
            config.max_length,
            config.num_segments,
            config.embedding_size or size,
            output_size=size if config.embedding_size else 0,
            dropout=config.dropout,
            eps=eps,
        )
        self.blocks = nn.ModuleList(self._block() for _ in range(config.num_layers))
        self.pooler = nn.Linear(size, size) if config.pooler else None
        self.word_head = (
            None
            if config.heads == "none"
            else WordHead(
                size,
                config.vocab_size,
                table_size=config.embedding_size,
                activation=config.activation,
                eps=eps,
            )
        )
        self.next_head = nn.Linear(size, 2) if config.heads == "words+next" else None
        self.apply(_initialise)

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the encoder's output."""
        part, *path = name.split(".")
        if part == "embedding":
            return self.config.num_layers + 1
        return self.config.num_layers - int(path[0]) if part == "blocks" else 0

    def forward(self, batch: MaskedBatch) -> MaskedOutput:
        """Logits of the hidden words, and of whether texts belong together (Section 3.1)."""
        states = self.encode_packed(batch.tokens)
        # Looked up as embeddings are, whose backward pass is made for it.
        logits = self.word_logits(F.embedding(batch.places, states))
        follows = None
        if self.next_head is not None:
            follows = self.next_head(self.pool(F.embedding(batch.firsts, states)))
        return MaskedOutput(logits, follows)

    def encode(self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None) -> BertOutput:
        """Every layer for padded sentences; a sentence's states depend on its own tokens alone."""
        return self._read(tokens, segments, "hidden")[0]

    def encode_packed(self, tokens: PackedTokens) -> Float[Tensor, "N D"]:
        """The highest states of sequences end to end."""
        states: Tensor = self.embedding(tokens.ids, tokens.positions, tokens.segments)
        for block in self.blocks:
            states = block.read_packed(  # type: ignore[operator]
                states, tokens.packing, causal=self._is_causal, window=self._window
            )
        return states

    def look(
        self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B L H T T"]:
        """The attention weights of every layer and head."""
        return torch.stack(self._read(tokens, segments, "shown")[1], dim=1)

    def pool(self, first: Float[Tensor, "S D"]) -> Float[Tensor, "S D"]:
        """A vector of a whole sequence, from the state of its first token."""
        if self.pooler is None:
            raise ValueError("this model has no pooler")
        return torch.tanh(self.pooler(first))

    def word_logits(self, states: Float[Tensor, "M D"]) -> Float[Tensor, "M V"]:
        """Logits of all words of the vocabulary at these states."""
        if self.word_head is None:
            raise ValueError("this model has no heads; it cannot say what was hidden")
        logits: Tensor = self.word_head(states, self.embedding.words.weight)
        return logits

    @property
    def _is_causal(self) -> bool:
        return self.config.direction == "left"

    @property
    def _window(self) -> Window | None:
        """With the first token, which stands for the whole text, as the global one."""
        return Window(self.config.window, num_global=1) if self.config.window else None

    def _read(
        self, tokens: Tokens, segments: Tensor | None, weights: Weights
    ) -> tuple[BertOutput, list[Tensor]]:
        ids, mask = tokens
        length, known = ids.shape[1], self.config.max_length
        if length > known:
            raise ValueError(f"{known} positions were learned, but {length} are asked for")
        positions = torch.arange(length, device=ids.device).unsqueeze(0)
        segments = torch.zeros_like(ids) if segments is None else segments
        layers: list[Tensor] = [self.embedding(ids, positions, segments)]
        looks: list[Tensor] = []
        for block in self.blocks:
            states, seen = block(
                layers[-1], mask, causal=self._is_causal, window=self._window, weights=weights
            )
            layers.append(states)
            looks += [] if seen is None else [seen]
        return BertOutput(tuple(layers), mask), looks

    def _block(self) -> EncoderBlock:
        config = self.config
        return EncoderBlock(
            MultiHead(config.hidden_size, config.num_heads, dropout=config.attention_dropout),
            FeedForward(config.hidden_size, config.inner_size, activation=config.activation),
            dropout=config.dropout,
            eps=config.norm_eps,
        )


def _initialise(module: nn.Module) -> None:
    """Small normal weights and no biases.

    Differs from paper: the published code truncates the normal distribution at twice its width.
    """
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=INITIAL_STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def presets() -> dict[str, BertConfig]:
    """The published sizes: the paper's two (Section 3), and smaller ones (Turc et al. 2019).

    >>> {name: (config.num_layers, config.hidden_size) for name, config in presets().items()}
    {'tiny': (2, 128), 'mini': (4, 256), 'small': (4, 512), 'base': (12, 768), 'large': (24, 1024)}
    """
    sizes = {"tiny": (128, 2), "mini": (256, 4), "small": (512, 4), "base": (768, 12),
             "large": (1024, 24)}  # fmt: skip
    return {
        name: replace(
            BertConfig(),
            hidden_size=size,
            num_layers=num_layers,
            num_heads=size // 64,
            inner_size=4 * size,
        )
        for name, (size, num_layers) in sizes.items()
    }
