"""Transformer (Vaswani et al., 2017).  Query, key, value: every token.  Score: scaled dot.

Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin: "Attention Is All You Need",
NeurIPS 2017; section numbers below are the paper's. The encoder's tokens ask each other, the
decoder's tokens ask those before them, and then the source.

B sentences, S tokens of the source, T of the target, P tokens so far, N rows of a step, L layers, H
heads, D width, V words of the target.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from softquery.attention import KeyValueCache, MultiHead
from softquery.data import Tokens, TranslationBatch
from softquery.models.config_checks import check_choices, check_dropout, check_heads, check_positive
from softquery.models.generator import GeneratorOutput, Stepped
from softquery.nn import (
    BlockActivation,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LayerNorm,
    NormPlace,
    PositionKind,
    Positions,
    Tie,
    Weights,
    WordTables,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerConfig:
    """Sizes of a Transformer; the defaults are the paper's base model (Table 3)."""

    source_vocab_size: int = 0
    """Words of the source, padding included; 0 until the data is known."""
    target_vocab_size: int = 0
    hidden_size: int = 512
    num_heads: int = 8
    inner_size: int = 2048
    """Width inside the feed-forward network."""
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    norm: NormPlace = "post"
    """Normalisation after each sum, as published, or before each sublayer."""
    activation: BlockActivation = "relu"
    positions: PositionKind = "sinusoidal"
    max_length: int = 512
    """Positions that are learned; sinusoidal ones do not end."""
    tie: Tie = "all"
    """Which tables of words are shared; `"all"` needs one vocabulary on both sides."""
    dropout: float = 0.1
    """Dropout of the sum of word and position, and of every sublayer's output (Section 5.4)."""
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_choices(
            self,
            {
                "norm": NormPlace,
                "activation": BlockActivation,
                "positions": PositionKind,
                "tie": Tie,
            },
        )
        check_positive(
            self,
            "hidden_size",
            "num_heads",
            "inner_size",
            "num_encoder_layers",
            "num_decoder_layers",
            "max_length",
        )
        check_heads(self.hidden_size, self.num_heads)
        check_dropout(self, "dropout", "attention_dropout", "inner_dropout")


class TransformerSource(NamedTuple):
    """Keys and values of a source for every layer of the decoder."""

    memory: tuple[KeyValueCache, ...]
    mask: Bool[Tensor, "B S"]


class TransformerState(NamedTuple):
    """Keys and values of the words so far, by layer; nothing before the first word."""

    past: tuple[KeyValueCache | None, ...]

    @property
    def length(self) -> int:
        """Number of words so far."""
        first = self.past[0]
        return 0 if first is None else first.num_keys


class Looks(NamedTuple):
    """The attention weights of every layer and head, and the logits."""

    logits: Float[Tensor, "B T V"]
    encoder: Float[Tensor, "B L H S S"]
    decoder: Float[Tensor, "B L H T T"]
    source: Float[Tensor, "B L H T S"]


