"""Where an answer begins and where it ends: the head that any encoder of a context can carry.

B pairs, T words of a context, D and E widths.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

NoAnswer = Literal["never", "learnt"]
"""Whether a context always holds an answer, or the score of "no answer" is learned."""


class SpanOutput(NamedTuple):
    """Scores of every word, the lowest float at padding, and of "no answer" where it is learned."""

    start: Float[Tensor, "B T"]
    end: Float[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    none: Float[Tensor, "*B two"] | None = None
    """Scores of no beginning and of no end: the same for every context, or one for each."""
    scores: Float[Tensor, "B T J"] | None = None
    """Scores of the context's words with the question's, where the model compares them."""


class SpanHead(nn.Module):
    """One score per word for the beginning and one for the end (Seo et al. 2017, Eqs. 3-4).

    With `"learnt"`, "no answer" is one more place with a score of its own, as in Levy et al.
    (2017).

    Args:
        start_size: Width of the states that the beginning is scored from.
        end_size: Width of the states that the end is scored from; the same by default.
        none: `"never"` or `"learnt"`.
    """

    def __init__(
        self, start_size: int, end_size: int | None = None, *, none: NoAnswer = "never"
    ) -> None:
        super().__init__()
        if none not in get_args(NoAnswer):
            raise ValueError(f"none must be one of {get_args(NoAnswer)}, got {none!r}")
        # A bias would shift all words equally, and a softmax does not change by that.
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
        """Scores of both ends; without `ending`, both come from the same states."""
        start, end = (
            layer(features).squeeze(-1).float().masked_fill(~mask, torch.finfo(torch.float32).min)
            for layer, features in (
                (self.start, states),
                (self.end, states if ending is None else ending),
            )
        )
        return SpanOutput(start, end, mask, self.none)
