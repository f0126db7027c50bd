"""A tagger of words.  Query, key, value: none; BiLSTMs encode, and a chain scores tags together.

Huang et al. (2015) put a conditional random field on a BiLSTM; Lample et al. (2016) and Ma & Hovy
(2016) read words by their characters as well. The defaults are those that Peters et al. (2018) used
for named entities. With a biLM inside, words are also read in their context.

B sentences, T tokens, C tags, D width.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import nn

from softquery.data import TextBatch
from softquery.models.config_checks import check_dropout, check_positive
from softquery.models.outputs import TagOutput
from softquery.nn import (
    BiRecurrent,
    Crf,
    Embedded,
    SpellingConfig,
    TokenEmbedder,
    VariationalDropout,
    WordEmbedding,
)

Decoder = Literal["crf", "softmax"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLstmTaggerConfig:
    """Sizes of a tagger."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 2
    """Number of tags."""
    embedding_size: int = 100
    spelling: SpellingConfig = field(default_factory=SpellingConfig)
    hidden_sizes: tuple[int, ...] = (200, 100)
    """Width of one direction of each LSTM, the lowest first."""
    dropout: float = 0.5
    word_dropout: float = 0.05
    """Share of words that the table reads as unknown in training; their characters stay."""
    decoder: Decoder = "crf"

    def __post_init__(self) -> None:
        if self.decoder not in get_args(Decoder):
            raise ValueError(f"decoder must be crf or softmax, got {self.decoder!r}")
        if not self.hidden_sizes or min(self.hidden_sizes) < 1:
            raise ValueError(f"hidden_sizes must be one or more widths, got {self.hidden_sizes}")
        check_positive(self, "output_size", "embedding_size")
        check_dropout(self, "dropout", "word_dropout")


class BiLstmTagger(nn.Module):
    """Words and their characters through BiLSTMs to a tag for each word.

    Differs from paper: a linear layer follows the characters' filters.

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. Those for the
            output are laid beside the highest LSTM's states.
    """

    def __init__(self, config: BiLstmTaggerConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(
                config.vocab_size, config.embedding_size, word_dropout=config.word_dropout
            )
        self.embedder = embedder
        self.spelling = config.spelling.build()
        self.dropout = VariationalDropout(config.dropout)
        size = embedder.output_size
        size += 0 if self.spelling is None else self.spelling.output_size
        layers = []
        for hidden_size in config.hidden_sizes:
            layers.append(BiRecurrent(size, hidden_size))
            size = layers[-1].output_size
        self.layers = nn.ModuleList(layers)
        self.output = nn.Linear(size + embedder.added_size, config.output_size)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.crf = Crf(config.output_size) if config.decoder == "crf" else None

    def forward(self, batch: TextBatch) -> TagOutput:
        """Scores of all tags at every word."""
        mask = batch.tokens.mask
        embedded = self.embed(batch)
        states = embedded.at_input
        for layer in self.layers:
            states = layer(self.dropout(states), mask)
        if embedded.at_output is not None:
            states = torch.cat([states, embedded.at_output], dim=-1)
        logits = self.output(self.dropout(states))
        return TagOutput(logits, mask, None if self.crf is None else self.crf())

    def embed(self, batch: TextBatch) -> Embedded:
        """The input of the lowest LSTM, and what is joined to the output of the highest."""
        ids, lexicon = batch.tokens.ids, batch.lexicon
        embedded = Embedded.of(self.embedder(ids, lexicon))
        if self.spelling is None:
            return embedded
        features = self.spelling(ids, lexicon) * batch.tokens.mask.unsqueeze(-1)
        return embedded._replace(at_input=torch.cat([embedded.at_input, features], dim=-1))
