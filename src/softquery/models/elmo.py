"""ELMo's biLM (Peters et al., 2018).  Query: none; two language models read from either end.

Peters, Neumann, Iyyer, Gardner, Clark, Lee, Zettlemoyer: "Deep contextualized word
representations", NAACL 2018, with the details of Jozefowicz et al. (2016). Section and equation
numbers below are the first paper's. The soft query comes later: a task's mix
(`softquery.nn.LayerMix`) asks the layers.

B sentences or streams, T tokens, U distinct tokens, C characters of each, P width of one direction,
J layers, that of the characters included.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.data import StreamBatch
from softquery.models.config_checks import check_choices, check_dropout, check_positive
from softquery.nn import (
    Activation,
    AdaptiveSoftmax,
    CharacterCnn,
    CharacterVectors,
    LstmStack,
    LstmState,
    ProjectedLstm,
    Sampler,
    StoredVectors,
    Way,
    WordLookup,
    WordSoftmax,
    beside,
    reverse_within,
)
from softquery.text import MAX_CHARACTERS, NUM_CHARACTERS, PAD_ID, reserved_tokens

SoftmaxKind = Literal["none", "full", "sampled", "adaptive", "characters"]
Reads = Literal["characters", "words"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterConfig:
    """How the characters of a token are read; the defaults are those of the original model."""

    size: int = 16
    """Width of one character."""
    max_characters: int = MAX_CHARACTERS
    widths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    """Characters that each group of filters sees at once."""
    filters: tuple[int, ...] = (32, 32, 64, 128, 256, 512, 1024)
    """How many filters each group has."""
    num_highways: int = 2
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        if min((self.size, *self.widths, *self.filters)) < 1 or self.num_highways < 0:
            raise ValueError("size, widths and filters must be positive, num_highways not negative")
        if self.max_characters < 3:
            raise ValueError(f"max_characters must be at least 3, got {self.max_characters}")
        if self.activation not in get_args(Activation):
            raise ValueError(f"activation must be relu or tanh, got {self.activation!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftmaxConfig:
    """How the next word is predicted in pretraining; `"none"` once that is over."""

    kind: SoftmaxKind = "sampled"
    """`"characters"` computes word vectors from characters (CNN softmax), sampled or in full."""
    num_samples: int = 8192
    """Words drawn per step by `"sampled"` and `"characters"`; 0 for all words."""
    sampler: Sampler = "log_uniform"
    """By rank, or by the counts of the training text."""
    cutoffs: tuple[int, ...] = ()
    """Where the clusters of `"adaptive"` begin; empty for a choice by the vocabulary's size."""
    correction_size: int = 128
    """Width of each word's own correction with `"characters"`."""

    def __post_init__(self) -> None:
        for name, choices in (("kind", SoftmaxKind), ("sampler", Sampler)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name} must be one of {get_args(choices)}")
        if self.num_samples < 0 or self.correction_size < 0:
            raise ValueError("num_samples and correction_size must not be negative")


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoConfig:
    """Sizes of a biLM; the defaults are the original ones (Section 3.4)."""

    vocab_size: int = 0
    """Words that are predicted, reserved ones included; 0 until the data is known."""
    reads: Reads = "characters"
    """How a token is read: by its characters, or as a whole, by a table of words."""
    num_words: int = 0
    """Rows of that table, reserved ones included; 0 until the data is known."""
    characters: CharacterConfig = field(default_factory=CharacterConfig)
    """A table of words takes of it `max_characters` alone, by which its words are told apart."""
    hidden_size: int = 4096
    """Width of an LSTM's cell."""
    projection_size: int = 512
    """Width of a layer in one direction; a token's vector is twice as wide."""
    num_layers: int = 2
    residual: bool = True
    """Whether each layer but the first adds its input."""
    cell_clip: float = 3.0
    projection_clip: float = 3.0
    way: Way = "exact"
    """`"exact"` clips as published; `"fast"` runs in cuDNN, without the two clips."""
    dropout: float = 0.1
    softmax: SoftmaxConfig = field(default_factory=SoftmaxConfig)

    def __post_init__(self) -> None:
        check_positive(self, "hidden_size", "projection_size", "num_layers")
        if self.cell_clip < 0 or self.projection_clip < 0:
            raise ValueError("cell_clip and projection_clip must not be negative; 0 is no limit")
        if self.num_words < 0:
            raise ValueError(f"num_words must not be negative, got {self.num_words}")
        check_choices(self, {"way": Way, "reads": Reads})
        check_dropout(self, "dropout")


