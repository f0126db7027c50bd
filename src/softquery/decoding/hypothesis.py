"""Finished texts, and the score by which those of different lengths are ranked.

T tokens of a text, S tokens of the source.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
