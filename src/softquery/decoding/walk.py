"""One token after the other, without looking back; what is taken is somebody else's choice.

Rows are independent of each other: what a sentence gives does not depend on its company.

N rows (texts in the making), C candidates of a row.
"""

from typing import Generic, Protocol

import numpy as np

from softquery.decoding.hypothesis import Hypothesis, Ranking
from softquery.decoding.paths import Ended, Paths, Trail
from softquery.decoding.rule_book import RuleBook
from softquery.decoding.step import Candidates, Floats, Ids, Mask, State, Step, StepRequest
from softquery.text import EOS_ID


class Choice(Protocol):
    """Which of the candidates is taken."""

    @property
    def num_candidates(self) -> int | None:
        """As many as it needs to see; None for the whole vocabulary."""

    def __call__(self, rows: Ids, values: Floats) -> Ids:
        """Places [N] among log-probabilities [N, C]; some row's may all be impossible.

        `rows` are the numbers that the rows bore at the beginning.
        """

    def advance(self) -> None:
        """The step is done."""


class Walk(Generic[State]):
    """Goes on with every row until it has ended.

    Args:
        step: The decoder.
        book: What texts must keep to.
        ranking: The score of what has ended.
        source_mask: Real tokens of the sources, which a coverage penalty needs.
    """

    def __init__(
        self, step: Step[State], book: RuleBook, ranking: Ranking, source_mask: Mask | None
    ) -> None:
        self.step, self.book = step, book
        self.ranking, self.source_mask = ranking, source_mask

    def run(self, state: State, paths: Paths, choice: Choice) -> list[list[Hypothesis]]:
        """Texts by sentence, highest score first."""
        finished: list[Ended] = []
        trail, rows = paths.trail, np.arange(len(paths))
        while len(paths):  # every row ends at its longest length
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

    def _by_sentence(self, finished: list[Ended], trail: Trail) -> list[list[Hypothesis]]:
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
        """The token of every row and its log-probability."""
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
        """Where a row would end while tokens are missing, one of these comes."""
        required = self.book.required
        missing = self.book.missing(paths.sentences, paths.tokens)
        tokens = np.take_along_axis(found.tokens, places[:, None], axis=1)[:, 0]
        places = places.copy()
        for row in np.flatnonzero((tokens == EOS_ID) & missing.any(axis=1)):
            is_missing = np.isin(found.tokens[row], required[missing[row]])
            values = np.where(is_missing, found.log_probabilities[row], -np.inf)
            places[row] = choice(rows[row : row + 1], values[None])[0]
        return places
