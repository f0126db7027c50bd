"""Where an answer begins and where it ends: the head that any encoder of a context can carry.

B pairs, T words of a context, D and E widths.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

NoAnswer = Literal["never", "learnt"]
"""Whether a context always holds an answer, or it is learnt that it may not."""


class SpanOutput(NamedTuple):
    """Scores of every word, as low as can be at padding, and of no answer where that is learnt."""

    start: Float[Tensor, "B T"]
    end: Float[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    none: Float[Tensor, "*B two"] | None = None
    """Of no beginning and of no end: the same for every context, or of each."""
    scores: Float[Tensor, "B T J"] | None = None
    """Of the words of the context with those of the question, where the model compares them."""


class SpanHead(nn.Module):
    """One score a word for the beginning and one for the end (Seo et al. 2017, Eqs. 3-4).

    With `"learnt"`, "no answer" is one more place with a score of its own, as Levy et al. (2017,
    Section 5) added it.

    Args:
        start_size: Width of what the beginning is read from.
        end_size: Width of what the end is read from; the same by default.
        none: `"never"` or `"learnt"`.
    """

    def __init__(
        self, start_size: int, end_size: int | None = None, *, none: NoAnswer = "never"
    ) -> None:
        super().__init__()
        if none not in get_args(NoAnswer):
            raise ValueError(f"none must be one of {get_args(NoAnswer)}, got {none!r}")
        # A bias would move all words alike, which no softmax sees.
        self.start = nn.Linear(start_size, 1, bias=False)
        self.end = nn.Linear(start_size if end_size is None else end_size, 1, bias=False)
        self.none = nn.Parameter(torch.zeros(2)) if none == "learnt" else None
        for layer in (self.start, self.end):
            nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        ending: Float[Tensor, "B T E"] | None = None,
    ) -> SpanOutput:
        """Scores of both ends; without `ending`, both are read from the same states."""
        start, end = (
            layer(features).squeeze(-1).float().masked_fill(~mask, torch.finfo(torch.float32).min)
            for layer, features in (
                (self.start, states),
                (self.end, states if ending is None else ending),
            )
        )
        return SpanOutput(start, end, mask, self.none)
