"""BERT with one thin layer for a task (Devlin et al., 2019, Section 3.2 and Figure 4).

The second file of the system in `bert.py`: the same encoder, and what reads the answer off its
states. One text or a packed pair is judged by its first token, which has asked all others; a word
is tagged by its first piece; an answer begins and ends where two learned vectors say.

B rows, T pieces, W words, C classes or tags, D width.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softquery.data import PieceBatch, TextBatch, Tokens, WordPieceBatch
from softquery.models.bert import INITIAL_STD, Bert, BertConfig
from softquery.models.outputs import ClassOutput, TagOutput
from softquery.models.pair_output import PairOutput
from softquery.nn import Crf, NoAnswer, SpanOutput

Decoder = Literal["crf", "softmax"]


def _bare() -> BertConfig:
    """The paper's base model without what it was pretrained with."""
    return BertConfig(heads="none")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertClassifierConfig:
    """One text, one class (Figure 4b)."""

    encoder: BertConfig = field(default_factory=_bare)
    output_size: int = 2
    """Classes."""
    dropout: float = 0.1
    """Of what the classes are read off."""

    def __post_init__(self) -> None:
        _check(self, pooler="there")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertMatcherConfig:
    """Two texts in one row, one class or grade (Figure 4a)."""

    encoder: BertConfig = field(default_factory=_bare)
    output_size: int = 2
    """Classes; 1 for a grade."""
    dropout: float = 0.1

    def __post_init__(self) -> None:
        _check(self, pooler="there")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertTaggerConfig:
    """A tag for every word (Figure 4d)."""

    encoder: BertConfig = field(default_factory=lambda: BertConfig(heads="none", pooler=False))
    output_size: int = 2
    """Tags."""
    dropout: float = 0.1
    decoder: Decoder = "softmax"
    """Tags one by one, as in the paper, or as a chain."""

    def __post_init__(self) -> None:
        if self.decoder not in get_args(Decoder):
            raise ValueError(f"decoder must be crf or softmax, got {self.decoder!r}")
        _check(self, pooler="none")


@dataclass(frozen=True, kw_only=True, slots=True)
class BertReaderConfig:
    """Where in a context the answer to a question stands (Figure 4c)."""

    encoder: BertConfig = field(default_factory=lambda: BertConfig(heads="none", pooler=False))
    output_size: int = 2
    """Scores a piece: of the beginning and of the end."""
    dropout: float = 0.0
    no_answer: NoAnswer = "never"

    def __post_init__(self) -> None:
        if self.no_answer not in get_args(NoAnswer):
            raise ValueError(f"no_answer must be never or learnt, got {self.no_answer!r}")
        if self.output_size != 2:
            raise ValueError(
                f"output_size must be 2, a beginning and an end, got {self.output_size}"
            )
        _check(self, pooler="none")


BertHeadConfig = BertClassifierConfig | BertMatcherConfig | BertTaggerConfig | BertReaderConfig


class BertClassifier(nn.Module):
    """The class of one text, from the pooled state of its first token (Section 4.1).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Bert(config.encoder)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(config.encoder.hidden_size, config.output_size)

    def forward(self, batch: TextBatch) -> ClassOutput:
        """Logits of each text."""
        return ClassOutput(self.scores(batch.tokens))

    def scores(
        self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B C"]:
        """Logits of each row."""
        pooled = _pooled(self.encoder, tokens, segments)
        scores: Tensor = self.output(self.dropout(pooled))
        return scores

    def looks(self, tokens: Tokens) -> Float[Tensor, "B T"]:
        """Whom the first token asked in the highest layer, mean over heads.

        A hint at what was looked at, and no proof of what decided.
        """
        return self.encoder.look(tokens)[:, -1].mean(dim=1)[:, 0]

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the head."""
        return layers_above(name, self.config.encoder.num_layers)


class BertMatcher(nn.Module):
    """What two texts are to each other, read as one row: `[CLS] a [SEP] b [SEP]` (Section 3.2).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertMatcherConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Bert(config.encoder)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(config.encoder.hidden_size, config.output_size)

    def forward(self, batch: PieceBatch) -> PairOutput:
        """Logits of each pair."""
        return PairOutput(self.scores(batch.tokens, batch.segments))

    def scores(
        self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B C"]:
        """Logits of each row."""
        pooled = _pooled(self.encoder, tokens, segments)
        scores: Tensor = self.output(self.dropout(pooled))
        return scores

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the head."""
        return layers_above(name, self.config.encoder.num_layers)


