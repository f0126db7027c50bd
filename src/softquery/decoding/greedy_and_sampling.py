"""Greedy decoding and sampling: one token after the other, without alternatives.

Rows are independent of each other: the text of a sentence does not depend on the rest of its batch.

N rows (unfinished texts), C candidates per row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

import numpy as np

from softquery.decoding.hypothesis import FinishedRow, Hypothesis, Paths, Ranking, Trail
from softquery.decoding.rules import RuleBook, Rules
from softquery.decoding.step import Candidates, Floats, Ids, Mask, State, Step, StepRequest
from softquery.text import EOS_ID


class Choice(Protocol):
    """Chooses one of the candidates of each row."""

    @property
    def num_candidates(self) -> int | None:
        """How many candidates it needs; None for the whole vocabulary."""

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """The chosen columns [N] of log-probabilities [N, C]; a row may be all impossible.

        `rows` are the initial indices of the rows.
        """

    def advance(self) -> None:
        """Called after every step."""


class IncrementalSearch(Generic[State]):
    """Extends every row by one token per step until it ends.

    Args:
        step: The decoder.
        book: The rules of the texts.
        ranking: How finished texts are scored.
        source_mask: Real tokens of the sources, which a coverage penalty needs.
    """

    def __init__(
        self, step: Step[State], book: RuleBook, ranking: Ranking, source_mask: Mask | None
    ) -> None:
        self.step, self.book = step, book
        self.ranking, self.source_mask = ranking, source_mask

    def run(self, state: State, paths: Paths, choice: Choice) -> list[list[Hypothesis]]:
        """The texts of each sentence, highest score first."""
        finished: list[FinishedRow] = []
        trail, rows = paths.trail, np.arange(len(paths))
        while len(paths):  # every row ends at its maximal length
            found = self.step(state, paths.last, self._wanted(paths, choice))
            paths = paths.looked(found.attention)
            tokens, values = self._taken(paths, rows, found, choice)
            totals, is_possible = paths.totals + values, np.isfinite(values)
            for row in np.flatnonzero((tokens == EOS_ID) & is_possible):
                finished.append(
                    paths.ended(int(row), float(totals[row]), self.ranking, self.source_mask)
                )
            goes_on = np.flatnonzero((tokens != EOS_ID) & is_possible)
            state = found.state
            if 0 < len(goes_on) < len(paths):
                state = self.step.reorder(state, goes_on)
            paths = paths.extended(goes_on, tokens[goes_on], totals[goes_on])
            rows = rows[goes_on]
            choice.advance()
        return self._by_sentence(finished, trail)

    def _by_sentence(self, finished: list[FinishedRow], trail: Trail) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in self.book.rules]
        for ended in finished:
            longest = self.book.rules[ended.sentence].max_length
            found[ended.sentence].append(trail.hypothesis(ended, longest))
        for texts in found:
            texts.sort(key=lambda each: -each.score)
        return found

    def _wanted(self, paths: Paths, choice: Choice) -> StepRequest:
        may_end = np.ones(len(paths), np.bool_)
        return StepRequest(
            allowed=self.book.allowed(paths.sentences, paths.tokens, may_end=may_end),
            num_candidates=choice.num_candidates or self.step.vocab_size,
            watched=self.book.required,
        )

    def _taken(
        self, paths: Paths, rows: Ids, found: Candidates[State], choice: Choice
    ) -> tuple[Ids, Floats]:
        """The chosen token of every row and its log-probability."""
        num_watched = len(self.book.required)
        values = found.log_probabilities
        places = choice(rows, values[:, : values.shape[1] - num_watched])
        if num_watched:
            places = self._instead_of_the_end(places, paths, rows, found, choice)
        each = np.arange(len(places))
        return found.tokens[each, places], values[each, places]

    def _instead_of_the_end(
        self, places: Ids, paths: Paths, rows: Ids, found: Candidates[State], choice: Choice
    ) -> Ids:
        """Choose a required token for rows that would end while some are missing."""
        required = self.book.required
        missing = self.book.missing(paths.sentences, paths.tokens)
        tokens = np.take_along_axis(found.tokens, places[:, None], axis=1)[:, 0]
        places = places.copy()
        for row in np.flatnonzero((tokens == EOS_ID) & missing.any(axis=1)):
            is_missing = np.isin(found.tokens[row], required[missing[row]])
            values = np.where(is_missing, found.log_probabilities[row], -np.inf)
            places[row] = choice(rows[row : row + 1], values[None])[0]
        return places


@dataclass(frozen=True, kw_only=True, slots=True)
class Greedy:
    """Settings of `greedy`; of equally likely tokens, the one with the lower id is taken."""

    ranking: Ranking = Ranking()


def greedy(
    step: Step[State],
    state: State,
    num_sentences: int,
    *,
    settings: Greedy | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    source_mask: Mask | None = None,
) -> list[list[Hypothesis]]:
    """Take the likeliest token at every step.

    A text that would end while required tokens are missing goes on with the likeliest of them.

    Args:
        step: The decoder.
        state: Its state before the first token, a row for each sentence.
        num_sentences: Sentences.
        settings: How the score is computed.
        rules: The rules of the texts, for all sentences or for each.
        source_mask: Real tokens of the sources, which a coverage penalty needs.

    Returns:
        One text per sentence, or none where the rules allowed no token at some point.

    >>> from softquery.decoding import WholeStep
    >>> after = {2: [0, 0, 0, 0.2, 0.7, 0.1], 4: [0, 0, 0, 0.3, 0.1, 0.6], 5: [0, 0, 0, 1, 0, 0]}
    >>> def advance(state, tokens):
    ...     return np.log(np.maximum([after[token] for token in tokens], 1e-9)), state, None
    >>> step = WholeStep(advance, lambda state, rows: state, 6)
    >>> greedy(step, None, 1)[0][0].tokens
    (4, 5)
    >>> greedy(step, None, 1, rules=Rules(banned=(5,)))[0][0].tokens
    (4,)
    """
    settings = settings or Greedy()
    book = RuleBook(rules or Rules(), num_sentences, step.vocab_size)
    walk = IncrementalSearch(step, book, settings.ranking, source_mask)
    return walk.run(state, Paths.begin(np.arange(num_sentences)), _Likeliest())


def likelihood(
    step: Step[State],
    state: State,
    targets: Sequence[Sequence[int]],
    *,
    ranking: Ranking | None = None,
) -> list[Hypothesis]:
    """The likelihood of given texts (without end tokens), one per row of the state."""
    rules = [
        Rules(prefix=tuple(each), min_length=len(each), max_length=len(each)) for each in targets
    ]
    settings = Greedy(ranking=ranking or Ranking())
    found = greedy(step, state, len(targets), settings=settings, rules=rules)
    return [
        texts[0] if texts else _impossible(target)
        for texts, target in zip(found, targets, strict=True)
    ]


def _impossible(target: Sequence[int]) -> Hypothesis:
    never = -math.inf
    return Hypothesis(tokens=tuple(target), score=never, log_probability=never, is_cut=True)


class _Likeliest:
    num_candidates = 1

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """The column of the largest value; the first of equal ones."""
        best: Ids = values.argmax(axis=1)
        return best

    def advance(self) -> None:
        """Does nothing: no state is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """Settings of `sample`: which part of the model's distribution is sampled.

    The temperature applies first, then `top_k`, then `top_p` to what is left.
    """

    num_samples: int = 1
    """Texts per sentence; some may be equal."""
    top_k: int = 0
    """Sample from this many of the likeliest tokens (Fan et al. 2018, Section 5.4); 0 for all."""
    top_p: float = 1.0
    """Sample from the fewest tokens with this probability (Holtzman et al. 2020, Eqs. 2-3)."""
    temperature: float = 1.0
    """Below 1 likely tokens become likelier, above 1 less likely."""
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
    """Sample every token from the model's distribution.

    A sample depends on the seed and the index of its sentence alone, neither on the other sentences
    of the batch nor on the number of samples. Rules remove tokens before the draw. A text that
    would end while required tokens are missing goes on with one of them.

    Args:
        step: The decoder.
        state: Its state before the first token, a row for each sentence.
        num_sentences: Sentences.
        settings: How many samples, from which part of the distribution, and the seed.
        rules: The rules of the texts, for all sentences or for each.
        source_mask: Real tokens of the sources, which a coverage penalty needs.
        numbers: The indices of the sentences among all; from 0 by default.

    Returns:
        The texts of each sentence, highest score first.
    """
    settings = settings or Sampling()
    book = RuleBook(rules or Rules(), num_sentences, step.vocab_size)
    rows = np.repeat(np.arange(num_sentences), settings.num_samples)
    if settings.num_samples > 1:
        state = step.reorder(state, rows)
    drawing = _Drawing(settings, range(num_sentences) if numbers is None else numbers)
    walk = IncrementalSearch(step, book, settings.ranking, source_mask)
    return walk.run(state, Paths.begin(rows), drawing)


class _Drawing:
    """Inverts the cumulative distribution, likeliest first; one random number per row and step."""

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
        """Draw the random numbers of the next step."""
        self._drawn = np.array([stream.random() for stream in self._streams])

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """The columns that were drawn."""
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.num_candidates]
        chances = self._chances(np.take_along_axis(values, order, axis=1))
        cumulative = chances.cumsum(axis=1)
        # Rounding must not go beyond the last possible token.
        last = np.maximum((chances > 0).sum(axis=1) - 1, 0)
        target = self._drawn[rows, None] * cumulative[:, -1:]
        place = np.minimum((cumulative <= target).sum(axis=1), last)
        return np.take_along_axis(order, place[:, None], axis=1)[:, 0]

    def _chances(self, values: Floats) -> Floats:
        """Probabilities from descending log-probabilities [N, C], after temperature and `top_p`."""
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
