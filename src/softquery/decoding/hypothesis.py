"""Finished texts, and the score by which those of different lengths are ranked.

T tokens of a text, S tokens of the source.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.decoding.step import Floats, Ids, Mask
from softquery.text import BOS_ID

LEAST_COVERAGE = 1e-9
"""A source token that was never looked at counts as having had so much attention."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    """One finished text."""

    tokens: tuple[int, ...]
    """Without the ends."""
    score: float
    """What it is ranked by; see `Ranking`."""
    log_probability: float
    """Of all tokens and the end, in nats."""
    is_cut: bool
    """Whether it reached the longest length, where it had to end."""
    attention: NDArray[np.floating[Any]] | None = None
    """[T + 1, ..., S]: where each token, and then the end, looked; for models that can say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y) (Wu et al. 2016, Section 7, Eq. 14)."""

    length: float = 1.0
    """α of lp(Y) = (5 + |Y|)^α / (5 + 1)^α; 0 ranks by probability, which favours the short.

    |Y| counts everything that has a probability: the tokens and the end.
    """
    coverage: float = 0.0
    """β of cp(X; Y) = β Σ_i log min(Σ_j p_ij, 1): what has not been looked at costs."""

    def __post_init__(self) -> None:
        for name in ("length", "coverage"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")

    def length_penalty(self, length: int) -> float:
        """lp(Y) for so many tokens, the end included.

        >>> Ranking(length=1.0).length_penalty(7)
        2.0
        """
        return float(((5 + length) / 6) ** self.length)

    def coverage_penalty(self, coverage: NDArray[np.floating[Any]] | None) -> float:
        """cp(X; Y) from the attention [S] that each real source token had in sum.

        >>> round(Ranking(coverage=1.0).coverage_penalty(np.array([1.5, 0.5])), 4)
        -0.6931
        """
        if coverage is None or self.coverage == 0:
            return 0.0
        return self.coverage * float(np.log(np.clip(coverage, LEAST_COVERAGE, 1.0)).sum())

    def score(
        self,
        log_probability: float,
        length: int,
        coverage: NDArray[np.floating[Any]] | None = None,
    ) -> float:
        """s(Y, X)."""
        normalised = log_probability / self.length_penalty(length)
        return normalised + self.coverage_penalty(coverage)

    def best_possible(self, log_probability: float, max_length: int) -> float:
        """No continuation of a text of this probability scores higher.

        Probability falls with every token, and the penalties are kindest to what is longest and
        has seen everything.
        """
        return log_probability / self.length_penalty(max_length + 1)


@dataclass(slots=True)
class Trail:
    """Where every row looked at each step, and from which row it came; shared by all steps."""

    looks: list[Floats] = field(default_factory=list)
    parents: list[Ids] = field(default_factory=list)

    def attention(self, row: int, num_steps: int) -> Floats | None:
        """What led to a row after so many steps: [steps, ..., S]."""
        if not self.looks:
            return None
        found = []
        for number in reversed(range(num_steps)):
            found.append(self.looks[number][row])
            row = int(self.parents[number][row])
        return np.stack(found[::-1])

    def hypothesis(self, ended: "Ended", max_length: int) -> Hypothesis:
        """The finished text."""
        return Hypothesis(
            tokens=ended.tokens,
            score=ended.score,
            log_probability=ended.log_probability,
            is_cut=len(ended.tokens) >= max_length,
            attention=self.attention(ended.row, ended.num_steps),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A row that has ended, to be made a hypothesis of if it is wanted."""

    sentence: int
    score: float
    log_probability: float
    tokens: tuple[int, ...]
    row: int
    num_steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """N texts in the making, all equally long."""

    sentences: Ids
    """[N]: whose they are."""
    tokens: Ids
    """[N, T]"""
    totals: Floats
    """[N]: log-probabilities; minus infinity for rows that are only there to fill up."""
    coverage: Floats | None
    """[N, S]: how much each source token was looked at."""
    trail: Trail

    @classmethod
    def begin(cls, sentences: Ids) -> "Paths":
        """Nothing yet, for each row's sentence."""
        count = len(sentences)
        return cls(
            sentences=sentences,
            tokens=np.zeros((count, 0), np.int64),
            totals=np.zeros(count),
            coverage=None,
            trail=Trail(parents=[np.arange(count)]),
        )

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def last(self) -> Ids:
        """[N]: what the next step reads."""
        if self.tokens.shape[1]:
            return self.tokens[:, -1]
        return np.full(len(self), BOS_ID, np.int64)

    def looked(self, attention: Floats | None) -> "Paths":
        """The same with this step's attention [N, ..., S] noted; heads and layers are averaged."""
        if attention is None:
            return self
        self.trail.looks.append(attention)
        over = tuple(range(1, attention.ndim - 1))
        seen = attention.mean(axis=over, dtype=np.float64)
        return Paths(
            sentences=self.sentences,
            tokens=self.tokens,
            totals=self.totals,
            coverage=seen if self.coverage is None else self.coverage + seen,
            trail=self.trail,
        )

    def extended(self, rows: Ids, tokens: Ids, totals: Floats) -> "Paths":
        """These rows, each with one more token."""
        self.trail.parents.append(rows)
        return Paths(
            sentences=self.sentences[rows],
            tokens=np.concatenate([self.tokens[rows], tokens[:, None]], axis=1),
            totals=totals,
            coverage=None if self.coverage is None else self.coverage[rows],
            trail=self.trail,
        )

    def ended(
        self, row: int, log_probability: float, ranking: Ranking, source_mask: Mask | None
    ) -> Ended:
        """A row that ends here; the end's own probability is in `log_probability`."""
        coverage = None
        if ranking.coverage > 0:
            if self.coverage is None or source_mask is None:
                raise ValueError("coverage needs a model that attends, and the source's mask")
            coverage = self.coverage[row][source_mask[self.sentences[row]]]
        length = self.tokens.shape[1] + 1
        return Ended(
            sentence=int(self.sentences[row]),
            score=ranking.score(log_probability, length, coverage),
            log_probability=log_probability,
            tokens=tuple(self.tokens[row].tolist()),
            row=row,
            num_steps=length,
        )
