"""Layers around the soft query: keys that are prepared once, and two texts that ask each other.

B sentences or pairs, Q queries, K keys; widths D of a query, E of a key, H of a score's hidden
layer; T words of a context, J of a question.
"""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import Attended, Score, attend, cosine, dot, scaled_dot
from softquery.attention.attend import Additive, Bilinear, Concat, Trilinear

ScoreName = Literal["dot", "scaled_dot", "cosine", "general", "additive", "concat", "trilinear"]
PLAIN = {"dot": dot, "scaled_dot": scaled_dot, "cosine": cosine}


class PreparedAttention(nn.Module):
    """Any score of the attention core, split into what the keys cost and what a query costs.

    `prepare` does all that concerns the keys alone, so that a decoder pays for it once per sentence
    (Bahdanau et al. 2015, Appendix A.1.2). Scores without parameters, and `"trilinear"`, need keys
    as wide as the query; where they are not, a linear layer makes them so.

    Args:
        score: `"dot"`, `"general"` or `"concat"` (Luong et al. 2015, Section 3.1), `"additive"`
            (Bahdanau et al. 2015), `"scaled_dot"` (Vaswani et al. 2017), `"cosine"`, or
            `"trilinear"` (Seo et al. 2017), whose term of the query alone changes no weight.
        query_size: Width of a query.
        key_size: Width of a key, and of the value that stands behind it.
        hidden_size: Width of the hidden layer of `"additive"` and `"concat"`.
    """

    def __init__(
        self, score: ScoreName, *, query_size: int, key_size: int, hidden_size: int
    ) -> None:
        super().__init__()
        if score not in get_args(ScoreName):
            raise ValueError(f"score must be one of {get_args(ScoreName)}, got {score!r}")
        self.name = score
        self.key_projection: nn.Linear | None = None
        self.score: Additive | Concat | Bilinear | Trilinear | None = None
        if score == "additive":
            self.score = Additive(query_size, key_size, hidden_size)
        elif score == "concat":
            self.score = Concat(query_size, key_size, hidden_size)
        elif score == "general":
            self.score = Bilinear(query_size, key_size)
        elif score == "trilinear":
            self.score = Trilinear(query_size)
        if (self.score is None or score == "trilinear") and key_size != query_size:
            self.key_projection = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, states: Float[Tensor, "B K E"]) -> Float[Tensor, "B K F"]:
        """The keys as `forward` wants them."""
        if isinstance(self.score, Additive):
            keys: Tensor = self.score.key_projection(states)
            return keys
        if isinstance(self.score, Concat):
            return self.score.project_key(states)
        if isinstance(self.score, Bilinear):  # query^T W key = query^T (W key): once for all
            return states @ self.score.query_projection.weight
        narrow = states if self.key_projection is None else self.key_projection(states)
        return self.score.project_key(narrow) if isinstance(self.score, Trilinear) else narrow

    def forward(
        self,
        query: Float[Tensor, "B Q D"],
        keys: Float[Tensor, "B K F"],
        values: Float[Tensor, "B K E"],
        mask: Bool[Tensor, "B K"],
    ) -> Attended:
        """Ask keys that `prepare` has made; what comes back, and the weights."""
        score = PLAIN.get(self.name, dot)
        if isinstance(self.score, Additive):
            query, score = self.score.query_projection(query), self.score.compare
        elif isinstance(self.score, Concat):
            query, score = self.score.project_query(query), self.score.compare
        elif isinstance(self.score, Trilinear):
            score = self.score.compare
        return attend(query, keys, values, score=score, mask=mask.unsqueeze(1))


MeetingScore = Literal["trilinear", "bilinear", "dot", "scaled_dot"]


class TwoWayOutput(NamedTuple):
    """A context that knows its question, and the scores of all pairs of their words."""

    aware: Float[Tensor, "B T E"]
    """[h; ũ; h ∘ ũ; h ∘ h̃] at every word of the context: E is 4 D."""
    scores: Float[Tensor, "B T J"]
    """Scores of each word of the context with each of the question, before any softmax."""


class TwoWayAttention(nn.Module):
    """Attention flow in both directions over one table of scores (Seo et al. 2017, Section 2).

    Each word of the context asks the words of the question (ũ). The question as a whole, by
    whichever of its words scores best, asks the words of the context once (h̃). The context is not
    summarised in one vector: what comes back is joined to every word of it (Eq. 2).

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
        """Join what both directions bring back to each word of the context; padding weighs 0."""
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
    """The best score of each word of the context; 0 for all where the question has no words."""
    lowest = torch.finfo(scores.dtype).min
    best = scores.masked_fill(~question_mask.unsqueeze(1), lowest).amax(dim=-1)
    return best.masked_fill(~question_mask.any(dim=1, keepdim=True), 0.0)
