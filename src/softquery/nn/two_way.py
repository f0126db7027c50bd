"""Two texts that ask each other: a context its question, and the question its context.

B pairs, T words of a context, J of a question, D width.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import Bilinear, Score, Trilinear, attend, dot, scaled_dot

MeetingScore = Literal["trilinear", "bilinear", "dot", "scaled_dot"]


class TwoWayOutput(NamedTuple):
    """A context that has met its question, and how well each word answered each."""

    aware: Float[Tensor, "B T E"]
    """[h; ũ; h ∘ ũ; h ∘ h̃] at every word of the context: E is 4 D."""
    scores: Float[Tensor, "B T J"]
    """Of every word of the context with every word of the question, before any softmax."""


class TwoWayAttention(nn.Module):
    """Attention flow in both directions over one table of scores (Seo et al. 2017, Section 2).

    Each word of the context asks the words of the question (ũ). The question as a whole, by that
    word of it which answers best, asks the words of the context, once (h̃). Nothing is summed up to
    a single vector: what comes back stands at every word of the context (Eq. 2).

    Args:
        size: Width of both texts.
        score: `"trilinear"` as published (Eq. 1), `"bilinear"`, `"dot"` or `"scaled_dot"`.
    """

    def __init__(self, size: int, score: MeetingScore = "trilinear") -> None:
        super().__init__()
        if score not in get_args(MeetingScore):
            raise ValueError(f"score must be one of {get_args(MeetingScore)}, got {score!r}")
        self.output_size = 4 * size
        plain: dict[str, Score] = {"dot": dot, "scaled_dot": scaled_dot}
        self.score: Score
        if score in plain:
            self.score = plain[score]
        else:
            self.score = Trilinear(size) if score == "trilinear" else Bilinear(size, size)

    def forward(
        self,
        context: Float[Tensor, "B T D"],
        question: Float[Tensor, "B J D"],
        context_mask: Bool[Tensor, "B T"],
        question_mask: Bool[Tensor, "B J"],
    ) -> TwoWayOutput:
        """What each word of the context knows of the question. Padding is asked nothing."""
        scores = self.score(context, question)  # [B, T, J]
        seen = question_mask.unsqueeze(1)
        to_question = attend(context, question, question, score=lambda q, k: scores, mask=seen)
        strongest = _strongest(scores, question_mask).unsqueeze(1)  # [B, 1, T]
        to_context = attend(
            question[:, :1],
            context,
            context,
            score=lambda q, k: strongest,
            mask=context_mask.unsqueeze(1),
        )
        own, about = context, to_question.mixed
        aware = torch.cat([own, about, own * about, own * to_context.mixed], dim=-1)
        return TwoWayOutput(aware, scores)


def _strongest(
    scores: Float[Tensor, "B T J"], question_mask: Bool[Tensor, "B J"]
) -> Float[Tensor, "B T"]:
    """How well the question answers each word of the context, by its best word.

    To a question without words all are alike.
    """
    lowest = torch.finfo(scores.dtype).min
    best = scores.masked_fill(~question_mask.unsqueeze(1), lowest).amax(dim=-1)
    return best.masked_fill(~question_mask.any(dim=1, keepdim=True), 0.0)
