"""ESIM (Chen et al., 2017).  Query: each sentence's tokens.  Key, value: the other's.  Score: dot.

Chen, Zhu, Ling, Wei, Jiang, Inkpen: "Enhanced LSTM for Natural Language Inference", ACL 2017. The
sequential model of the paper; section and equation numbers below are the paper's.

Encoder, projection and composer have widths of their own, because the encoder is paid once per text
and the rest once per pair; the paper's are all alike.

B pairs, P tokens of the first sentence, H of the second, T of either, D = 2 * hidden_size (and what
an embedder adds), A `alignment_size`, E width of a composed state, C outputs. States are [B, T, D],
or [B, T, A + D] where there is a projection of them for the alignment, which comes first.
"""

from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import Attended, attend, dot
from softquery.data import PairBatch, Tokens
from softquery.models.config_checks import check_dropout, check_positive
from softquery.models.pair_output import EncodedSentence, PairOutput
from softquery.nn import (
    WINDOWS,
    BiRecurrent,
    Cell,
    Composer,
    ComposerName,
    Embedded,
    Lexicon,
    TokenEmbedder,
    VariationalDropout,
    WindowComposer,
    WordEmbedding,
    max_pool,
    mean_pool,
)

PARTS = ("own", "aligned", "difference", "product")


