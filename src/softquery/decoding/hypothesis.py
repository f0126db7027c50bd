"""Hypotheses of a search: finished texts and their ranking, and texts that are not finished yet.

T tokens of a text, S tokens of the source.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.decoding.step import Floats, Ids, Mask
from softquery.text import BOS_ID

LEAST_COVERAGE = 1e-9
"""The attention that a source token counts as having received at least."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    """One finished text."""

    tokens: tuple[int, ...]
    """The tokens without begin and end."""
    score: float
    """What it is ranked by; see `Ranking`."""
    log_probability: float
    """The log-probability of all tokens and the end token, in nats."""
    is_cut: bool
    """Whether it was cut at the maximal length."""
    attention: NDArray[np.floating[Any]] | None = None
    """[T + 1, ..., S]: attention of each token and of the end token, where the model gives it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y) (Wu et al. 2016, Section 7, Eq. 14)."""

    length: float = 1.0
    """α of lp(Y) = (5 + |Y|)^α / (5 + 1)^α; 0 ranks by probability, which favours short texts.

    |Y| counts the tokens and the end token.
    """
    coverage: float = 0.0
    """β of cp(X; Y) = β Σ_i log min(Σ_j p_ij, 1): source tokens without attention cost."""

    def __post_init__(self) -> None:
        for name in ("length", "coverage"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")

    def length_penalty(self, length: int) -> float:
        """lp(Y) of a text of `length` tokens, the end token included.

        >>> Ranking(length=1.0).length_penalty(7)
        2.0
        """
        return float(((5 + length) / 6) ** self.length)

    def coverage_penalty(self, coverage: NDArray[np.floating[Any]] | None) -> float:
        """cp(X; Y) from the total attention [S] to each real source token.

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
        """The score s(Y, X) of a text."""
        normalised = log_probability / self.length_penalty(length)
        return normalised + self.coverage_penalty(coverage)

    def best_possible(self, log_probability: float, max_length: int) -> float:
        """An upper bound of the score of any continuation of a text of this probability.

        Probability falls with every token, and the penalties are smallest for a text of maximal
        length that covers the whole source.
        """
        return log_probability / self.length_penalty(max_length + 1)


@dataclass(slots=True)
class Trail:
    """The attention of every row at each step, and the row it continues; shared by all steps."""

    looks: list[Floats] = field(default_factory=list)
    parents: list[Ids] = field(default_factory=list)

    def attention(self, row: int, num_steps: int) -> Floats | None:
        """The attention on the way to a row after `num_steps` steps: [steps, ..., S]."""
        if not self.looks:
            return None
        found = []
        for number in reversed(range(num_steps)):
            found.append(self.looks[number][row])
            row = int(self.parents[number][row])
        return np.stack(found[::-1])

    def hypothesis(self, ended: "FinishedRow", max_length: int) -> Hypothesis:
        """The hypothesis of a finished row."""
        return Hypothesis(
            tokens=ended.tokens,
            score=ended.score,
            log_probability=ended.log_probability,
            is_cut=len(ended.tokens) >= max_length,
            attention=self.attention(ended.row, ended.num_steps),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedRow:
    """A row that has ended; `Trail.hypothesis` makes a hypothesis of it if it is kept."""

    sentence: int
    score: float
    log_probability: float
    tokens: tuple[int, ...]
    row: int
    num_steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """N unfinished texts, all equally long."""

    sentences: Ids
    """[N]: the index of each row's sentence."""
    tokens: Ids
    """[N, T]: the tokens so far."""
    totals: Floats
    """[N]: log-probabilities; minus infinity for rows that are padding."""
    coverage: Floats | None
    """[N, S]: the total attention to each source token."""
    trail: Trail

    @classmethod
    def begin(cls, sentences: Ids) -> "Paths":
        """Empty texts, one per given sentence."""
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
        """[N]: the input tokens of the next step."""
        if self.tokens.shape[1]:
            return self.tokens[:, -1]
        return np.full(len(self), BOS_ID, np.int64)

    def looked(self, attention: Floats | None) -> "Paths":
        """The same with the attention [N, ..., S] of this step, averaged over layers and heads."""
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
        """The given rows, each with one more token."""
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
    ) -> FinishedRow:
        """A row that ends here; `log_probability` includes the end token."""
        coverage = None
        if ranking.coverage > 0:
            if self.coverage is None or source_mask is None:
                raise ValueError("coverage needs a model that attends, and the source's mask")
            coverage = self.coverage[row][source_mask[self.sentences[row]]]
        length = self.tokens.shape[1] + 1
        return FinishedRow(
            sentence=int(self.sentences[row]),
            score=ranking.score(log_probability, length, coverage),
            log_probability=log_probability,
            tokens=tuple(self.tokens[row].tolist()),
            row=row,
            num_steps=length,
        )
