"""A soft query whose keys stay while the query moves: prepare the keys once, ask at every step.

B sentences, Q queries, K keys; widths D of a query, E of a key, H of a score's hidden layer.
"""

from typing import Literal, get_args

from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import (
    Additive,
    Attended,
    Bilinear,
    Concat,
    Trilinear,
    attend,
    cosine,
    dot,
    scaled_dot,
)

ScoreName = Literal["dot", "scaled_dot", "cosine", "general", "additive", "concat", "trilinear"]
PLAIN = {"dot": dot, "scaled_dot": scaled_dot, "cosine": cosine}


class PreparedAttention(nn.Module):
    """Any score of the attention core, split into what the keys cost and what a query costs.

    `prepare` does all that concerns the keys alone, so that a decoder pays for it once a sentence
    (Bahdanau et al. 2015, Appendix A.1.2). Scores without parameters, and `"trilinear"`, need keys
    as wide as the query; where they are not, a linear layer makes them so.

    Args:
        score: `"dot"`, `"general"` or `"concat"` (Luong et al. 2015, Section 3.1), `"additive"`
            (Bahdanau et al. 2015), `"scaled_dot"` (Vaswani et al. 2017), `"cosine"`, or
            `"trilinear"` (Seo et al. 2017), of which what weighs the query alone changes nothing.
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
        """Ask prepared keys."""
        score = PLAIN.get(self.name, dot)
        if isinstance(self.score, Additive):
            query, score = self.score.query_projection(query), self.score.compare
        elif isinstance(self.score, Concat):
            query, score = self.score.project_query(query), self.score.compare
        elif isinstance(self.score, Trilinear):
            score = self.score.compare
        return attend(query, keys, values, score=score, mask=mask.unsqueeze(1))
