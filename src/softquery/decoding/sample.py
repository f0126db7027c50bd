"""Texts that are drawn, as likely as the model finds them.

N rows (texts in the making), C candidates of a row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.paths import Paths
from softquery.decoding.rule_book import RuleBook
from softquery.decoding.rules import Rules
from softquery.decoding.step import Floats, Ids, Mask, State, Step
from softquery.decoding.walk import Walk


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """Draws from the model's distribution, without its tail where asked.

    The temperature acts first, then `top_k`, then `top_p` on what that left.
    """

    num_samples: int = 1
    """Texts for each sentence; there may be equals among them."""
    top_k: int = 0
    """Draw among so many of the likeliest tokens (Fan et al. 2018, Section 5.4); 0 for all."""
    top_p: float = 1.0
    """Draw among the fewest tokens that hold this probability (Holtzman et al. 2020, Eqs. 2-3)."""
    temperature: float = 1.0
    """Below 1 the likely becomes likelier, above 1 less so."""
    seed: int = 0
    ranking: Ranking = Ranking()

    def __post_init__(self) -> None:
        if self.num_samples < 1:
            raise ValueError(f"num_samples must be positive, got {self.num_samples}")
        for name in ("top_k", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")
        if not 0 < self.temperature < math.inf:
            raise ValueError(f"temperature must be positive, got {self.temperature}")


def sample(
    step: Step[State],
    state: State,
    num_sentences: int,
    *,
    settings: Sampling | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    source_mask: Mask | None = None,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Draw every token from the model's distribution.

    What is drawn depends on the seed, on the sentence's number and on nothing else: neither on the
    other sentences of the batch nor on how many samples are drawn beside it. Rules take tokens away
    before the draw. A text that would end while required tokens are missing goes on with one of
    them.

    Args:
        step: The decoder.
        state: Its state before the first token, a row for each sentence.
        num_sentences: Sentences.
        settings: How many, from what, and the seed.
        rules: What texts must keep to, for all sentences or for each.
        source_mask: Real tokens of the sources, which a coverage penalty needs.
        numbers: The sentences' numbers among all; counted from 0 unless told.

    Returns:
        The texts of each sentence, highest score first.
    """
    settings = settings or Sampling()
    book = RuleBook(rules or Rules(), num_sentences, step.vocab_size)
    rows = np.repeat(np.arange(num_sentences), settings.num_samples)
    if settings.num_samples > 1:
        state = step.reorder(state, rows)
    drawing = _Drawing(settings, range(num_sentences) if numbers is None else numbers)
    walk = Walk(step, book, settings.ranking, source_mask)
    return walk.run(state, Paths.begin(rows), drawing)


class _Drawing:
    """Inverts the cumulative distribution, likeliest first; one random number a row and step."""

    def __init__(self, settings: Sampling, numbers: Sequence[int]) -> None:
        self.settings = settings
        self.num_candidates = settings.top_k or None
        self._streams = [
            np.random.default_rng([settings.seed, number, which])
            for number in numbers
            for which in range(settings.num_samples)
        ]
        self.advance()

    def advance(self) -> None:
        """Draw the next step's numbers."""
        self._drawn = np.array([stream.random() for stream in self._streams])

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """Places of what was drawn."""
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.num_candidates]
        chances = self._chances(np.take_along_axis(values, order, axis=1))
        cumulative = chances.cumsum(axis=1)
        # Rounding must not lead behind the last token that is possible.
        last = np.maximum((chances > 0).sum(axis=1) - 1, 0)
        target = self._drawn[rows, None] * cumulative[:, -1:]
        place = np.minimum((cumulative <= target).sum(axis=1), last)
        return np.take_along_axis(order, place[:, None], axis=1)[:, 0]

    def _chances(self, values: Floats) -> Floats:
        """Shares of falling log-probabilities [N, C], as the settings see them."""
        scaled = values.astype(np.float64) / self.settings.temperature
        largest = np.where(np.isfinite(scaled[:, :1]), scaled[:, :1], 0.0)
        weights = np.exp(scaled - largest)
        chances: Floats = weights / np.maximum(
            weights.sum(axis=1, keepdims=True), np.finfo(float).tiny
        )
        if self.settings.top_p == 1:
            return chances
        before = chances.cumsum(axis=1) - chances
        return np.where(before < self.settings.top_p, chances, 0.0)
