"""Queries whose answers are known, with what the index finds for them.

N rows, K features, M labelled queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.search.score.signals import Signals
from softquery.search.tuning.remembered import Remembered, Voters, vote_weights
from softquery.search.tuning.tuned_score import SIGNALS, ScoredRows, columns_of, log_odds

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
LEADING, ALSO = 8, 2
"""Rows of a query that are learned from: those that its score puts first, and that each stage."""
ENOUGH_IN_VAIN = 10
"""Queries without an answer from which on the labels are believed to say how many there are."""
IN_VAIN = 1 / 6
"""The share of queries without an answer where the labels do not say it."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query, and which of the rows found for it answer it.

    Attributes:
        query: Its text.
        relevant: The ids of all rows that answer it; empty if the index has no answer.
        found: What the index finds.
        judged: The rows of which it is known whether they answer: [N].
        weight: What the query counts.
    """

    query: str
    relevant: frozenset[str]
    found: ScoredRows
    judged: Mask
    weight: float = 1.0

    @property
    def right(self) -> Mask:
        """Which rows answer: [N]."""
        return np.array([key in self.relevant for key in self.found.ids], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Example:
    """A judged query, as it is learned from.

    Attributes:
        number: That of the query.
        found: What the index finds, or would find if it had no answer.
        right: Which rows answer: [N].
        base: The log-odds of the index's own scores: [N].
        leading: The places of the rows to learn from.
        voters: Which labelled queries speak for which answer.
        unknown: The labelled queries that it does not remember.
        weight: What it counts.
        is_real: Whether it was asked, and not made from one that was.
    """

    number: int
    found: ScoredRows
    right: Mask
    base: Floats
    leading: NDArray[np.int64]
    voters: Voters
    unknown: NDArray[np.int64]
    weight: float
    is_real: bool


@dataclass(frozen=True, slots=True)
class TuningLesson:
    """Examples with the features of their rows, each as it is without itself.

    Attributes:
        examples: What is learned from, or asked.
        columns: The features of each example's rows: [N, K].
    """

    examples: Sequence[Example]
    columns: Sequence[Floats]

    def __len__(self) -> int:
        return len(self.examples)


Rescore = Callable[[ScoredRows, Signals, Mask], Floats]
"""The index's own score of some of the rows that a search found, from their signals: [N]."""


class JudgedQueries:
    """Labelled queries, of which some may be left out of what the others learn from.

    Where hardly any of them lacks an answer, others are made that do: the same query, as if the
    index lacked the rows that answer it. Without them, everything would seem to have an answer.

    Args:
        queries: The queries.
        rescore: Scores the rows that are left.
    """

    def __init__(self, queries: Sequence[JudgedQuery], rescore: Rescore) -> None:
        self.queries = list(queries)
        vectors = np.stack([each.found.vector for each in queries])
        self.remembered = Remembered(vectors, [sorted(each.relevant) for each in queries])
        self.answerable = ~self.remembered.in_vain()
        self._cosines = (vectors @ vectors.T).astype(np.float64)
        self.examples = [self._example(number) for number in range(len(queries))]
        self.examples += self._in_vain(rescore)

    def __len__(self) -> int:
        return len(self.queries)

    def lesson(self, wanted: Mask, known: Mask, *, is_real: bool = False) -> TuningLesson:
        """All that is made of some queries, if only some are remembered.

        Args:
            wanted: Those it is made of: [M].
            known: Those that are remembered, but for the query itself: [M].
            is_real: Whether only what was asked is wanted.
        """
        found = [
            each for each in self.examples if wanted[each.number] and (each.is_real or not is_real)
        ]
        return TuningLesson(found, [self._columns(each, known) for each in found])

    def _columns(self, example: Example, known: Mask) -> Floats:
        """The features of an example's rows: [N, K]."""
        cosines = np.where(known, self._cosines[example.number], -np.inf)
        cosines[example.unknown] = -np.inf
        weights = vote_weights(cosines)
        return columns_of(example.found, example.voters, weights, ~self.answerable)

    def _example(self, number: int) -> Example:
        query = self.queries[number]
        base = log_odds(query.found.scores)
        return Example(
            number=number,
            found=query.found,
            right=query.right,
            base=base,
            leading=_leading(query.found.signals, base, query.right, query.judged),
            voters=self.remembered.voters(query.found.ids, query.found.signals.answer),
            unknown=np.array([number]),
            weight=query.weight,
            is_real=True,
        )

    def _in_vain(self, rescore: Rescore) -> list[Example]:
        """Every answerable query as if it were none, if too few are unanswerable."""
        weights = np.array([each.weight for each in self.queries])
        if (~self.answerable).sum() >= ENOUGH_IN_VAIN or not self.answerable.any():
            return []
        wanted = IN_VAIN / (1 - IN_VAIN) * weights[self.answerable].sum()
        missing = wanted - weights[~self.answerable].sum()
        if missing <= 0:
            return []
        share = missing / weights[self.answerable].sum()
        numbers = np.flatnonzero(self.answerable).tolist()
        return [self._unanswered(number, rescore, share) for number in numbers]

    def _unanswered(self, number: int, rescore: Rescore, share: float) -> Example:
        query = self.queries[number]
        answers = query.found.signals.answer
        kept = ~np.isin(answers, answers[query.right])
        signals = _some_rows(query.found.signals, kept)
        ids = [key for key, keep in zip(query.found.ids, kept.tolist(), strict=True) if keep]
        found = replace(
            query.found, ids=ids, signals=signals, scores=rescore(query.found, signals, kept)
        )
        base, right = log_odds(found.scores), np.zeros(len(ids), dtype=np.bool_)
        alike = {number} | {
            other for key in query.relevant for other in self.remembered.by_id.get(key, ())
        }
        return Example(
            number=number,
            found=found,
            right=right,
            base=base,
            leading=_leading(signals, base, right, query.judged[kept]),
            voters=self.remembered.voters(ids, signals.answer),
            unknown=np.array(sorted(alike)),
            weight=share * query.weight,
            is_real=False,
        )


def _leading(signals: Signals, base: Floats, right: Mask, judged: Mask) -> NDArray[np.int64]:
    """The places of the rows to learn from."""
    places = set(np.argsort(-base, kind="stable")[:LEADING].tolist())
    places.update(np.flatnonzero(right).tolist()[:LEADING])
    for name in SIGNALS:
        values = getattr(signals, name)
        if len(values) and not np.isnan(values).any():
            places.update(np.argsort(-values, kind="stable")[:ALSO].tolist())
    kept = [place for place in sorted(places) if judged[place]]
    return np.array(kept, dtype=np.int64)


def _some_rows(signals: Signals, kept: Mask) -> Signals:
    """The signals of some rows, as if a search had found no others."""
    columns = {field.name: getattr(signals, field.name) for field in fields(signals)}
    per_row: dict[str, Any] = {
        name: value[kept]
        for name, value in columns.items()
        if isinstance(value, np.ndarray) and value.shape == kept.shape
    }
    numbers = np.unique(per_row["answer"], return_inverse=True)[1]
    per_row["answer"] = numbers.astype(np.int64)
    return replace(signals, **per_row)
