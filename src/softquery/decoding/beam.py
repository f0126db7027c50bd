"""Beam search: the best few texts of each sentence, extended side by side.

A unfinished sentences, K rows of each (the beam), N = A·K rows, C candidates per row, W required
tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np

from softquery.decoding.hypothesis import FinishedRow, Hypothesis, Paths, Ranking
from softquery.decoding.rules import RuleBook, Rules
from softquery.decoding.step import Candidates, Floats, Ids, Mask, State, Step, StepRequest
from softquery.text import EOS_ID


@dataclass(frozen=True, kw_only=True, slots=True)
class Beam:
    """The width of the search, its ranking, and when it stops."""

    size: int = 5
    """Texts per sentence that are kept at every step; 1 is greedy."""
    num_best: int = 1
    """Texts per sentence that are returned, at most `size`."""
    ranking: Ranking = Ranking()
    patience: float = 1.0
    """A sentence is done once `patience · size` of its texts have ended (Kasai et al. 2022, Section
    3) and no unfinished text currently scores higher than those that would be returned; with
    infinity, once none could ever score higher."""

    def __post_init__(self) -> None:
        if not 1 <= self.num_best <= self.size:
            raise ValueError(f"num_best ({self.num_best}) must be in [1, size ({self.size})]")
        if not self.patience > 0:
            raise ValueError(f"patience must be positive, got {self.patience}")


def beam_search(
    step: Step[State],
    state: State,
    num_sentences: int,
    *,
    settings: Beam | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    source_mask: Mask | None = None,
) -> list[list[Hypothesis]]:
    """Keep the likeliest beginnings of each sentence, and rank the finished texts.

    Unfinished texts are equally long and compete by probability, finished ones by `Ranking`. A text
    is finished if its end token is among the `size` likeliest continuations of its sentence.

    Where tokens are required, the beam is divided among texts that hold none, one, two and so on of
    them, so that texts with more of them, which are less likely, survive (Post & Vilar 2018,
    Section 3, with equal shares). A beam too narrow for that handles them as `greedy` does.

    Args:
        step: The decoder.
        state: Its state before the first token, a row for each sentence.
        num_sentences: Sentences.
        settings: Width, ranking and patience.
        rules: What texts must keep to, for all sentences or for each.
        source_mask: Real tokens of the sources, which a coverage penalty needs.

    Returns:
        The best texts of each sentence, highest score first; fewer or none where the rules allow no
        more.
    """
    settings = settings or Beam()
    book = RuleBook(rules or Rules(), num_sentences, step.vocab_size)
    return _Search(step, book, settings, source_mask).run(state, num_sentences)


class _Ranked(NamedTuple):
    """Continuations of the texts of each sentence [A, K·C], those to keep first."""

    totals: Floats
    tokens: Ids
    rows: Ids
    """The row that each continues."""


class _Search(Generic[State]):
    def __init__(
        self, step: Step[State], book: RuleBook, settings: Beam, source_mask: Mask | None
    ) -> None:
        self.step, self.book, self.settings = step, book, settings
        self.judged_by = settings.ranking, source_mask
        # At most `size` continuations of a row survive, besides its end.
        self.num_candidates = settings.size + 1
        self.ended: list[list[FinishedRow]] = [[] for _ in book.rules]

    def run(self, state: State, num_sentences: int) -> list[list[Hypothesis]]:
        paths = Paths.begin(np.arange(num_sentences))
        trail = paths.trail
        while len(paths):  # every text ends at its maximal length
            shared = self._is_shared(paths.sentences)
            found = self.step(state, paths.last, self._wanted(paths, shared))
            paths = paths.looked(found.attention)
            ranked = self._ranked(paths, found, shared)
            self._collect(paths, ranked)
            rows, tokens, totals = self._kept(paths, ranked)
            if len(rows):
                state = self.step.reorder(found.state, rows)
            paths = paths.extended(rows, tokens, totals)
        return [
            [trail.hypothesis(each, rules.max_length) for each in self._best(ended)]
            for ended, rules in zip(self.ended, self.book.rules, strict=True)
        ]

    def _best(self, ended: list[FinishedRow]) -> list[FinishedRow]:
        return sorted(ended, key=lambda each: -each.score)[: self.settings.num_best]

    def _is_shared(self, sentences: Ids) -> Mask:
        """Rows [N] of sentences whose beam has room for every number of required tokens."""
        num_required = self.book.num_required(sentences)
        return (num_required > 0) & (self.settings.size > num_required)

    def _wanted(self, paths: Paths, shared: Mask) -> StepRequest:
        return StepRequest(
            allowed=self.book.allowed(paths.sentences, paths.tokens, may_end=~shared),
            num_candidates=self.num_candidates,
            watched=self.book.required,
        )

    def _ranked(self, paths: Paths, found: Candidates[State], shared: Mask) -> _Ranked:
        tokens, values = found.tokens, found.log_probabilities
        if len(self.book.required):
            values = self._without_early_ends(paths, tokens, values)
        totals = paths.totals[:, None] + values  # [N, C]
        num_sentences = len(np.unique(paths.sentences))
        shape = (num_sentences, -1)
        order = np.argsort(-totals.reshape(shape), axis=1, kind="stable")
        if len(self.book.required):
            order = self._shared_out(order, paths, tokens, shared)
        rows = np.repeat(np.arange(len(paths)), tokens.shape[1]).reshape(shape)
        return _Ranked(
            np.take_along_axis(totals.reshape(shape), order, axis=1),
            np.take_along_axis(tokens.reshape(shape), order, axis=1),
            np.take_along_axis(rows, order, axis=1),
        )

    def _without_early_ends(self, paths: Paths, tokens: Ids, values: Floats) -> Floats:
        """Forbid rows to end while required tokens are missing; a row that would gets one of these.

        A shared beam does not see the end token in this case.
        """
        missing = self.book.missing(paths.sentences, paths.tokens)
        values = values.copy()
        likeliest = np.take_along_axis(tokens, values.argmax(axis=1)[:, None], axis=1)[:, 0]
        for row in np.flatnonzero(missing.any(axis=1)):
            is_missing = np.isin(tokens[row], self.book.required[missing[row]])
            barred = ~is_missing if likeliest[row] == EOS_ID else tokens[row] == EOS_ID
            values[row, barred] = -np.inf
        return values

    def _shared_out(self, order: Ids, paths: Paths, tokens: Ids, shared: Mask) -> Ids:
        """Put first the continuations within the share of their number of required tokens."""
        missing = self.book.missing(paths.sentences, paths.tokens)
        is_missing = (tokens[:, :, None] == self.book.required) & missing[:, None]
        num_missing = missing.sum(axis=1)[:, None] - is_missing.any(axis=2)  # [N, C]
        order = order.copy()
        beam = len(paths) // len(order)
        for place in np.flatnonzero(shared[::beam]):
            mine = slice(place * beam, (place + 1) * beam)
            bank = num_missing[mine].reshape(-1)[order[place]]
            num_required = int(self.book.num_required(paths.sentences[mine][:1])[0])
            share = self.settings.size // (num_required + 1)
            within = np.zeros(len(bank), np.bool_)
            for number in range(num_required + 1):
                within[np.flatnonzero(bank == number)[:share]] = True
            order[place] = order[place][np.argsort(~within, kind="stable")]
        return order

    def _collect(self, paths: Paths, ranked: _Ranked) -> None:
        """Record the texts whose end token is among the best continuations."""
        size = self.settings.size
        ends = (ranked.tokens[:, :size] == EOS_ID) & np.isfinite(ranked.totals[:, :size])
        for place, rank in zip(*np.nonzero(ends), strict=True):
            row, total = int(ranked.rows[place, rank]), float(ranked.totals[place, rank])
            ended = paths.ended(row, total, *self.judged_by)
            self.ended[ended.sentence].append(ended)

    def _kept(self, paths: Paths, ranked: _Ranked) -> tuple[Ids, Ids, Floats]:
        """The rows to continue, with their next tokens and totals; equally many per sentence."""
        goes_on = (ranked.tokens != EOS_ID) & np.isfinite(ranked.totals)
        goes_on &= goes_on.cumsum(axis=1) <= self.settings.size
        for place, live in enumerate(goes_on):
            if self._is_done(paths, ranked.rows[place][live], ranked.totals[place][live]):
                goes_on[place] = False
        undone = goes_on.any(axis=1)
        goes_on, picked = goes_on[undone], [part[undone] for part in ranked]
        width = int(goes_on.sum(axis=1).max(initial=0))
        first = np.argsort(~goes_on, axis=1, kind="stable")[:, :width]
        totals, tokens, rows = (np.take_along_axis(part, first, axis=1) for part in picked)
        # Sentences with fewer texts than others are padded with impossible ones.
        fills = ~np.take_along_axis(goes_on, first, axis=1)
        totals = np.where(fills, -np.inf, totals)
        return rows.reshape(-1), tokens.reshape(-1), totals.reshape(-1)

    def _is_done(self, paths: Paths, rows: Ids, totals: Floats) -> bool:
        """Whether the search of a sentence may stop, given its unfinished texts."""
        if not len(rows):
            return True
        settings, sentence = self.settings, int(paths.sentences[rows[0]])
        best = self._best(self.ended[sentence])
        if len(best) < settings.num_best:
            return False
        longest = self.book.rules[sentence].max_length
        if best[-1].score >= settings.ranking.best_possible(float(totals.max()), longest):
            return True
        if len(self.ended[sentence]) < settings.patience * settings.size:
            return False
        return all(
            best[-1].score >= paths.ended(int(row), float(total), *self.judged_by).score
            for row, total in zip(rows, totals, strict=True)
        )
