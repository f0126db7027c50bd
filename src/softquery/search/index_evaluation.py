"""How good an index is on queries whose answers are known, and which of its stages pay."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files import Row
from softquery.measure import (
    Interval,
    choose_threshold,
    compare_means,
    found_at,
    mean_interval,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)
from softquery.search.index_view import IndexView
from softquery.search.query.retrieval import RowPlace
from softquery.search.query.search_steps import AnySearch
from softquery.search.query.stages import RERANK, VECTORS, WORDS, Stages, checked_stages
from softquery.search.storage.entries import ID, QUESTION, phrasings_of

CUTOFFS = (1, 3, 10)
"""Ranks at which recall is reported, besides the number of candidates."""
HYBRID = "hybrid"
"""The fused list, where words and vectors are both looked up."""
METRIC = "mrr"
"""What subsets are compared by: the mean reciprocal rank of the first relevant row."""
COMPARED = (METRIC, "recall@1", "recall@10", "ndcg@10")
Relevant = Mapping[str, float]
Floats = NDArray[np.float32]
OURS = ("query", "doc", "relevance")
"""Columns of the queries that mean something to us; all others are kept for slices."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, and the rows that answer it: grades by id; empty if the index has no answer."""

    query: str
    relevant: dict[str, float]
    others: dict[str, str] = field(default_factory=dict)
    """Further columns of its first row."""


