"""A search cut into steps, for a server that computes many requests in turns.

The steps give what `find` gives, to the bit: rows are compared in the batches in which a matcher
compares them when it is given all of them.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from softquery.runtime.batches import even_batches
from softquery.runtime.match.backend import TOKENS, most_pairs
from softquery.search.entries import QUESTION
from softquery.search.index_models import IndexModels
from softquery.search.retrieval import (
    RecallResult,
    RowPlace,
    SearchResult,
    Where,
    allowed_rows,
    best_first,
    check_search,
    hit_of,
    recall,
    stored_encodings,
)
from softquery.search.segment import Segment

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


class SearchSteps:
    """One search: `recall`, then all `comparisons`, then all `alignments`, then the `result`.

    Args:
        segments: The segments of the index, which are searched as they are now.
        models: The models of the index.
        text: The query.
        top_k: The most hits.
        where: Conditions on columns.
        min_score: The score that a hit needs.
        candidates: How many rows are compared with the query.
        explain: Whether hits have an `alignment`.

    Raises:
        ConfigError: An argument cannot be used.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        models: IndexModels,
        text: str,
        *,
        top_k: int,
        where: Where,
        min_score: float,
        candidates: int,
        explain: bool,
    ) -> None:
        check_search(text, top_k, where, min_score, candidates)
        self.segments, self.models, self.text = segments, models, text
        self.top_k, self.where, self.min_score = top_k, where, min_score
        self.candidates, self.explain = candidates, explain
        sentences, cuts = models.matcher.read([text])
        self.num_tokens, self.is_truncated = len(sentences[0]), cuts[0] > 0
        self.num_weights = 0
        """Weights of all alignments, in both directions; known when rows have been compared."""
        self._recalled = RecallResult({}, [], [], {})
        self._lengths: dict[RowPlace, int] = {}
        self._probabilities: dict[RowPlace, float] = {}
        self._hits: list[dict[str, Any]] = []
        self._num_good = 0
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def recall(self) -> Iterator[None]:
        """Find the rows to compare, in several parts of some milliseconds each."""
        began = perf_counter()
        allowed = allowed_rows(self.segments, self.where)
        count = max(self.candidates, self.top_k)
        self._recalled = recall(self.segments, self.models, self.text, count, allowed)
        self._seconds = dict(self._recalled.seconds)
        self._spend("total", began)
        yield
        places = list(self._recalled.places)
        for start in range(0, len(places), READ_TOGETHER):
            began = perf_counter()
            self._read_lengths(places[start : start + READ_TOGETHER])
            self._spend("total", began)
            yield

    def comparisons(self) -> list[SearchStep]:
        """The query with all recalled rows, in batches; to be asked for after `recall`."""
        places = list(self._recalled.places)
        sample = self.models.matcher.encodings([""])[0]
        sizes = [len(sample) if sample.ndim == 1 else self._lengths[place] for place in places]
        order = sorted(range(len(places)), key=lambda row: (sizes[row], row))
        most = most_pairs(sample)
        batches = even_batches([sizes[row] for row in order], most=most, most_tokens=TOKENS)
        return [self._comparison([places[order[row]] for row in batch]) for batch in batches]

    def alignments(self) -> list[SearchStep]:
        """The alignment of each hit, if they are asked for; after all `comparisons`."""
        self._rank()
        if not self.explain:
            return []
        return [self._alignment(hit) for hit in self._hits[: self._num_good]]

    def result(self) -> SearchResult:
        """What the search found; after all `alignments`."""
        good = self._num_good
        return SearchResult(self.text, self._hits[:good], self._hits[good:], self._seconds)

    def _read_lengths(self, places: Sequence[RowPlace]) -> None:
        """Find out how many tokens stored questions have."""
        unknown = []
        for place in places:
            encodings = self.segments[place.segment].encodings
            if encodings is None:
                unknown.append(place)
            else:
                (self._lengths[place],) = encodings.lengths([place.row])
        sentences, _ = self.models.matcher.read([self._question(place) for place in unknown])
        self._lengths.update(zip(unknown, map(len, sentences), strict=True))

    def _question(self, place: RowPlace) -> str:
        return self.segments[place.segment].cells.text(place.row, QUESTION)

    def _comparison(self, places: Sequence[RowPlace]) -> SearchStep:
        tokens = sum(self.num_tokens + self._lengths[place] for place in places)
        return SearchStep(tokens, lambda: self._compare(places))

    def _compare(self, places: Sequence[RowPlace]) -> None:
        began, matcher = perf_counter(), self.models.matcher
        encodings = stored_encodings(self.segments, places)
        if encodings is None:
            encodings = matcher.encodings([self._question(place) for place in places])
        rows = matcher.compare(matcher.encodings([self.text]), encodings)
        found = rows[:, matcher.column()].tolist()
        with self._lock:
            self._probabilities.update(zip(places, found, strict=True))
        self._spend("rerank", began)

    def _rank(self) -> None:
        began = perf_counter()
        places = list(self._recalled.places)
        scores = np.array([self._probabilities[place] for place in places])
        order = np.argsort(-scores, kind="stable").tolist()
        probabilities = {places[row]: float(scores[row]) for row in order}
        weight = self.models.settings.recall_weight
        ranked = best_first(self._recalled.places, probabilities, weight)[: self.top_k]
        self._hits = [hit_of(self.segments, place, score) for place, score in ranked]
        self._num_good = sum(score >= self.min_score for _, score in ranked)
        if self.explain:
            lengths = [self._lengths[place] for place, _ in ranked[: self._num_good]]
            self.num_weights = 2 * self.num_tokens * sum(lengths)
        self._spend("rerank", began)

    def _alignment(self, hit: dict[str, Any]) -> SearchStep:
        weights = self.num_weights // max(1, self._num_good)
        return SearchStep(self.num_tokens + weights // WEIGHTS_PER_TOKEN, lambda: self._align(hit))

    def _align(self, hit: dict[str, Any]) -> None:
        began = perf_counter()
        hit["alignment"] = self.models.matcher.explain(self.text, hit[QUESTION]).to_dict()
        self._spend("explain", began)

    def _spend(self, stage: str, began: float) -> None:
        """Add the time since then to a stage, and to the time of the search."""
        seconds = perf_counter() - began
        with self._lock:
            for name in {stage, "total"}:
                self._seconds[name] = self._seconds.get(name, 0.0) + seconds
