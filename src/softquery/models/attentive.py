"""Classes of texts.  Query: one learned vector.  Key, value: a BiLSTM's states.  Score: dot.

`Attentive` reads a text as one sentence (Zhou, Shi, Tian, Qi, Li, Hao, Xu: "Attention-Based
Bidirectional Long Short-Term Memory Networks for Relation Classification", ACL 2016).
`Hierarchical` reads words to sentences and sentences to a document, and asks at both levels (Yang,
Yang, Dyer, He, Smola, Hovy: "Hierarchical Attention Networks for Document Classification", NAACL
2016). Section and equation numbers are those of the papers.

B texts, S sentences, T tokens of a text or of a sentence, D width, C classes.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.data import DocumentBatch, TextBatch
from softquery.models.config_checks import check_dropout, check_positive
from softquery.models.outputs import ClassOutput
from softquery.nn import (
    BiRecurrent,
    Cell,
    Embedded,
    LearnedQuery,
    PooledStates,
    TokenEmbedder,
    VariationalDropout,
    WordEmbedding,
)

Merge = Literal["sum", "concat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentiveConfig:
    """Sizes of an attention-BiLSTM; the defaults are the paper's (Section 4.1)."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 2
    """Number of classes."""
    embedding_size: int = 100
    hidden_size: int = 100
    """Width of one LSTM direction."""
    cell: Cell = "lstm"
    merge: Merge = "sum"
    """How the two directions become one state; the paper adds them (Eq. 8)."""
    embedding_dropout: float = 0.3
    state_dropout: float = 0.3
    """Dropout of the LSTM's states, before attention."""
    dropout: float = 0.5
    """Dropout of the vector that the classes are predicted from."""
    word_dropout: float = 0.0
    """Share of words that the table reads as unknown in training."""
    max_characters: int = 0
    """Characters per word for a biLM inside; 0 without one."""

    def __post_init__(self) -> None:
        if self.merge not in get_args(Merge):
            raise ValueError(f"merge must be sum or concat, got {self.merge!r}")
        check_positive(self, "output_size", "embedding_size", "hidden_size")
        check_dropout(self, "embedding_dropout", "state_dropout", "dropout", "word_dropout")


class Attentive(nn.Module):
    """An attention-BiLSTM (Zhou et al. 2016, Section 3).

    Differs from paper: dropout of embeddings and states is variational (one mask per text).

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. Those for the
            output are laid beside the states, so that the query sees them too.
    """

    def __init__(self, config: AttentiveConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(
                config.vocab_size, config.embedding_size, word_dropout=config.word_dropout
            )
        self.embedder = embedder
        self.embedding_dropout = VariationalDropout(config.embedding_dropout)
        self.encoder = BiRecurrent(embedder.output_size, config.hidden_size, cell=config.cell)
        width = config.hidden_size * (1 if config.merge == "sum" else 2)
        width += embedder.added_size
        self.state_dropout = VariationalDropout(config.state_dropout)
        self.attention = LearnedQuery(width)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(width, config.output_size)

    def forward(self, batch: TextBatch) -> ClassOutput:
        """Logits of each text, and the weight of each word."""
        asked = self.attention(self.states(batch), batch.tokens.mask)  # Eqs. 9-11
        summary = torch.tanh(asked.mixed)  # h*, Eq. 12
        return ClassOutput(self.output(self.dropout(summary)), asked.weights)

    def states(self, batch: TextBatch) -> Float[Tensor, "B T D"]:
        """The BiLSTM's states (Section 3.2)."""
        mask = batch.tokens.mask
        embedded = Embedded.of(self.embedder(batch.tokens.ids, batch.lexicon))
        states = self.encoder(self.embedding_dropout(embedded.at_input), mask)
        if self.config.merge == "sum":
            states = states[..., : self.config.hidden_size] + states[..., self.config.hidden_size :]
        if embedded.at_output is not None:
            states = torch.cat([states, embedded.at_output], dim=-1)
        dropped: Tensor = self.state_dropout(states)
        return dropped


@dataclass(frozen=True, kw_only=True, slots=True)
class HierarchicalConfig:
    """Sizes of a hierarchical attention network; the defaults are the paper's (Section 3.3)."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 2
    """Number of classes."""
    embedding_size: int = 200
    hidden_size: int = 50
    """Width of one direction, of words and of sentences."""
    context_size: int = 100
    """Width of the two context vectors that ask."""
    cell: Cell = "gru"
    dropout: float = 0.0
    """Dropout of embeddings, of sentences and of the document; the paper has none."""
    word_dropout: float = 0.0
    """Share of words that the table reads as unknown in training."""
    max_sentences: int = 64
    """Sentences of a document that are read; how long one may be is the text's `max_tokens`."""

    def __post_init__(self) -> None:
        check_positive(
            self, "output_size", "embedding_size", "hidden_size", "context_size", "max_sentences"
        )
        check_dropout(self, "dropout", "word_dropout")


class Level(nn.Module):
    """One level of the hierarchy: a bidirectional encoder, then attention by a learned query.

    Args:
        size: Width of its inputs.
        config: The sizes.
    """

    def __init__(self, size: int, config: HierarchicalConfig) -> None:
        super().__init__()
        self.dropout = VariationalDropout(config.dropout)
        self.encoder = BiRecurrent(size, config.hidden_size, cell=config.cell)
        self.output_size = self.encoder.output_size
        self.attention = LearnedQuery(self.output_size, config.context_size)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> PooledStates:
        """Words to a sentence (Eqs. 5-7), or sentences to a document (Eqs. 8-10)."""
        asked: PooledStates = self.attention(self.encoder(self.dropout(inputs), mask), mask)
        return asked


class Hierarchical(nn.Module):
    """A hierarchical attention network (Yang et al. 2016, Section 2.2).

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default.
    """

    def __init__(self, config: HierarchicalConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(
                config.vocab_size, config.embedding_size, word_dropout=config.word_dropout
            )
        self.embedder = embedder
        self.words = Level(embedder.output_size, config)
        self.sentences = Level(self.words.output_size, config)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(self.sentences.output_size, config.output_size)

    def forward(self, batch: DocumentBatch) -> ClassOutput:
        """Logits of each document, and the weights of its words and sentences."""
        num_documents, num_sentences, num_words = batch.ids.shape
        flat = batch.mask.flatten(end_dim=1)
        embedded = Embedded.of(self.embedder(batch.ids.flatten(end_dim=1)))
        words: PooledStates = self.words(embedded.at_input, flat)
        sentences = words.mixed.view(num_documents, num_sentences, -1)
        asked: PooledStates = self.sentences(sentences, batch.sentence_mask)
        return ClassOutput(
            self.output(self.dropout(asked.mixed)),  # Eq. 11
            words.weights.view(num_documents, num_sentences, num_words),
            asked.weights,
        )


def _output_layer(size: int, output_size: int) -> nn.Linear:
    layer = nn.Linear(size, output_size)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
