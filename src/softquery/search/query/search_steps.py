"""One search, in one go or cut into steps, for a server that computes many requests in turns.

Both give the same, to the bit: rows are compared in the batches in which a matcher compares them
when it is given all of them.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError
from softquery.runtime.batches import even_batches
from softquery.runtime.given_texts import Texts, given_items, text_of
from softquery.runtime.leaving_out import MOST_PARTS
from softquery.runtime.match.backend import TOKENS, most_pairs
from softquery.search.query.first_cut import filled, num_compared, predicted_log_odds
from softquery.search.query.index_models import IndexModels
from softquery.search.query.retrieval import (
    RecallResult,
    RowPlace,
    SearchOptions,
    SearchResult,
    best_first,
    check_query,
    compared,
    found_by,
    hit_of,
)
from softquery.search.query.row_owners import owner_ids, owners_once
from softquery.search.query.searched_rows import SearchedRows
from softquery.search.query.stages import RERANK, STAGES, score_name
from softquery.search.score.index_facts import IndexFacts
from softquery.search.score.row_score import best_rows, shipped_score
from softquery.search.score.signals import Signals, gather_signals, log_odds
from softquery.search.storage.entries import QUESTION
from softquery.search.storage.manifest import LEARNED
from softquery.search.tuning.tuned_score import ScoredRows, TunedScore

Floats = NDArray[np.float64]
QUERY_COLUMNS = ("query", "text")
"""The column of a table that holds queries."""
READ_TOGETHER = 50
"""Stored questions that are tokenised in one go, if an index stores no encodings."""
WEIGHTS_PER_TOKEN = 10
"""Weights of an alignment that take as long as to compare one token."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A part of a search that is computed by itself, in any thread and in any order."""

    tokens: int
    """What it costs: the tokens of all pairs that are compared."""
    run: Callable[[], None]


class AnySearch(Protocol):
    """A search of one index, or of several parts: see `SearchSteps`."""

    @property
    def text(self) -> str:
        """The query."""

    @property
    def options(self) -> SearchOptions:
        """What is asked of the search."""

    @property
    def num_tokens(self) -> int:
        """Tokens of the query."""

    @property
    def is_truncated(self) -> bool:
        """Whether the query is longer than the matcher reads."""

    @property
    def num_weights(self) -> int:
        """Weights of all alignments."""

    @property
    def recalled(self) -> RecallResult:
        """What recall has found."""

    @property
    def ranked(self) -> list[tuple[RowPlace, float]]:
        """All rows that were found with their scores, best first."""

    def ids(self, places: Sequence[RowPlace]) -> list[str]:
        """The ids of the rows at some places."""

    def run(self) -> SearchResult:
        """All steps at once."""

    def recall(self) -> Iterator[None]:
        """Find the rows to compare."""

    def comparisons(self) -> list[SearchStep]:
        """The query with all recalled rows."""

    def alignments(self) -> list[SearchStep]:
        """The alignment of each hit, if they are asked for."""

    def result(self) -> SearchResult:
        """What the search found."""


