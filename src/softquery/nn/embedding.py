"""Vectors of tokens: tables of words, positions and segments, and the tables that predict words.

Beside them, the dropout of such vectors that holds still in time.

*B batch axes, B sentences, T tokens or positions, D and E widths, V words of the target.
"""

import math
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.lexicon import Lexicon
from softquery.nn.small_layers import LayerNorm
from softquery.text import PAD_ID, UNK_ID


class Embedded(NamedTuple):
    """Vectors for a model's input, and vectors to lay beside the states of its encoder."""

    at_input: Float[Tensor, "B T D"]
    at_output: Float[Tensor, "B T E"] | None = None

    @classmethod
    def of(cls, given: "Tensor | Embedded") -> "Embedded":
        """What a `TokenEmbedder` gave; a tensor alone is for the input."""
        return cls(given) if isinstance(given, Tensor) else given


@runtime_checkable
class TokenEmbedder(Protocol):
    """A module that gives tokens their vectors: `WordEmbedding`, `ElmoEmbedder`, or your own."""

    output_size: int
    """Width of the vectors for a model's input."""
    added_size: int
    """Width of those to lay beside its encoder's states; 0 where there are none."""

    def __call__(
        self, ids: Int[Tensor, "B T"], lexicon: Lexicon | None = None
    ) -> Tensor | Embedded:
        """The vectors of all tokens; with a lexicon, ids are its rows."""


class VariationalDropout(nn.Module):
    """Drops the same features at every step of a sequence (Gal & Ghahramani 2016, Section 4).

    Drawing a new mask at each step, as plain dropout does, lets noise accumulate in a recurrent
    state; one mask per sentence does not.

    Args:
        dropout: The share of features to drop, in [0, 1).
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        self.dropout = dropout

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Scale what is kept by 1 / (1 - dropout); do nothing in evaluation."""
        if not self.training or self.dropout == 0:
            return inputs
        ones = inputs.new_ones(inputs.shape[0], 1, inputs.shape[2])
        return inputs * F.dropout(ones, self.dropout, training=True)

    def extra_repr(self) -> str:
        """Show the probability when the module is printed."""
        return f"dropout={self.dropout}"


class WordEmbedding(nn.Module):
    """A table with one vector per word; row 0 is padding and stays zero.

    Args:
        vocab_size: Number of words, padding included.
        embedding_size: Width of a vector.
        word_dropout: Share of words that are read as `<unk>` in training, so that its vector is
            trained too.
    """

    def __init__(self, vocab_size: int, embedding_size: int, *, word_dropout: float = 0.0) -> None:
        super().__init__()
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be positive, got {vocab_size}")
        if not 0 <= word_dropout < 1:
            raise ValueError(f"word_dropout must be in [0, 1), got {word_dropout}")
        self.output_size, self.added_size = embedding_size, 0
        self.word_dropout = word_dropout
        self.table = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        nn.init.normal_(self.table.weight, std=0.1)
        self.table.weight.data[0].zero_()

    def forward(
        self, ids: Int[Tensor, "B T"], lexicon: Lexicon | None = None
    ) -> Float[Tensor, "B T D"]:
        """Look every id up; with a lexicon, ids are its rows."""
        words = ids if lexicon is None else lexicon.words[ids]
        if self.training and self.word_dropout:
            chosen = torch.rand(words.shape, device=words.device) < self.word_dropout
            words = words.masked_fill(chosen & (words != PAD_ID), UNK_ID)
        vectors: Tensor = self.table(words)
        return vectors