class Transformer(nn.Module):
    """An encoder and a decoder made of attention blocks (Section 3).

    Unless the weights are shown, attention runs in torch's fused kernels.

    Args:
        config: The sizes.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config, self.vocab_size = config, config.target_vocab_size
        size = config.hidden_size
        self.words = WordTables(
            config.source_vocab_size,
            config.target_vocab_size,
            size,
            output_size=size,
            tie=config.tie,
            std=size**-0.5,
        )
        self.scale = size**0.5  # Section 3.4
        self.source_positions = Positions(config.positions, size, config.max_length)
        self.target_positions = Positions(config.positions, size, config.max_length)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            EncoderBlock(
                self._heads(), self._feed_forward(), norm=config.norm, dropout=config.dropout
            )
            for _ in range(config.num_encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(
                self._heads(),
                self._heads(),
                self._feed_forward(),
                norm=config.norm,
                dropout=config.dropout,
            )
            for _ in range(config.num_decoder_layers)
        )
        # Where sublayers read normalised states, their sum still has to be normalised.
        is_pre = config.norm == "pre"
        self.encoder_norm = LayerNorm(size) if is_pre else nn.Identity()
        self.decoder_norm = LayerNorm(size) if is_pre else nn.Identity()

    def forward(self, batch: TranslationBatch) -> GeneratorOutput:
        """Every next word of known targets, all at once."""
        source = self.encode(batch.source)
        decoded = self._decode(batch.inputs, self.initial_state(source), source)
        return GeneratorOutput(decoded.logits)

    def look(self, batch: TranslationBatch) -> Looks:
        """The logits of `forward`, with the attention weights of every layer and head."""
        source, encoder = self._read(batch.source, weights="shown")
        state = self.initial_state(source)
        decoded = self._decode(batch.inputs, state, source, weights="shown")
        return Looks(decoded.logits, _stacked(encoder), *map(_stacked, decoded.weights))

    def encode(self, tokens: Tokens) -> TransformerSource:
        """Keys and values of the source for every layer of the decoder."""
        return self._read(tokens)[0]

    def source_layers(self, tokens: Tokens) -> tuple[Float[Tensor, "B S D"], ...]:
        """The embedded words of a source with their positions, then each layer of the encoder."""
        return tuple(self._states(tokens)[0])

    def initial_state(self, source: TransformerSource) -> TransformerState:
        """The state before the first word: no keys and values yet."""
        return TransformerState((None,) * self.config.num_decoder_layers)

    def step(
        self,
        tokens: Int[Tensor, " N"],
        state: TransformerState,
        source: TransformerSource,
        *,
        weights: Weights = "hidden",
    ) -> Stepped:
        """One more word in every row, from the keys and values of those before."""
        decoded = self._decode(tokens.unsqueeze(1), state, source, weights=weights)
        seen = _stacked(decoded.weights[1]).squeeze(-2) if weights == "shown" else None
        return Stepped(decoded.logits.squeeze(1), decoded.state, seen)

    def _read(
        self, tokens: Tokens, *, weights: Weights = "hidden"
    ) -> tuple[TransformerSource, list[Tensor]]:
        """The encoded source, and the encoder's attention weights if they are shown."""
        layers, looks = self._states(tokens, weights=weights)
        states = layers[-1]
        memory = [block.source_attention.remember(states, states) for block in self.decoder]  # type: ignore[union-attr, operator]
        return TransformerSource(tuple(memory), tokens.mask), looks

    def _states(
        self, tokens: Tokens, *, weights: Weights = "hidden"
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The encoder (Section 3.1): the states of every layer, and its attention weights."""
        length = tokens.ids.shape[1]
        vectors = self.words.read_source(tokens.ids) * self.scale
        layers, looks = [self.dropout(vectors + self.source_positions(length))], []
        for block in self.encoder:
            states, seen = block(layers[-1], tokens.mask, weights=weights)
            layers.append(states)
            looks += [] if seen is None else [seen]
        layers[-1] = self.encoder_norm(layers[-1])
        return layers, looks

    def _decode(
        self,
        ids: Int[Tensor, "B T"],
        state: TransformerState,
        source: TransformerSource,
        *,
        weights: Weights = "hidden",
    ) -> "_Decoded":
        """The decoder (Section 3.1) over one new word or many."""
        vectors = self.words.read_target(ids) * self.scale
        states = self.dropout(vectors + self.target_positions(ids.shape[1], state.length))
        past: list[KeyValueCache] = []
        own: list[Tensor] = []
        seen: list[Tensor] = []
        for block, memory, before in zip(self.decoder, source.memory, state.past, strict=True):
            states, after, own_weights, source_weights = block(
                states, memory, source.mask, past=before, weights=weights
            )
            past.append(after)
            own += [] if own_weights is None else [own_weights]
            seen += [] if source_weights is None else [source_weights]
        logits = self.words.logits(self.decoder_norm(states))
        return _Decoded(logits, TransformerState(tuple(past)), (own, seen))

    def _heads(self) -> MultiHead:
        config = self.config
        heads = MultiHead(config.hidden_size, config.num_heads, dropout=config.attention_dropout)
        for layer in heads.children():
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        return heads

    def _feed_forward(self) -> FeedForward:
        config = self.config
        return FeedForward(
            config.hidden_size,
            config.inner_size,
            activation=config.activation,
            dropout=config.inner_dropout,
        )


class _Decoded(NamedTuple):
    """Logits, the state after them, and each layer's weights towards itself and the source."""

    logits: Tensor
    state: TransformerState
    weights: tuple[list[Tensor], list[Tensor]]


def _stacked(layers: list[Tensor]) -> Float[Tensor, "B L ..."]:
    return torch.stack(layers, dim=1)


def presets() -> dict[str, TransformerConfig]:
    """The published sizes (Table 3).

    >>> {name: config.hidden_size for name, config in presets().items()}
    {'base': 512, 'big': 1024}
    """
    return {
        "base": TransformerConfig(),
        "big": TransformerConfig(hidden_size=1024, num_heads=16, inner_size=4096, dropout=0.3),
    }