class SearchSteps:
    """One search: `recall`, then all `comparisons`, then all `alignments`, then the `result`.

    `run` does all of it.

    Args:
        searched: The rows of the index, which are searched as they are now.
        models: The models of the index.
        text: The query.
        options: What is asked of the search.
        facts: Measures the index, if its score asks for that.
        tuned: The score of an index that was tuned, which counts where all stages are used.

    Raises:
        ConfigError: The query is empty, or no text.
    """

    def __init__(
        self,
        searched: SearchedRows,
        models: IndexModels,
        text: str,
        options: SearchOptions,
        facts: Callable[[], IndexFacts],
        tuned: TunedScore | None = None,
    ) -> None:
        check_query(text)
        self.searched, self.models, self.text, self.options = searched, models, text, options
        self._facts = facts
        self._tuned = tuned if options.stages == STAGES else None
        sentences, cuts = models.matcher.read([text])
        self.num_tokens, self.is_truncated = len(sentences[0]), cuts[0] > 0
        self.num_weights = 0
        """Weights of all alignments, in both directions; known when rows have been compared."""
        self.recalled = RecallResult()
        """What recall has found."""
        self.ranked: list[tuple[RowPlace, float]] = []
        """All rows that were found with their scores, best first; known before `alignments`."""
        self.compared: list[RowPlace] = []
        """The rows that the matcher compares; known after `recall`."""
        self._cut: tuple[Signals, Floats] | None = None
        """What is known without the matcher, and what it was predicted to say, if not all rows are
        compared."""
        self._lengths: dict[RowPlace, int] = {}
        self._probabilities: dict[RowPlace, float] = {}
        self._own_scores: dict[RowPlace, float] = {}
        """All that was found with the score that the index has without being tuned."""
        self._hits: list[dict[str, Any]] = []
        self._num_good = 0
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def run(self) -> SearchResult:
        """All steps at once; the matcher compares several batches at a time."""
        self._recall()
        if self.compared:
            self._compare(self.compared)
        for step in self.alignments():
            step.run()
        return self.result()

    def recall(self) -> Iterator[None]:
        """Find the rows to compare, in several parts of some milliseconds each."""
        self._recall()
        yield
        for start in range(0, len(self.compared), READ_TOGETHER):
            began = perf_counter()
            self._read_lengths(self.compared[start : start + READ_TOGETHER])
            self._spend("total", began)
            yield

    def comparisons(self) -> list[SearchStep]:
        """The query with all recalled rows, in batches; to be asked for after `recall`."""
        places = self.compared
        if not places:
            return []
        sample = self.models.matcher.encodings([""])[0]
        sizes = [len(sample) if sample.ndim == 1 else self._lengths[place] for place in places]
        order = sorted(range(len(places)), key=lambda row: (sizes[row], row))
        most = most_pairs(sample)
        batches = even_batches([sizes[row] for row in order], most=most, most_tokens=TOKENS)
        return [self._comparison([places[order[row]] for row in batch]) for batch in batches]

    def alignments(self) -> list[SearchStep]:
        """The alignment of each hit, if they are asked for; after all `comparisons`."""
        self._rank()
        if not self.options.explain:
            return []
        return [self._alignment(hit) for hit in self._hits[: self._num_good]]

    def result(self) -> SearchResult:
        """What the search found; after all `alignments`."""
        good = self._num_good
        hits, others = self._hits[:good], self._hits[good:]
        stages = self.options.stages
        note = self.models.language_note(self.text, stages)
        if self.read_as != self.text:
            told = f"read as: {self.read_as}"
            note = told if note is None else f"{note}; {told}"
        is_learned = self._tuned is not None or self.models.settings.score == LEARNED
        kind = score_name(stages, is_learned=is_learned)
        return SearchResult(self.text, hits, others, self._seconds, stages, note, kind)

    @property
    def read_as(self) -> str:
        """The query without typos, as far as words of the rows tell; known after `recall`."""
        return self.recalled.text or self.text

    def signals(self) -> Signals:
        """What the stages say of each row that was recalled; when all of them are done."""
        places = list(self.recalled.places)
        if RERANK not in self.options.stages:
            return self._known(places)
        if self._cut is None:
            return self._known(places, self._probabilities)
        signals, expected = self._cut
        found = [self._probabilities.get(place, math.nan) for place in places]
        return replace(signals, matcher=filled(log_odds(found), expected))

    def _known(
        self, places: list[RowPlace], probabilities: dict[RowPlace, float] | None = None
    ) -> Signals:
        return gather_signals(
            self.text, self.searched, self.recalled, places, self._facts(), probabilities
        )

    def _recall(self) -> None:
        began, options = perf_counter(), self.options
        self.recalled = self.searched.recall(self.models, self.text, options)
        self._seconds = dict(self.recalled.seconds)
        self._spend("total", began)
        if RERANK in options.stages:
            began = perf_counter()
            self._choose(list(self.recalled.places))
            self._spend("rerank", began)

    def _choose(self, places: list[RowPlace]) -> None:
        """Choose the rows that are worth to be compared."""
        self.compared = places
        is_learned = self.models.settings.score == LEARNED
        count = num_compared(self.options.candidates, self.options.top_k)
        if count >= len(places) or not is_learned or self.options.stages != STAGES:
            return
        if self.recalled.vector is None:
            return
        signals = self._known(places)
        expected = predicted_log_odds(signals.cosine, signals.words)
        first = np.sort(np.argsort(-expected, kind="stable")[:count])
        self.compared = [places[row] for row in first]
        self._cut = signals, expected

    def _read_lengths(self, places: Sequence[RowPlace]) -> None:
        """Find out how many tokens stored questions have."""
        unknown = []
        for place, length in zip(places, self.searched.lengths(places), strict=True):
            if length is None:
                unknown.append(place)
            else:
                self._lengths[place] = length
        sentences, _ = self.models.matcher.read(self.searched.texts(unknown, QUESTION))
        self._lengths.update(zip(unknown, map(len, sentences), strict=True))

    def _comparison(self, places: Sequence[RowPlace]) -> SearchStep:
        tokens = sum(self.num_tokens + self._lengths[place] for place in places)
        return SearchStep(tokens, lambda: self._compare(places))

    def _compare(self, places: Sequence[RowPlace]) -> None:
        began = perf_counter()
        found = compared(self.searched, self.models, self.read_as, places)
        with self._lock:
            self._probabilities.update(found)
        self._spend("rerank", began)

    def _rank(self) -> None:
        began, options = perf_counter(), self.options
        if self.models.settings.score == LEARNED:
            ranked = self._learned()
        elif RERANK in options.stages:
            weight = self.models.settings.recall_weight
            ranked = best_first(self.recalled.places, self._probabilities, weight)
        else:
            ranked = list(self.recalled.scores.items())
        self._own_scores = dict(ranked)
        if self._tuned is not None and ranked:
            ranked = self._corrected(self._tuned)
        self.ranked = owners_once(self.searched, ranked, has_weights=self._has_weights)
        best, least = self.ranked[: options.top_k], options.min_score
        texts = self.searched.texts([place for place, _ in best], QUESTION)
        self._hits = [
            hit_of(self.searched.row(place), score, text)
            for (place, score), text in zip(best, texts, strict=True)
        ]
        self._num_good = sum(least is None or score >= least for _, score in best)
        if options.explain:
            good = [place for place, _ in best[: self._num_good]]
            self._read_lengths([place for place in good if place not in self._lengths])
            self.num_weights = 2 * self.num_tokens * sum(self._lengths[place] for place in good)
        self._spend("rerank" if RERANK in options.stages else "total", began)

    @property
    def _has_weights(self) -> bool:
        """Whether rows have weights, and scores are probabilities, whose odds they multiply."""
        settings = self.models.settings
        is_learned = self._tuned is not None or settings.score == LEARNED
        return settings.weights and (is_learned or RERANK in self.options.stages)

    def ids(self, places: Sequence[RowPlace]) -> list[str]:
        """The ids of the rows at some places; of a further text that of its owner."""
        return owner_ids(self.searched, places)

    def _learned(self) -> list[tuple[RowPlace, float]]:
        """Rows by how likely they are to answer, with all that is known of them."""
        places, signals = list(self.recalled.places), self.signals()
        scores = shipped_score().of(signals, self.options.stages).tolist()
        return [(places[row], scores[row]) for row in best_rows(scores, signals)]

    def found_rows(self) -> ScoredRows:
        """What was found, with the score that the index has without being tuned."""
        scores, vector = self._own_scores, self.recalled.vector
        places = list(self.recalled.places)
        return ScoredRows(
            ids=self.ids(places),
            scores=np.array([scores[place] for place in places], dtype=np.float64),
            signals=self.signals(),
            vector=np.zeros(self.models.vectors.size, np.float32) if vector is None else vector,
        )

    def _corrected(self, tuned: TunedScore) -> list[tuple[RowPlace, float]]:
        """Rows by the tuned score."""
        places, found = list(self.recalled.places), self.found_rows()
        scores = tuned.of(found)
        order = best_rows(scores.tolist(), found.signals)
        return [(places[row], float(scores[row])) for row in order]

    def _alignment(self, hit: dict[str, Any]) -> SearchStep:
        weights = self.num_weights // max(1, self._num_good)
        length = self.num_tokens + weights // max(1, 2 * self.num_tokens)  # of both sides
        variants = 1 + min(length, 2 * MOST_PARTS)  # the pair, and the pair without each word
        tokens = length * variants + weights // WEIGHTS_PER_TOKEN
        return SearchStep(tokens, lambda: self._align(hit))

    def _align(self, hit: dict[str, Any]) -> None:
        began = perf_counter()
        matcher = self.models.matcher
        label = matcher.labels[matcher.column()] if matcher.labels else None
        # Why this row, and not why the matcher might say that it is none.
        hit["alignment"] = matcher.explain(self.read_as, found_by(hit), label=label).to_dict()
        self._spend("explain", began)

    def _spend(self, stage: str, began: float) -> None:
        """Add the time since then to a stage, and to the time of the search."""
        seconds = perf_counter() - began
        with self._lock:
            for name in {stage, "total"}:
                self._seconds[name] = self._seconds.get(name, 0.0) + seconds