class BiLmState(NamedTuple):
    """The LSTM states of both directions after the words before."""

    forwards: LstmState
    backwards: LstmState


class Contextual(NamedTuple):
    """Every layer's vectors; `state` only where one was given.

    Layer 0 is the token alone, twice, so that all layers are equally wide.
    """

    layers: Float[Tensor, "J B T D"]
    mask: Bool[Tensor, "B T"]
    state: BiLmState | None = None


class LanguageModelOutput(NamedTuple):
    """Log-probability of each word that came next, in both directions."""

    forwards: Float[Tensor, "B T"]
    backwards: Float[Tensor, "B T"]
    state: BiLmState | None = None


class Elmo(nn.Module):
    """A forward and a backward language model over one character encoder (Section 3.1).

    `encode` gives every layer for sentences, `forward` the probability of text in pretraining. The
    two directions share the character encoder and the softmax, and nothing else.

    Args:
        config: The sizes.
    """

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__()
        self.config = config
        self.output_size = 2 * config.projection_size
        self.num_layers = config.num_layers + 1
        self.reader = self._build_reader()
        self.forwards, self.backwards = self._build_stack(), self._build_stack()
        self.dropout = nn.Dropout(config.dropout)
        self.softmax = self._build_softmax()

    def forward(
        self, batch: StreamBatch, words: Float[Tensor, "V P"] | None = None
    ) -> LanguageModelOutput:
        """Log-probabilities of each next word of the streams.

        Args:
            batch: Windows of streams.
            words: The vectors of all words (`word_table`); the result is then exact.
        """
        if self.softmax is None:
            raise ValueError("this model has no softmax; it cannot say what comes next")
        ahead, back, state = self.read(batch)
        size = batch.forwards.numel()
        targets = torch.cat([batch.forward_targets.flatten(), batch.backward_targets.flatten()])
        states = torch.cat([ahead.flatten(end_dim=1), back.flatten(end_dim=1)])
        if words is not None and isinstance(self.softmax, WordSoftmax):
            found = self.softmax.exact(states, targets, words)
        else:
            found = self.softmax(states, targets)
        return LanguageModelOutput(
            found[:size].view_as(batch.forwards), found[size:].view_as(batch.forwards), state
        )

    def read(
        self, batch: StreamBatch
    ) -> tuple[Float[Tensor, "B T P"], Float[Tensor, "B T P"], BiLmState | None]:
        """The highest states of both directions over the streams, each in its own order."""
        vectors = self.read_types(batch)
        state: BiLmState | None = batch.state
        # An embedding lookup, whose backward pass is fast even where a word occurs very often.
        with beside(vectors) as joined:
            words = F.embedding(batch.backwards, vectors)
            back, backwards = self.backwards(words, None, state and state.backwards)
        words = F.embedding(batch.forwards, vectors)
        ahead, forwards = self.forwards(words, None, state and state.forwards)
        joined()
        after = None if state is None else BiLmState(forwards, backwards)
        return self.dropout(ahead[-1]), self.dropout(back[-1]), after

    def encode(
        self,
        characters: Shaped[Tensor, "B T C"],
        mask: Bool[Tensor, "B T"],
        state: BiLmState | None = None,
    ) -> Contextual:
        """Every layer for the characters of sentences with both ends (`spell_sentences`).

        A sentence's vectors depend on its own words alone, unless a state is given.
        """
        vectors = self.read_tokens(characters.flatten(end_dim=1))
        return self.contextualise(vectors.view(*mask.shape, -1), mask, state)

    def read_tokens(self, characters: Shaped[Tensor, "U C"]) -> Float[Tensor, "U P"]:
        """Vectors of tokens without their context, from characters alone or by a table of words."""
        vectors: Tensor = self.reader(characters.int())
        return vectors

    def read_types(self, batch: StreamBatch) -> Float[Tensor, "U P"]:
        """Vectors of the distinct words of some streams, short ones from fewer characters."""
        if not batch.crops:
            return self.read_tokens(batch.characters)
        parts = torch.split(batch.characters, [count for count, _ in batch.crops])
        crops = zip(parts, batch.crops, strict=True)
        return torch.cat([self.read_tokens(part[:, :length]) for part, (_, length) in crops])

    def contextualise(
        self,
        vectors: Float[Tensor, "B T P"],
        mask: Bool[Tensor, "B T"],
        state: BiLmState | None = None,
    ) -> Contextual:
        """Every layer from token vectors; the backward direction reads from the end."""
        vectors = vectors * mask.unsqueeze(-1)
        with beside(vectors) as joined:
            back, backwards = self.backwards(
                reverse_within(vectors, mask), mask, None if state is None else state.backwards
            )
        ahead, forwards = self.forwards(vectors, mask, None if state is None else state.forwards)
        joined()
        layers = [torch.cat([vectors, vectors], dim=-1)]
        for left, right in zip(ahead, back, strict=True):
            layers.append(torch.cat([left, reverse_within(right, mask)], dim=-1))
        after = None if state is None else BiLmState(forwards, backwards)
        return Contextual(torch.stack(layers), mask, after)

    def initial_state(self, num_sequences: int) -> BiLmState:
        """Zeros for `num_sequences` sequences."""
        return BiLmState(
            self.forwards.initial_state(num_sequences), self.backwards.initial_state(num_sequences)
        )

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the biLM's output."""
        part, *path = name.split(".")
        if part == "reader":
            return self.config.num_layers + 1
        if part in ("forwards", "backwards"):
            return self.config.num_layers - int(path[1])
        return 0

    def word_table(self) -> Float[Tensor, "V P"] | None:
        """The softmax's vectors of all words, to be computed once for an evaluation."""
        return self.softmax.words.table() if isinstance(self.softmax, WordSoftmax) else None

    def spell(self, characters: Shaped[Tensor, "V C"]) -> None:
        """Set the characters of the predicted words, which a softmax of characters needs.

        A table of words is spelled alike, unless it is one of another vocabulary.
        """
        if isinstance(self.reader, WordLookup) and len(characters) == len(self.reader.keys):
            self.reader.spell(characters)
        if isinstance(self.softmax, WordSoftmax) and isinstance(
            self.softmax.words, CharacterVectors
        ):
            self.softmax.words.spell(characters)

    def set_noise(self, counts: Float[Tensor, " V"]) -> None:
        """Set how often each word was counted, for a softmax that samples by counts."""
        if isinstance(self.softmax, WordSoftmax) and self.softmax.num_samples:
            self.softmax.set_noise(counts)

    def _build_reader(self) -> CharacterCnn | WordLookup:
        if self.config.reads == "words":
            num_words = max(self.config.num_words, len(reserved_tokens("words")))
            return WordLookup(num_words, self.config.projection_size)
        return self._build_characters()

    def _build_characters(self) -> CharacterCnn:
        reads = self.config.characters
        if reads.max_characters < max(reads.widths, default=0):
            raise ValueError(
                f"max_characters ({reads.max_characters}) must hold the widest of the filters "
                f"{reads.widths}"
            )
        return CharacterCnn(
            NUM_CHARACTERS,
            reads.size,
            reads.widths,
            reads.filters,
            self.config.projection_size,
            num_highways=reads.num_highways,
            activation=reads.activation,
        )

    def _build_stack(self) -> LstmStack:
        config = self.config
        layers = [
            ProjectedLstm(
                config.projection_size,
                config.hidden_size,
                config.projection_size,
                cell_clip=config.cell_clip,
                projection_clip=config.projection_clip,
                way=config.way,
            )
            for _ in range(config.num_layers)
        ]
        return LstmStack(layers, residual=config.residual, dropout=config.dropout)

    def _build_softmax(self) -> WordSoftmax | AdaptiveSoftmax | None:
        config, softmax = self.config, self.config.softmax
        if softmax.kind == "none" or config.vocab_size == 0:
            return None
        size, vocab_size = config.projection_size, config.vocab_size
        if softmax.kind == "adaptive":
            return AdaptiveSoftmax(size, vocab_size, softmax.cutoffs)
        words: StoredVectors | CharacterVectors = StoredVectors(vocab_size, size)
        if softmax.kind == "characters":
            longest, narrow = config.characters.max_characters, softmax.correction_size
            words = CharacterVectors(self._build_characters(), vocab_size, longest, narrow)
        num_samples = 0 if softmax.kind == "full" else softmax.num_samples
        return WordSoftmax(words, vocab_size, never=(PAD_ID,), num_samples=num_samples)


def presets() -> dict[str, ElmoConfig]:
    """The published sizes: original, medium and small.

    >>> {name: config.hidden_size for name, config in presets().items()}
    {'original': 4096, 'medium': 2048, 'small': 1024}
    """
    one_highway = CharacterConfig(num_highways=1)
    return {
        "original": ElmoConfig(),
        "medium": ElmoConfig(hidden_size=2048, projection_size=256, characters=one_highway),
        "small": ElmoConfig(hidden_size=1024, projection_size=128, characters=one_highway),
    }