class BertTagger(nn.Module):
    """A tag for every word, by the state of its first piece (Section 5.3).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertTaggerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Bert(config.encoder)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(config.encoder.hidden_size, config.output_size)
        self.crf = Crf(config.output_size) if config.decoder == "crf" else None

    def forward(self, batch: WordPieceBatch) -> TagOutput:
        """Scores of all tags at every word."""
        scores = self.scores(batch.tokens)
        places = batch.places.unsqueeze(-1).expand(-1, -1, scores.shape[-1])
        transitions = None if self.crf is None else self.crf()
        return TagOutput(scores.gather(1, places), batch.word_mask, transitions)

    def scores(
        self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """Of all tags at every piece."""
        states = self.encoder.encode(tokens, segments).states
        scores: Tensor = self.output(self.dropout(states))
        return scores

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the head."""
        return layers_above(name, self.config.encoder.num_layers)


class BertReader(nn.Module):
    """The beginning and the end of the answer, in `[CLS] question [SEP] context [SEP]`.

    Where there may be none, the first token stands for it (Sections 4.2 and 4.3).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Bert(config.encoder)
        self.dropout = nn.Dropout(config.dropout)
        self.output = _output_layer(config.encoder.hidden_size, config.output_size)

    def forward(self, batch: PieceBatch) -> SpanOutput:
        """Scores of every piece, as low as can be outside of the context."""
        scores = self.scores(batch.tokens, batch.segments).float()
        mask = batch.inside_second()
        none = scores[:, 0] if self.config.no_answer == "learnt" else None
        start, end = (
            each.masked_fill(~mask, torch.finfo(torch.float32).min)
            for each in scores.unbind(dim=-1)
        )
        return SpanOutput(start, end, mask, none)

    def scores(
        self, tokens: Tokens, segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T 2"]:
        """Of beginning and end at every piece."""
        states = self.encoder.encode(tokens, segments).states
        scores: Tensor = self.output(self.dropout(states))
        return scores

    def layers_above(self, name: str) -> int:
        """How many layers lie between a parameter and the head."""
        return layers_above(name, self.config.encoder.num_layers)


BertHead = BertClassifier | BertMatcher | BertTagger | BertReader


def layers_above(name: str, num_layers: int) -> int:
    """Between a parameter of an encoder and the head that stands on it.

    >>> names = ("output.bias", "encoder.blocks.1.x", "encoder.blocks.0.x", "encoder.embedding.x")
    >>> [layers_above(name, 2) for name in names]
    [0, 1, 2, 3]
    """
    if name.startswith("encoder.embedding."):
        return num_layers + 1
    if name.startswith("encoder.blocks."):
        return num_layers - int(name.split(".")[2])
    return 0


def _pooled(
    encoder: Bert, tokens: Tokens, segments: Int[Tensor, "B T"] | None
) -> Float[Tensor, "B D"]:
    return encoder.pool(encoder.encode(tokens, segments).states[:, 0])


def _output_layer(size: int, output_size: int) -> nn.Linear:
    layer = nn.Linear(size, output_size)
    nn.init.normal_(layer.weight, std=INITIAL_STD)
    nn.init.zeros_(layer.bias)
    return layer


def _check(config: BertHeadConfig, *, pooler: Literal["there", "none"]) -> None:
    encoder = config.encoder
    if encoder.heads != "none":
        raise ValueError(f"encoder.heads must be none under another head, got {encoder.heads!r}")
    if encoder.direction != "both":
        raise ValueError("encoder.direction must be both: every token sees both sides")
    if encoder.pooler != (pooler == "there"):
        wanted = "true" if pooler == "there" else "false"
        raise ValueError(f"encoder.pooler must be {wanted} under this head")
    if config.output_size < 1:
        raise ValueError(f"output_size must be positive, got {config.output_size}")
    if not 0 <= config.dropout < 1:
        raise ValueError(f"dropout must be in [0, 1), got {config.dropout}")
