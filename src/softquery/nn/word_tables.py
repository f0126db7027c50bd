"""The words of a source and of a target: tables to read them by, and to predict them with.

B sentences, T tokens, D width, V words of the target.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

Tie = Literal["none", "output", "all"]
"""Tables of their own; the target's words predicted by the table that reads them; one for all."""


class WordTables(nn.Module):
    """Up to three tables of words, tied as asked (Press & Wolf 2017, Sections 2 and 4).

    `"output"` lets the target's table predict as well as read. `"all"` is for one vocabulary on
    both sides, whose single table does everything (Vaswani et al. 2017, Section 3.4). A table that
    is shared exists, and is stored, once.

    Args:
        source_vocab_size: Words of the source, padding included.
        target_vocab_size: Words of the target.
        size: Width of a word's vector.
        output_size: Width of the states that words are predicted from; they are brought to `size`
            where a tied table needs it.
        tie: `"none"`, `"output"` or `"all"`.
        std: How far random vectors lie from zero at the beginning.
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
        """How well each word of the target would follow."""
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
