"""BERT with one thin layer for a task (Devlin et al., 2019, Section 3.2 and Figure 4).

The second file of the system in `bert.py`: the same encoder with an output layer on its states. One
text or a packed pair is classified by its first token, a word is tagged by its first piece, and an
answer begins and ends where two learned vectors score highest.

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
Segments = Int[Tensor, "B T"] | None


def _encoder_with_pooler() -> BertConfig:
    """The paper's base model without its pretraining heads."""
    return BertConfig(heads="none")


def _encoder_without_pooler() -> BertConfig:
    """The paper's base model without its pretraining heads and without the pooler."""
    return BertConfig(heads="none", pooler=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class BertClassifierConfig:
    """One text, one class (Figure 4b)."""

    encoder: BertConfig = field(default_factory=_encoder_with_pooler)
    output_size: int = 2
    """Number of classes."""
    dropout: float = 0.1
    """Dropout of the vector that the classes are predicted from."""

    def __post_init__(self) -> None:
        _check(self, pooler="there")


class BertClassifier(nn.Module):
    """The class of one text, from the pooled state of its first token (Section 4.1).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder, self.dropout, self.output = _parts(config)

    def forward(self, batch: TextBatch) -> ClassOutput:
        """Logits of each text."""
        return ClassOutput(self.scores(batch.tokens))

    def scores(self, tokens: Tokens, segments: Segments = None) -> Float[Tensor, "B C"]:
        """Logits of each row."""
        return _logits(self, _pooled(self.encoder, tokens, segments))

    def looks(self, tokens: Tokens) -> Float[Tensor, "B T"]:
        """The weights of the first token in the highest layer, mean over heads.

        They hint at what the model looked at; they do not prove what decided.
        """
        return self.encoder.look(tokens)[:, -1].mean(dim=1)[:, 0]


@dataclass(frozen=True, kw_only=True, slots=True)
class BertMatcherConfig:
    """Two texts in one row, one class or grade (Figure 4a)."""

    encoder: BertConfig = field(default_factory=_encoder_with_pooler)
    output_size: int = 2
    """Number of classes; 1 for a grade."""
    dropout: float = 0.1

    def __post_init__(self) -> None:
        _check(self, pooler="there")


class BertMatcher(nn.Module):
    """What two texts are to each other, read as one row: `[CLS] a [SEP] b [SEP]` (Section 3.2).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertMatcherConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder, self.dropout, self.output = _parts(config)

    def forward(self, batch: PieceBatch) -> PairOutput:
        """Logits of each pair."""
        return PairOutput(self.scores(batch.tokens, batch.segments))

    def scores(self, tokens: Tokens, segments: Segments = None) -> Float[Tensor, "B C"]:
        """Logits of each row."""
        return _logits(self, _pooled(self.encoder, tokens, segments))


@dataclass(frozen=True, kw_only=True, slots=True)
class BertTaggerConfig:
    """A tag for every word (Figure 4d)."""

    encoder: BertConfig = field(default_factory=_encoder_without_pooler)
    output_size: int = 2
    """Number of tags."""
    dropout: float = 0.1
    decoder: Decoder = "softmax"
    """`"softmax"` tags words separately, as in the paper; `"crf"` as a chain."""

    def __post_init__(self) -> None:
        if self.decoder not in get_args(Decoder):
            raise ValueError(f"decoder must be crf or softmax, got {self.decoder!r}")
        _check(self, pooler="none")


class BertTagger(nn.Module):
    """A tag for every word, by the state of its first piece (Section 5.3).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertTaggerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder, self.dropout, self.output = _parts(config)
        self.crf = Crf(config.output_size) if config.decoder == "crf" else None

    def forward(self, batch: WordPieceBatch) -> TagOutput:
        """Scores of all tags at every word."""
        scores = self.scores(batch.tokens)
        places = batch.places.unsqueeze(-1).expand(-1, -1, scores.shape[-1])
        transitions = None if self.crf is None else self.crf()
        return TagOutput(scores.gather(1, places), batch.word_mask, transitions)

    def scores(self, tokens: Tokens, segments: Segments = None) -> Float[Tensor, "B T C"]:
        """Scores of all tags at every piece."""
        return _logits(self, self.encoder.encode(tokens, segments).states)


@dataclass(frozen=True, kw_only=True, slots=True)
class BertReaderConfig:
    """Where the answer to a question is in a context (Figure 4c)."""

    encoder: BertConfig = field(default_factory=_encoder_without_pooler)
    output_size: int = 2
    """Scores per piece: of the beginning and of the end."""
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


class BertReader(nn.Module):
    """The beginning and the end of the answer, in `[CLS] question [SEP] context [SEP]`.

    Where there may be none, the first token stands for it (Sections 4.2 and 4.3).

    Args:
        config: The sizes.
    """

    def __init__(self, config: BertReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder, self.dropout, self.output = _parts(config)

    def forward(self, batch: PieceBatch) -> SpanOutput:
        """Scores of every piece; outside of the context the lowest float."""
        scores = self.scores(batch.tokens, batch.segments).float()
        mask = batch.inside_second()
        none = scores[:, 0] if self.config.no_answer == "learnt" else None
        start, end = (
            each.masked_fill(~mask, torch.finfo(torch.float32).min)
            for each in scores.unbind(dim=-1)
        )
        return SpanOutput(start, end, mask, none)

    def scores(self, tokens: Tokens, segments: Segments = None) -> Float[Tensor, "B T 2"]:
        """Scores of the beginning and of the end at every piece."""
        return _logits(self, self.encoder.encode(tokens, segments).states)


BertHeadConfig = BertClassifierConfig | BertMatcherConfig | BertTaggerConfig | BertReaderConfig
BertHead = BertClassifier | BertMatcher | BertTagger | BertReader


def _parts(config: BertHeadConfig) -> tuple[Bert, nn.Dropout, nn.Linear]:
    """The parts of every head: the encoder, dropout, and the one layer that a task adds."""
    encoder = Bert(config.encoder)
    output = nn.Linear(encoder.output_size, config.output_size)
    nn.init.normal_(output.weight, std=INITIAL_STD)
    nn.init.zeros_(output.bias)
    return encoder, nn.Dropout(config.dropout), output


def _logits(head: BertHead, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N C"]:
    """The head's own layer over states, after dropout."""
    scores: Tensor = head.output(head.dropout(states))
    return scores


def _pooled(encoder: Bert, tokens: Tokens, segments: Segments) -> Float[Tensor, "B D"]:
    """A vector for each row: the pooled state of its first token."""
    return encoder.pool(encoder.encode(tokens, segments).states[:, 0])


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