@dataclass(frozen=True, kw_only=True, slots=True)
class EsimConfig:
    """Sizes of an ESIM; the defaults are the paper's (Section 4)."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 3
    """Number of classes, or 1 for a graded score."""
    embedding_size: int = 300
    hidden_size: int = 300
    """Width of one LSTM direction of the encoder."""
    alignment_size: int = 0
    """Width of a projection of the states that takes their place in the scores and in a ⊙ ã; 0 for
    the states themselves."""
    projection_size: int = 0
    """Width of the projection F, which the composer reads; 0 for `hidden_size`."""
    composer_size: int = 0
    """Width of one direction of a recurrent composer, or of each layer of another; 0 for
    `hidden_size`."""
    cell: Cell = "lstm"
    """Of the encoder, and of the composer where `composer` names none."""
    composer: ComposerName | None = None
    """What reads the comparisons; None for a recurrence of the encoder's `cell`, the paper's."""
    dropout: float = 0.5
    embedding_dropout: float | None = None
    """Dropout of the embeddings; that of the rest where it is not given."""
    parts: tuple[str, ...] = PARTS
    """Which parts of [a; ã; a − ã; a ⊙ ã] are composed; `("own",)` alone means no alignment."""

    def __post_init__(self) -> None:
        if not self.parts or not set(self.parts) <= set(PARTS):
            raise ValueError(f"parts must be some of {PARTS}, got {self.parts}")
        check_positive(self, "output_size", "embedding_size", "hidden_size")
        for name in ("alignment_size", "projection_size", "composer_size"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.alignment_size and self.parts == ("own",):
            raise ValueError(f"parts {self.parts} align nothing, so alignment_size must be 0")
        if self.composer is not None and self.composer not in get_args(ComposerName):
            known = get_args(ComposerName)
            raise ValueError(f"composer must be one of {known}, got {self.composer!r}")
        check_dropout(self, "dropout")
        if self.embedding_dropout is not None:
            check_dropout(self, "embedding_dropout")


def make_composer(
    name: ComposerName, input_size: int, hidden_size: int, *, dropout: float = 0.0
) -> Composer:
    """What reads [B, T, P] after the comparison: [B, T, E], zeros at padding (Section 3.3).

    Args:
        name: `"lstm"` and `"gru"` read from both ends; `"feedforward"` sees each token alone;
            `"convolution"` sees it between its neighbours.
        input_size: P.
        hidden_size: Width of one direction, or of each layer.
        dropout: Between the layers of those without recurrence.

    >>> [make_composer(name, 8, 4).output_size for name in ("lstm", "gru", "convolution")]
    [8, 8, 4]
    """
    if name == "lstm" or name == "gru":
        return BiRecurrent(input_size, hidden_size, cell=name)
    return WindowComposer(input_size, hidden_size, window=WINDOWS[name], dropout=dropout)


def align(own: EncodedSentence, other: EncodedSentence, size: int = 0) -> Attended:
    """What `other` says about each token of `own` (Section 3.2, Eqs. 11-13).

    Args:
        own: Whose tokens ask.
        other: Whose tokens are asked, and mixed.
        size: How many features, from the first, are scored; 0 for all of them.
    """
    query, key = (side.states[..., : size or None] for side in (own, other))
    return attend(query, key, other.states, score=dot, mask=other.mask.unsqueeze(1))


def contrast(
    own: Float[Tensor, "B T D"],
    aligned: Float[Tensor, "B T D"],
    parts: tuple[str, ...] = PARTS,
    size: int = 0,
) -> Float[Tensor, "B T E"]:
    """[a; ã; a − ã; a ⊙ ã], which sharpens agreement and contrast (Section 3.2, Eqs. 14-15).

    Args:
        own: a.
        aligned: ã.
        parts: Those that are made.
        size: How many features, from the first, are multiplied, while the others are in the other
            parts; 0 for all of them in all.
    """
    wide, wide_aligned = own[..., size:], aligned[..., size:]
    made = {
        "own": wide,
        "aligned": wide_aligned,
        "difference": wide - wide_aligned,
        "product": own[..., : size or None] * aligned[..., : size or None],
    }
    return torch.cat([made[part] for part in parts], dim=-1)


def part_sizes(config: EsimConfig, width: int) -> list[int]:
    """How wide each of the parts is that `contrast` makes of states of this width.

    >>> part_sizes(EsimConfig(alignment_size=8), 20)
    [20, 20, 20, 8]
    """
    product = config.alignment_size or width
    return [product if part == "product" else width for part in config.parts]


def _stacked(first: Tensor, second: Tensor) -> Tensor:
    """Both sides as one batch of twice as many rows, the shorter side padded with zeros.

    A stored side was padded when it was stored, so it may be longer or shorter than the other.
    """
    length = max(first.shape[1], second.shape[1])
    return torch.cat([_padded(side, length) for side in (first, second)])


def _padded(side: Tensor, length: int) -> Tensor:
    more = length - side.shape[1]
    return F.pad(side, (*(0, 0) * (side.dim() - 2), 0, more)) if more else side


class Esim(nn.Module):
    """Soft alignment both ways between two sentences, then inference over what was aligned.

    Differs from paper: dropout before the two BiLSTMs is variational (one mask per sentence).
    Differs from paper: projection and composer may be thinner than the encoder, and the composer
    may be a GRU, a feed-forward network or a convolution (`softquery.nn.composers`); the hidden
    layer of the classifier is as wide as the composer's.
    Differs from paper: scores and a ⊙ ã may be of a narrower projection of the states
    (`alignment_size`), which belongs to one sentence alone; so does the same projection of ã, a
    mixture of the other's. With the defaults, all are the paper's.

    `encode` reads one sentence alone; `compare` does everything that needs both. A side that is
    compared many times is encoded once.

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. Those for the
            output are laid beside the encoder's states, so that the alignment sees them too.
    """

    def __init__(self, config: EsimConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(config.vocab_size, config.embedding_size)
        self.embedder = embedder
        embedding_dropout = config.embedding_dropout
        self.embedding_dropout = VariationalDropout(
            config.dropout if embedding_dropout is None else embedding_dropout
        )
        self.encoder = BiRecurrent(embedder.output_size, config.hidden_size, cell=config.cell)
        width = self.encoder.output_size + embedder.added_size
        projection_size = config.projection_size or config.hidden_size
        composer_size = config.composer_size or config.hidden_size
        if config.alignment_size:
            self.alignment = nn.Linear(width, config.alignment_size, bias=False)
            # Inner products of the states are kept in the mean (Johnson & Lindenstrauss).
            nn.init.normal_(self.alignment.weight, std=config.alignment_size**-0.5)
        self.project = nn.Sequential(
            nn.Linear(sum(part_sizes(config, width)), projection_size), nn.ReLU()
        )
        self.dropout = VariationalDropout(config.dropout)
        self.composer = make_composer(
            config.composer or config.cell, projection_size, composer_size, dropout=config.dropout
        )
        self.classifier = nn.Sequential(
            nn.Dropout(config.dropout),
            nn.Linear(4 * self.composer.output_size, composer_size),
            nn.Tanh(),
            nn.Dropout(config.dropout),
            nn.Linear(composer_size, config.output_size),
        )
        for module in (*self.project, *self.classifier):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, batch: PairBatch) -> PairOutput:
        """Encode both sides in one go (the encoder is shared) and compare them."""
        both = self.encode(batch.first.beside(batch.second), batch.lexicon)
        states, masks = batch.apart(both.states), batch.apart(both.mask)
        return self.compare(*map(EncodedSentence, states, masks))

    def encode(self, tokens: Tokens, lexicon: Lexicon | None = None) -> EncodedSentence:
        """Input encoding (Section 3.1, Eqs. 1-2); with a lexicon, ids are its rows."""
        embedded = Embedded.of(self.embedder(tokens.ids, lexicon))
        states = self.encoder(self.embedding_dropout(embedded.at_input), tokens.mask)
        if embedded.at_output is not None:
            states = torch.cat([states, embedded.at_output], dim=-1)
        if self.config.alignment_size:
            states = torch.cat([self.alignment(states), states], dim=-1)
        return EncodedSentence(states, tokens.mask)

    def compare(self, first: EncodedSentence, second: EncodedSentence) -> PairOutput:
        """Local inference, composition, prediction (Sections 3.2 and 3.3)."""
        if self.config.parts == ("own",):
            return PairOutput(self._predict(first, second, first.states, second.states))
        to_second = align(first, second, self.config.alignment_size)
        to_first = align(second, first, self.config.alignment_size)
        logits = self._predict(first, second, to_second.mixed, to_first.mixed)
        return PairOutput(logits, to_second.weights, to_first.weights)

    def _predict(
        self,
        first: EncodedSentence,
        second: EncodedSentence,
        about_first: Float[Tensor, "B P D"],
        about_second: Float[Tensor, "B H D"],
    ) -> Float[Tensor, "B C"]:
        """Pooled compositions of both sides to logits (Section 3.3, Eqs. 18-20)."""
        size = len(first.mask)
        own = _stacked(first.states, second.states)
        mask = _stacked(first.mask, second.mask)
        composed = self._compose(own, _stacked(about_first, about_second), mask)
        pooled = torch.cat([mean_pool(composed, mask), max_pool(composed, mask)], dim=-1)
        logits: Tensor = self.classifier(torch.cat([pooled[:size], pooled[size:]], dim=-1))
        return logits

    def _compose(
        self,
        own: Float[Tensor, "B T D"],
        aligned: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T E"]:
        """The projection F and the composer, the paper's second BiLSTM (Section 3.3).

        Eqs. 16-17 show F in the tree's form; the sequential model reads it by Eqs. 1-2.
        """
        parts = contrast(own, aligned, self.config.parts, self.config.alignment_size)
        local = self.project(parts)
        composed: Tensor = self.composer(self.dropout(local), mask)
        return composed