class InputEmbedding(nn.Module):
    """The sum of token, position and segment, normalised (Devlin et al. 2019, Figure 2).

    Without segments it is the sum of the other two. Tables that are narrower than the states are
    followed by a linear layer, so that a vocabulary costs less (Lan et al. 2020, Section 3.1).

    Args:
        vocab_size: Rows of the table of tokens.
        max_length: Positions that are learned.
        num_segments: Number of texts that are distinguished; 0 for none, and no table of them.
        size: Width of the tables.
        output_size: Width of the output where it is another, by a linear layer; 0 for none.
        dropout: Dropout of the normalised sum.
        eps: Epsilon of the normalisation.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        num_segments: int,
        size: int,
        *,
        output_size: int = 0,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocab_size, size)
        self.positions = nn.Embedding(max_length, size)
        self.segments = nn.Embedding(num_segments, size) if num_segments else None
        self.norm = LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(dropout)
        self.widen = nn.Linear(size, output_size) if output_size else None

    def forward(
        self,
        ids: Int[Tensor, "*B"],
        positions: Int[Tensor, "*#B"],
        segments: Int[Tensor, "*B"] | None = None,
    ) -> Float[Tensor, "*B D"]:
        """Look all three up; positions may be the same for every row."""
        summed = self.words(ids) + self.positions(positions)
        if self.segments is not None:
            summed = summed + self.segments(segments)
        vectors: Tensor = self.dropout(self.norm(summed))
        return vectors if self.widen is None else self.widen(vectors)


PositionKind = Literal["sinusoidal", "learned"]


def sinusoids(
    length: int, size: int, *, device: torch.device | str | None = None
) -> Float[Tensor, "{length} {size}"]:
    """Sines and cosines of growing wavelength (Vaswani et al. 2017, Section 3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i + 1) = cos of the same.

    >>> sinusoids(2, 2).tolist()[0]
    [0.0, 1.0]
    """
    place = torch.arange(length, dtype=torch.float32, device=device).unsqueeze(1)
    even = torch.arange(0, size, 2, dtype=torch.float32, device=device)
    angle = place * torch.exp(even * (-math.log(10_000.0) / size))  # [T, D / 2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :size]


class Positions(nn.Module):
    """A vector for every position: computed for any number of them, or learned.

    Args:
        kind: `"sinusoidal"`, which is defined for any length, or `"learned"`, which is not.
        size: Width.
        max_length: Positions that are learned, or computed in advance.
    """

    table: Tensor

    def __init__(self, kind: PositionKind, size: int, max_length: int) -> None:
        super().__init__()
        if kind not in get_args(PositionKind):
            raise ValueError(f"kind must be one of {get_args(PositionKind)}, got {kind!r}")
        if max_length < 1:
            raise ValueError(f"max_length must be positive, got {max_length}")
        self.kind = kind
        if kind == "learned":
            self.table = nn.Parameter(size**-0.5 * torch.randn(max_length, size))
        else:
            self.register_buffer("table", sinusoids(max_length, size), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} D"]:
        """The vectors of `length` positions, counted from `start`."""
        end, known = start + length, len(self.table)
        if end <= known:
            return self.table[start:end]
        if self.kind == "learned":
            raise ValueError(f"{known} positions were learned, but {end} are asked for")
        return sinusoids(end, self.table.shape[1], device=self.table.device)[start:]


Tie = Literal["none", "output", "all"]
"""Three tables; the target's words predicted by the table that reads them; one table for all."""


class WordTables(nn.Module):
    """Up to three tables of words, tied as `tie` says (Press & Wolf 2017).

    `"output"` lets the target's table predict as well as read. `"all"` is for one vocabulary on
    both sides, whose single table does everything (Vaswani et al. 2017, Section 3.4). A table that
    is shared exists, and is stored, once.

    Args:
        source_vocab_size: Words of the source, padding included.
        target_vocab_size: Words of the target.
        size: Width of a word's vector.
        output_size: Width of the states that words are predicted from; they are projected to `size`
            where a tied table needs it.
        tie: `"none"`, `"output"` or `"all"`.
        std: Standard deviation of the initial vectors.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        size: int,
        *,
        output_size: int,
        tie: Tie,
        std: float = 0.1,
    ) -> None:
        super().__init__()
        if tie not in get_args(Tie):
            raise ValueError(f"tie must be one of {get_args(Tie)}, got {tie!r}")
        if min(source_vocab_size, target_vocab_size) < 1:
            raise ValueError(
                f"source_vocab_size and target_vocab_size must be positive, got "
                f"{source_vocab_size} and {target_vocab_size}"
            )
        if tie == "all" and source_vocab_size != target_vocab_size:
            raise ValueError(
                f"tie='all' needs one vocabulary, got source_vocab_size={source_vocab_size} and "
                f"target_vocab_size={target_vocab_size}"
            )
        self.target = _table(target_vocab_size, size, std)
        self.source = None if tie == "all" else _table(source_vocab_size, size, std)
        self.output = (
            None
            if tie != "none"
            else nn.Parameter(output_size**-0.5 * torch.randn(target_vocab_size, output_size))
        )
        self.narrow = (
            nn.Linear(output_size, size, bias=False)
            if tie != "none" and output_size != size
            else None
        )
        self.bias = nn.Parameter(torch.zeros(target_vocab_size))

    def read_source(self, ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B D"]:
        """Vectors of the source's words."""
        vectors: Tensor = (self.target if self.source is None else self.source)(ids)
        return vectors

    def read_target(self, ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B D"]:
        """Vectors of the target's words."""
        vectors: Tensor = self.target(ids)
        return vectors

    def logits(self, states: Float[Tensor, "*B E"]) -> Float[Tensor, "*B V"]:
        """Logits of the next word of the target."""
        if self.narrow is not None:
            states = self.narrow(states)
        return F.linear(
            states, self.target.weight if self.output is None else self.output, self.bias
        )


def _table(vocab_size: int, size: int, std: float) -> nn.Embedding:
    table = nn.Embedding(vocab_size, size, padding_idx=0)
    nn.init.normal_(table.weight, std=std)
    table.weight.data[0].zero_()
    return table
