"""How good an index is on queries whose answers are known, stage by stage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    choose_threshold,
    found_at,
    mean_interval,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)
from softquery.search.entries import ID, QUESTION
from softquery.search.index import Index
from softquery.search.retrieval import RowPlace, allowed_rows, recall, rerank

CUTOFFS = (1, 3, 10)
"""Ranks at which recall is reported, besides the number of candidates."""
STAGES = ("words", "vectors", "hybrid", "rerank")
Relevant = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, and the rows that answer it: grades by id; empty if the index has no answer."""

    query: str
    relevant: dict[str, float]


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """What was found for every query.

    Attributes:
        queries: The queries.
        ranked: For every stage, the ids found for each query, best first.
        scores: The best score of each query; 0 if nothing was found.
        seconds: For every part of a search, the time of each query.
        candidates: How many rows were compared with each query.
        min_score: The score that a hit needed to be an answer.
    """

    queries: list[LabelledQuery]
    ranked: dict[str, list[list[str]]]
    scores: list[float]
    seconds: dict[str, list[float]]
    candidates: int
    min_score: float

    def report(self) -> dict[str, Any]:
        """Metrics of the whole search with intervals, then those of each stage, then times."""
        answerable = [place for place, each in enumerate(self.queries) if each.relevant]
        result: dict[str, Any] = {"n": len(self.queries)}
        if answerable:
            result |= self._metrics("rerank", answerable, with_intervals=True)
            result["stages"] = {stage: self._metrics(stage, answerable) for stage in STAGES}
        result["answers"] = self._answers()
        result["milliseconds"] = {name: _times(each) for name, each in self.seconds.items()}
        return result

    def mistakes(self) -> list[dict[str, Any]]:
        """Queries whose best hit is not relevant, the most confident first."""
        found = []
        for place, query in enumerate(self.queries):
            best = self.ranked["rerank"][place][:1]
            if not best or best[0] in query.relevant:
                continue
            found.append(
                {
                    "query": query.query,
                    "expected": " ".join(query.relevant),
                    "predicted": best[0],
                    "confidence": round(self.scores[place], 4),
                }
            )
        return sorted(found, key=lambda each: -each["confidence"])

    def _metrics(
        self, stage: str, places: Sequence[int], *, with_intervals: bool = False
    ) -> dict[str, Any]:
        cutoffs = sorted({*CUTOFFS, self.candidates})
        each = [
            measures(self.ranked[stage][place], self.queries[place].relevant, cutoffs)
            for place in places
        ]
        result: dict[str, Any] = {}
        for name in each[0]:
            values = [found[name] for found in each]
            result[name] = float(np.mean(values))
            if with_intervals:
                low, high = mean_interval(values)
                result[f"{name}_interval"] = [low, high]
        return result

    def _answers(self) -> dict[str, Any]:
        """What the threshold does: how many queries are answered, and how many of those rightly."""
        right = np.array(
            [
                bool(ranked) and each.relevant.get(ranked[0], 0) > 0
                for each, ranked in zip(self.queries, self.ranked["rerank"], strict=True)
            ]
        )
        scores = np.array(self.scores)
        given = scores >= self.min_score
        result: dict[str, Any] = {
            "min_score": self.min_score,
            "answered": float(given.mean()),
            "right_of_answered": float(right[given].mean()) if given.any() else None,
        }
        unanswerable = np.array([not each.relevant for each in self.queries])
        if unanswerable.any():
            result["rightly_unanswered"] = float((~given)[unanswerable].mean())
        if right.any() and not right.all():
            best = choose_threshold(scores, right.astype(np.int64))
            result["best_min_score"] = best.value
        return result


