"""Texts in the making: rows of equally many tokens, and the way each of them came.

N rows, T tokens, S tokens of the source.
"""

from dataclasses import dataclass, field

import numpy as np

from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.step import Floats, Ids, Mask
from softquery.text import BOS_ID


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