def checked_queries(queries: Texts) -> list[str]:
    """Several queries as a list, of which each can be searched for."""
    if isinstance(queries, str):
        raise ConfigError(f"queries is {queries!r:.40}, expected a list of texts")
    try:
        given = given_items(queries, "sentences", QUERY_COLUMNS)
        found: list[Any] = [text_of(query, QUERY_COLUMNS) for query in given]
        found = [str(each) if isinstance(each, str) else each for each in found]  # not numpy's
    except TypeError:
        raise ConfigError(f"queries is {queries!r:.40}, expected a list of texts") from None
    for number, query in enumerate(found, 1):
        try:
            check_query(query)
        except ConfigError as error:
            raise ConfigError(f"query {number}: {error}") from None
    return found


def run_searches(
    searches: Sequence[AnySearch],
    threads: int,
    advance: Callable[[int], object] = lambda done: None,
) -> list[SearchResult]:
    """All of several searches, as many at a time as there are threads; `advance` counts them."""
    found: list[SearchResult] = []
    with ThreadPoolExecutor(threads, "softquery-search") as pool:
        for result in pool.map(lambda search: search.run(), searches):
            found.append(result)
            advance(len(found))
    return found


class SearchResults(list[SearchResult]):
    """A list of what each search found, in the order of the queries; a table each in a notebook.

    >>> results = SearchResults([SearchResult("how do I pay?", [], [])])
    >>> len(results), results._repr_html_().count("<table>")
    (1, 1)
    """

    def _repr_html_(self) -> str:
        return "\n".join(result._repr_html_() for result in self)