@dataclass(frozen=True, slots=True)
class SearchDetails:
    """What a report shows beside the metrics.

    Attributes:
        is_labelled: Whether the file says what answers its queries; a log does not.
        row_scores: The scores of all rows that a user might see, for each query.
        vectors: The vector of each query; None where vectors are not used.
    """

    is_labelled: bool = True
    row_scores: list[list[float]] = field(default_factory=list)
    vectors: list[Floats | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """What was found for every query.

    Attributes:
        queries: The queries.
        stages: The stages that were used.
        ranked: For each of them, and for the fused list, the ids found for each query, best first;
            the last of these lists is what a user sees.
        scores: The best score of each query; 0 if nothing was found.
        seconds: For every part of a search, the time of each query.
        candidates: How many rows were compared with each query.
        min_score: The score that a hit needed to be an answer; None for any score.
        details: What a report shows beside the metrics.
    """

    queries: list[LabelledQuery]
    stages: Stages
    ranked: dict[str, list[list[str]]]
    scores: list[float]
    seconds: dict[str, list[float]]
    candidates: int
    min_score: float | None
    details: SearchDetails = field(default_factory=SearchDetails)

    @property
    def last(self) -> str:
        """The name of the list that a user sees."""
        return list(self.ranked)[-1]

    def answerable(self) -> list[int]:
        """The places of the queries that have an answer."""
        return [place for place, each in enumerate(self.queries) if each.relevant]

    def report(self) -> dict[str, Any]:
        """Metrics of the whole search with intervals, then those of each stage, then times."""
        result: dict[str, Any] = {"n": len(self.queries), "used": list(self.stages)}
        if self.answerable():
            result |= self.metrics(with_intervals=True)
            result["stages"] = {stage: self.metrics(stage) for stage in self.ranked}
        result["answers"] = self._answers()
        result["milliseconds"] = self.milliseconds()
        return result

    def mistakes(self) -> list[dict[str, Any]]:
        """Queries whose best hit is not relevant, the most confident first."""
        found = []
        for place, query in enumerate(self.queries):
            best = self.ranked[self.last][place][:1]
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

    def metrics(
        self, ranking: str | None = None, *, with_intervals: bool = False
    ) -> dict[str, Any]:
        """The means of all metrics over the queries that have an answer.

        Args:
            ranking: One of `ranked`; by default what a user sees.
            with_intervals: Whether each has its 95 % interval beside it.
        """
        result: dict[str, Any] = {}
        for name, values in self.by_query(ranking).items():
            result[name] = float(np.mean(values))
            if with_intervals:
                low, high = mean_interval(values)
                result[f"{name}_interval"] = [low, high]
        return result

    def by_query(self, ranking: str | None = None) -> dict[str, list[float]]:
        """Every metric of each query that has an answer."""
        cutoffs = sorted({*CUTOFFS, self.candidates})
        ranked = self.ranked[ranking or self.last]
        each = [
            measures(ranked[place], self.queries[place].relevant, cutoffs)
            for place in self.answerable()
        ]
        return {name: [found[name] for found in each] for name in each[0]}

    def milliseconds(self) -> dict[str, dict[str, float]]:
        """The median and the 95th percentile of each part's time."""
        return {name: _times(each) for name, each in self.seconds.items()}

    def right(self) -> NDArray[np.bool_]:
        """Whether the best row of each query answers it."""
        return np.array(
            [
                bool(ranked) and each.relevant.get(ranked[0], 0) > 0
                for each, ranked in zip(self.queries, self.ranked[self.last], strict=True)
            ]
        )

    def answered(self) -> NDArray[np.bool_]:
        """Whether each query gets an answer, at the threshold."""
        found = np.array([bool(ranked) for ranked in self.ranked[self.last]])
        return (
            found if self.min_score is None else found & (np.array(self.scores) >= self.min_score)
        )

    def _answers(self) -> dict[str, Any]:
        """What the threshold does: how many queries are answered, and how many of those rightly."""
        right, given, scores = self.right(), self.answered(), np.array(self.scores)
        if not self.details.is_labelled:
            return {"min_score": self.min_score, "answered": float(given.mean())}
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


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better one subset of the stages is than another that is faster."""

    stages: Stages
    faster: Stages
    difference: float
    """Of `METRIC`."""
    bounds: Interval
    """Its 95 % interval, over the same queries."""

    @property
    def pays(self) -> bool:
        """Whether it is better by more than chance."""
        return self.bounds.low > 0


@dataclass(frozen=True, slots=True)
class StageComparison:
    """Evaluations of the same queries, each by other stages."""

    evaluations: list[SearchEvaluation]

    def gains(self) -> list[Gain]:
        """Each slower subset against the best of the faster ones that has paid, fastest first."""
        order = sorted(self.evaluations, key=_median)
        kept, found = order[0], []
        for slower in order[1:]:
            first, second = (each.by_query()[METRIC] for each in (slower, kept))
            compared = compare_means(first, second, range(len(first)))
            gain = Gain(slower.stages, kept.stages, compared.difference, compared.interval)
            found.append(gain)
            if gain.pays:
                kept = slower
        return found

    def recommended(self) -> Stages:
        """The slowest subset that is worth its time."""
        paid = [gain.stages for gain in self.gains() if gain.pays]
        return paid[-1] if paid else min(self.evaluations, key=_median).stages

    def report(self) -> dict[str, Any]:
        """A row for each subset, every gain, and which subset is recommended."""
        rows = []
        for each in self.evaluations:
            metrics, total = each.metrics(), each.milliseconds()["total"]
            rows.append(
                {
                    "stages": list(each.stages),
                    **{name: metrics[name] for name in COMPARED},
                    "milliseconds_p50": total["p50"],
                    "milliseconds_p95": total["p95"],
                }
            )
        gains = [
            {
                "stages": list(gain.stages),
                "faster": list(gain.faster),
                METRIC: gain.difference,
                f"{METRIC}_interval": list(gain.bounds),
                "pays": gain.pays,
            }
            for gain in self.gains()
        ]
        first = self.evaluations[0]
        return {
            "n": len(first.queries),
            "n_answerable": len(first.answerable()),
            "compared": rows,
            "gains": gains,
            "recommended": list(self.recommended()),
        }


def measures(ranked: Sequence[str], relevant: Relevant, cutoffs: Sequence[int]) -> dict[str, float]:
    """All reported metrics of one ranking."""
    return {
        "mrr": reciprocal_rank(ranked, relevant),
        "ndcg@10": ndcg_at(ranked, relevant, 10),
        **{f"recall@{k}": recall_at(ranked, relevant, k) for k in cutoffs},
        **{f"found@{k}": found_at(ranked, relevant, k) for k in cutoffs},
    }


def evaluate_index(
    index: IndexView,
    rows: Sequence[Row],
    *,
    candidates: int = 50,
    stages: Iterable[str] | None = None,
    advance: Callable[[int], object] = lambda done: None,
) -> SearchEvaluation:
    """Search for every query and keep what each stage found.

    Args:
        index: The index.
        rows: Have `query`, `doc`, which is the id or the question of a row that answers it, and
            optionally `relevance`. A query may occur in several rows; an empty `doc` says that the
            index has no answer. If no row has `doc`, they are a log: nothing is known of answers.
        candidates: How many rows are compared with each query.
        stages: The stages of every search; all by default.
        advance: Called with the number of queries that are done.
    """
    used = checked_stages(stages, index.stages)
    queries = gather_queries(index, rows)
    ranked: dict[str, list[list[str]]] = {}
    seconds: dict[str, list[float]] = {}
    scores, row_scores, vectors = [], [], []
    _search(index, queries[0].query, candidates, used)  # opening models is no part of its time
    index.matcher.forget_encodings()  # nor is any query found read already
    for done, each in enumerate(queries, start=1):
        search, times = _search(index, each.query, candidates, used)
        for stage, places in _rankings(search).items():
            named = list(dict.fromkeys(search.ids(places)))
            ranked.setdefault(stage, []).append(named)
        for name, value in times.items():
            seconds.setdefault(name, []).append(value)
        scores.append(search.ranked[0][1] if search.ranked else 0.0)
        row_scores.append([score for _, score in search.ranked])
        vectors.append(search.recalled.vector)
        advance(done)
    return SearchEvaluation(
        queries,
        used,
        ranked,
        scores,
        seconds,
        candidates,
        index.least_score(used),
        SearchDetails(any("doc" in row.values for row in rows), row_scores, vectors),
    )


def compare_stages(
    index: IndexView,
    rows: Sequence[Row],
    subsets: Sequence[Stages],
    *,
    candidates: int = 50,
    advance: Callable[[int], object] = lambda done: None,
) -> StageComparison:
    """Evaluate an index by several subsets of its stages.

    Args:
        index: The index.
        rows: As for `evaluate_index`; at least one query has an answer.
        subsets: The stages to compare; a subset that occurs twice is measured once.
        candidates: How many rows are compared with each query.
        advance: Called with the number of queries that are done, over all subsets.
    """
    evaluations: list[SearchEvaluation] = []
    for stages in dict.fromkeys(subsets):
        before = sum(len(each.queries) for each in evaluations)
        evaluation = evaluate_index(
            index,
            rows,
            candidates=candidates,
            stages=stages,
            advance=lambda done, before=before: advance(before + done),  # type: ignore[misc]
        )
        if not evaluation.answerable():
            raise InputError("no query has an answer in the index, so that nothing can be compared")
        evaluations.append(evaluation)
    return StageComparison(evaluations)


def gather_queries(index: IndexView, rows: Sequence[Row]) -> list[LabelledQuery]:
    """The queries, each with all rows that answer it; every answer must be in the index."""
    if not rows:
        raise InputError("there are no queries to evaluate on")
    stored = [(row[ID], [row[QUESTION], *phrasings_of(row)]) for row in index.rows()]
    ids = {key for key, _ in stored}
    by_question = {question: key for key, questions in stored for question in questions}
    found: dict[str, dict[str, float]] = {}
    others: dict[str, dict[str, str]] = {}
    for row in rows:
        relevant = found.setdefault(row.values["query"], {})
        more = {name: value for name, value in row.values.items() if name not in OURS}
        others.setdefault(row.values["query"], more)
        doc = row.values.get("doc", "").strip()
        if not doc:
            continue
        key = doc if doc in ids else by_question.get(doc)
        if key is None:
            message = f"doc {doc!r:.60} is neither an id nor a question of the index"
            raise InputError(message, source=row.source, row=row.number)
        if grade := _grade(row):
            relevant[key] = grade
    return [LabelledQuery(query, relevant, others[query]) for query, relevant in found.items()]


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
    index: IndexView, text: str, candidates: int, stages: Stages
) -> tuple[AnySearch, dict[str, float]]:
    """A search that is done, and how long its parts took."""
    search = index.steps(text, candidates=candidates, stages=stages)
    return search, search.run().seconds


def _rankings(search: AnySearch) -> dict[str, list[RowPlace]]:
    """What every stage of a search has found, best first; what a user sees comes last."""
    recalled, stages = search.recalled, search.options.stages
    lists = {
        WORDS: list(recalled.by_words),
        VECTORS: list(recalled.by_vectors),
        HYBRID: list(recalled.places),
        RERANK: [place for place, _ in search.ranked],
    }
    used = {*stages, HYBRID} if {WORDS, VECTORS} <= set(stages) else set(stages)
    return {name: places for name, places in lists.items() if name in used}


def _times(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.quantile(seconds, [0.5, 0.95])
    return {"p50": round(1000 * float(p50), 3), "p95": round(1000 * float(p95), 3)}


def _median(evaluation: SearchEvaluation) -> float:
    """Milliseconds per query."""
    return evaluation.milliseconds()["total"]["p50"]
