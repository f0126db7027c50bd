"""BiDAF (Seo et al., 2017).  Query: a context's words, and the question.  Key, value: the other.

Score: trilinear. Seo, Kembhavi, Farhadi, Hajishirzi: "Bidirectional Attention Flow for Machine
Comprehension", ICLR 2017; section and equation numbers below are the paper's.

B windows, T words of the context, J of the question, D = 2 * hidden_size, and the embedder's width.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.data import QuestionBatch, Tokens
from softquery.models.config_checks import check_dropout, check_positive
from softquery.nn import (
    BiRecurrent,
    Embedded,
    Highway,
    Lexicon,
    MeetingScore,
    NoAnswer,
    SpanHead,
    SpanOutput,
    SpellingConfig,
    TokenEmbedder,
    TwoWayAttention,
    VariationalDropout,
    WordEmbedding,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BiDafConfig:
    """Sizes of a reader; the defaults are the paper's (Section 4)."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 2
    """Scores a word: of the beginning and of the end."""
    embedding_size: int = 100
    spelling: SpellingConfig = field(
        default_factory=lambda: SpellingConfig(output_size=100, width=5, max_characters=16)
    )
    num_highways: int = 2
    """Highway layers between the embeddings and the first LSTM; 0 for none."""
    hidden_size: int = 100
    """Width of one direction of every LSTM."""
    num_layers: int = 2
    """LSTMs of the modelling layer."""
    score: MeetingScore = "trilinear"
    no_answer: NoAnswer = "never"
    dropout: float = 0.2
    word_dropout: float = 0.0
    """Share of words that the table reads as unknown in training; their characters stay."""

    def __post_init__(self) -> None:
        for name, kind in (("score", MeetingScore), ("no_answer", NoAnswer)):
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r}")
        check_positive(self, "embedding_size", "hidden_size", "num_layers")
        if self.output_size != 2:
            raise ValueError(
                f"output_size must be 2, a beginning and an end, got {self.output_size}"
            )
        if self.num_highways < 0:
            raise ValueError(f"num_highways must not be negative, got {self.num_highways}")
        check_dropout(self, "dropout", "word_dropout")


class EncodedWords(NamedTuple):
    """A question or a context read by itself: all that `read` needs of it, fit to be kept."""

    states: Float[Tensor, "B T D"]
    mask: Bool[Tensor, "B T"]


class BiDaf(nn.Module):
    """Reads a context with a question in mind, and says where the answer begins and ends.

    `encode` reads a question or a context alone; `read` does everything that needs both. A context
    that is asked many questions is encoded once.

    Differs from paper: dropout is variational (one mask a text); a linear layer follows the
    characters' filters.

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. Those for the
            output are laid beside the encoder's states, so that the attention sees them too.
    """

    def __init__(self, config: BiDafConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(
                config.vocab_size, config.embedding_size, word_dropout=config.word_dropout
            )
        self.embedder = embedder
        self.spelling = config.spelling.build()
        size = embedder.output_size
        size += 0 if self.spelling is None else self.spelling.output_size
        self.highways = nn.Sequential(*(Highway(size) for _ in range(config.num_highways)))
        self.encoder = BiRecurrent(size, config.hidden_size)
        width = self.encoder.output_size + embedder.added_size
        self.meeting = TwoWayAttention(width, config.score)
        self.dropout = VariationalDropout(config.dropout)
        widths = [4 * width, *[2 * config.hidden_size] * (config.num_layers - 1)]
        self.modelling = nn.ModuleList(BiRecurrent(each, config.hidden_size) for each in widths)
        self.ending = BiRecurrent(2 * config.hidden_size, config.hidden_size)
        self.head = SpanHead(4 * width + 2 * config.hidden_size, none=config.no_answer)

    def forward(self, batch: QuestionBatch) -> SpanOutput:
        """Scores of where the answer begins and ends."""
        context = self.encode(batch.context, batch.lexicon)
        return self.read(context, self.encode(batch.question, batch.lexicon))

    def encode(self, tokens: Tokens, lexicon: Lexicon) -> EncodedWords:
        """Characters, words and their neighbours (Section 2, layers 1 to 3)."""
        embedded = self._embed(tokens, lexicon)
        inputs = self.highways(embedded.at_input)
        states = self.encoder(self.dropout(inputs), tokens.mask)
        if embedded.at_output is not None:
            states = torch.cat([states, embedded.at_output], dim=-1)
        return EncodedWords(states, tokens.mask)

    def read(self, context: EncodedWords, question: EncodedWords) -> SpanOutput:
        """Attention flow, modelling and output (Section 2, layers 4 to 6, Eqs. 1-4)."""
        met = self.meeting(context.states, question.states, context.mask, question.mask)
        states = met.aware
        for layer in self.modelling:
            states = layer(self.dropout(states), context.mask)
        ending = self.ending(self.dropout(states), context.mask)
        start, end = (
            self.dropout(torch.cat([met.aware, each], dim=-1)) for each in (states, ending)
        )
        output: SpanOutput = self.head(start, context.mask, end)
        return output._replace(scores=met.scores)

    def _embed(self, tokens: Tokens, lexicon: Lexicon) -> Embedded:
        embedded = Embedded.of(self.embedder(tokens.ids, lexicon))
        if self.spelling is None:
            return embedded
        spelt = self.spelling(tokens.ids, lexicon) * tokens.mask.unsqueeze(-1)
        return embedded._replace(at_input=torch.cat([embedded.at_input, spelt], dim=-1))
