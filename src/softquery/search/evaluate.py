"""How good an index is on questions whose answers are known, stage by stage."""

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
from softquery.search.finding import allowed_rows, rerank
from softquery.search.index import Index
from softquery.search.recall import RowPlace, recall

CUTS = (1, 3, 10)
"""Places up to which recall is given, beside the number of candidates."""
STAGES = ("words", "vectors", "hybrid", "rerank")
Relevant = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A question, and what answers it: grades by id; none where nothing should."""

    query: str
    relevant: dict[str, float]


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """What was found for every question.

    Attributes:
        asked: The questions.
        ranked: For every stage, the ids found for each question, best first.
        scores: The best score of each question; 0 where nothing was found.
        seconds: For every part of a search, the time of each question.
        candidates: How many rows were compared.
        min_score: From which score on a hit was an answer.
    """

    asked: list[LabelledQuery]
    ranked: dict[str, list[list[str]]]
    scores: list[float]
    seconds: dict[str, list[float]]
    candidates: int
    min_score: float

    def report(self) -> dict[str, Any]:
        """Metrics of the whole search with intervals, then of each stage, then times."""
        answerable = [place for place, each in enumerate(self.asked) if each.relevant]
        result: dict[str, Any] = {"n": len(self.asked)}
        if answerable:
            result |= self._metrics("rerank", answerable, with_intervals=True)
            result["stages"] = {stage: self._metrics(stage, answerable) for stage in STAGES}
        result["answers"] = self._answers()
        result["milliseconds"] = {name: _times(each) for name, each in self.seconds.items()}
        return result

    def mistakes(self) -> list[dict[str, Any]]:
        """Questions whose best answer is not relevant, the surest first."""
        found = []
        for place, asked in enumerate(self.asked):
            best = self.ranked["rerank"][place][:1]
            if not best or best[0] in asked.relevant:
                continue
            found.append(
                {
                    "query": asked.query,
                    "expected": " ".join(asked.relevant),
                    "predicted": best[0],
                    "confidence": round(self.scores[place], 4),
                }
            )
        return sorted(found, key=lambda each: -each["confidence"])

    def _metrics(
        self, stage: str, places: Sequence[int], *, with_intervals: bool = False
    ) -> dict[str, Any]:
        cuts = sorted({*CUTS, self.candidates})
        each = [
            measures(self.ranked[stage][place], self.asked[place].relevant, cuts)
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
        """What the threshold makes of it: how many are answered, and how many of those well."""
        right = np.array(
            [
                bool(ranked) and each.relevant.get(ranked[0], 0) > 0
                for each, ranked in zip(self.asked, self.ranked["rerank"], strict=True)
            ]
        )
        scores = np.array(self.scores)
        given = scores >= self.min_score
        result: dict[str, Any] = {
            "min_score": self.min_score,
            "answered": float(given.mean()),
            "right_of_answered": float(right[given].mean()) if given.any() else None,
        }
        unanswerable = np.array([not each.relevant for each in self.asked])
        if unanswerable.any():
            result["rightly_unanswered"] = float((~given)[unanswerable].mean())
        if right.any() and not right.all():
            best = choose_threshold(scores, right.astype(np.int64))
            result["best_min_score"] = best.value
        return result


def measures(ranked: Sequence[str], relevant: Relevant, cuts: Sequence[int]) -> dict[str, float]:
    """How good one order is, in every way that is reported."""
    return {
        "mrr": reciprocal_rank(ranked, relevant),
        "ndcg@10": ndcg_at(ranked, relevant, 10),
        **{f"recall@{k}": recall_at(ranked, relevant, k) for k in cuts},
        **{f"found@{k}": found_at(ranked, relevant, k) for k in cuts},
    }


def evaluate_index(
    index: Index,
    rows: Sequence[Row],
    *,
    candidates: int = 50,
    advance: Callable[[int], object] = lambda done: None,
) -> SearchEvaluation:
    """Ask every question and keep what each stage found.

    Args:
        index: The index.
        rows: With `query` and `doc`, the id or the question of a row that answers it, and where it
            is there `relevance`. A query may stand in several rows; an empty `doc` says that the
            index has no answer.
        candidates: How many rows are compared with each query.
        advance: Told how many questions are done.
    """
    asked = gathered(index, rows)
    ranked: dict[str, list[list[str]]] = {stage: [] for stage in STAGES}
    seconds: dict[str, list[float]] = {}
    scores = []
    _ask(index, asked[0].query, candidates)  # what is opened once is no part of a query's time
    for done, each in enumerate(asked, start=1):
        found, times = _ask(index, each.query, candidates)
        for stage in STAGES:
            ranked[stage].append([key for key, _ in found[stage]])
        for name, value in times.items():
            seconds.setdefault(name, []).append(value)
        scores.append(found["rerank"][0][1] if found["rerank"] else 0.0)
        advance(done)
    return SearchEvaluation(asked, ranked, scores, seconds, candidates, index.min_score)


def gathered(index: Index, rows: Sequence[Row]) -> list[LabelledQuery]:
    """The questions with all that answers them; every answer must be in the index."""
    if not rows:
        raise InputError("there are no queries to evaluate on")
    stored = [(row[ID], row[QUESTION]) for row in index.rows()]
    ids = {key for key, _ in stored}
    by_question = {question: key for key, question in stored}
    asked: dict[str, dict[str, float]] = {}
    for row in rows:
        relevant = asked.setdefault(row.values["query"], {})
        doc = row.values.get("doc", "").strip()
        if not doc:
            continue
        key = doc if doc in ids else by_question.get(doc)
        if key is None:
            message = f"doc {doc!r:.60} is neither an id nor a question of the index"
            raise InputError(message, source=row.source, row=row.number)
        if grade := _grade(row):
            relevant[key] = grade
    return [LabelledQuery(query, relevant) for query, relevant in asked.items()]


def _grade(row: Row) -> float:
    text = row.values.get("relevance", "").strip() or "1"
    try:
        grade = float(text)
    except ValueError:
        grade = -1.0
    if not 0 <= grade < float("inf"):
        message = f"relevance {text!r:.40} is not a number from 0 on"
        raise InputError(message, source=row.source, row=row.number)
    return grade


def _ask(
    index: Index, text: str, candidates: int
) -> tuple[dict[str, list[tuple[str, float]]], dict[str, float]]:
    """What every stage finds, and how long each takes."""
    segments, reader = index.segments, index.reader
    begin = perf_counter()
    recalled = recall(segments, reader, text, candidates, allowed_rows(segments, {}))
    start = perf_counter()
    reranked = rerank(segments, reader, text, recalled.places)
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