def measures(ranked: Sequence[str], relevant: Relevant, cutoffs: Sequence[int]) -> dict[str, float]:
    """All reported metrics of one ranking."""
    return {
        "mrr": reciprocal_rank(ranked, relevant),
        "ndcg@10": ndcg_at(ranked, relevant, 10),
        **{f"recall@{k}": recall_at(ranked, relevant, k) for k in cutoffs},
        **{f"found@{k}": found_at(ranked, relevant, k) for k in cutoffs},
    }


def evaluate_index(
    index: Index,
    rows: Sequence[Row],
    *,
    candidates: int = 50,
    advance: Callable[[int], object] = lambda done: None,
) -> SearchEvaluation:
    """Search for every query and keep what each stage found.

    Args:
        index: The index.
        rows: Have `query`, `doc`, which is the id or the question of a row that answers it, and
            optionally `relevance`. A query may occur in several rows; an empty `doc` says that the
            index has no answer.
        candidates: How many rows are compared with each query.
        advance: Called with the number of queries that are done.
    """
    queries = gather_queries(index, rows)
    ranked: dict[str, list[list[str]]] = {stage: [] for stage in STAGES}
    seconds: dict[str, list[float]] = {}
    scores = []
    _search(index, queries[0].query, candidates)  # opening models is no part of a query's time
    for done, each in enumerate(queries, start=1):
        found, times = _search(index, each.query, candidates)
        for stage in STAGES:
            ranked[stage].append([key for key, _ in found[stage]])
        for name, value in times.items():
            seconds.setdefault(name, []).append(value)
        scores.append(found["rerank"][0][1] if found["rerank"] else 0.0)
        advance(done)
    return SearchEvaluation(queries, ranked, scores, seconds, candidates, index.min_score)


def gather_queries(index: Index, rows: Sequence[Row]) -> list[LabelledQuery]:
    """The queries, each with all rows that answer it; every answer must be in the index."""
    if not rows:
        raise InputError("there are no queries to evaluate on")
    stored = [(row[ID], row[QUESTION]) for row in index.rows()]
    ids = {key for key, _ in stored}
    by_question = {question: key for key, question in stored}
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        relevant = found.setdefault(row.values["query"], {})
        doc = row.values.get("doc", "").strip()
        if not doc:
            continue
        key = doc if doc in ids else by_question.get(doc)
        if key is None:
            message = f"doc {doc!r:.60} is neither an id nor a question of the index"
            raise InputError(message, source=row.source, row=row.number)
        if grade := _grade(row):
            relevant[key] = grade
    return [LabelledQuery(query, relevant) for query, relevant in found.items()]


def _grade(row: Row) -> float:
    text = row.values.get("relevance", "").strip() or "1"
    try:
        grade = float(text)
    except ValueError:
        grade = -1.0
    if not 0 <= grade < float("inf"):
        message = f"relevance {text!r:.40} is not a number of at least 0"
        raise InputError(message, source=row.source, row=row.number)
    return grade


def _search(
    index: Index, text: str, candidates: int
) -> tuple[dict[str, list[tuple[str, float]]], dict[str, float]]:
    """What every stage finds, and how long it takes."""
    segments, models = index.segments, index.models
    begin = perf_counter()
    recalled = recall(segments, models, text, candidates, allowed_rows(segments, {}))
    start = perf_counter()
    reranked = rerank(segments, models, text, recalled.places)
    end = perf_counter()
    seconds = {**recalled.seconds, "rerank": end - start, "total": end - begin}

    def named(places: Sequence[tuple[RowPlace, float]]) -> list[tuple[str, float]]:
        return [(segments[place.segment].ids[place.row], score) for place, score in places]

    lists = {"words": recalled.by_words, "vectors": recalled.by_vectors}
    lists["hybrid"] = list(recalled.places)
    found = {stage: named([(place, 0.0) for place in places]) for stage, places in lists.items()}
    return {**found, "rerank": named(reranked)}, seconds


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.quantile(seconds, [0.5, 0.95])
    return {"p50": round(1000 * float(p50), 3), "p95": round(1000 * float(p95), 3)}
