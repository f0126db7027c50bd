"""What a report says, as data: `SearchReport`, which is written as JSON or as a page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from softquery.atomic import write_text
from softquery.errors import BundleError, InputError
from softquery.explain import PairAlignment
from softquery.files import Row
from softquery.measure import mean_interval
from softquery.search.index_evaluation import SearchEvaluation, evaluate_index
from softquery.search.index_view import IndexView
from softquery.search.query.stages import RERANK, score_name
from softquery.search.report.curves import (
    at_threshold,
    calibration,
    coverage_curve,
    histogram,
)
from softquery.search.report.gaps import drawn, find_clusters, near_enough
from softquery.search.report.page import page
from softquery.search.report.query_groups import search_slices
from softquery.search.storage.entries import ANSWER, ID, QUESTION

MOST_MISTAKES, MOST_ALIGNMENTS = 30, 12
MOST_GAPS, MOST_EXAMPLES = 30, 5
MOST_CELLS = 900
"""Cells of an alignment that is drawn."""
PROBABILITY = "a probability"


@dataclass(frozen=True, slots=True)
class SearchReport:
    """What a file of queries says of an index.

    Attributes:
        data: Everything, as JSON holds it.
        alignments: The alignments of the first mistakes, by their places.
    """

    data: dict[str, Any]
    alignments: dict[int, PairAlignment] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything that the page shows but its alignments, as JSON holds it."""
        return self.data

    def to_html(self) -> str:
        """A page that stands alone: no script, nothing to load, light and dark."""
        return page(self.data, self.alignments)

    def write_html(self, path: str | PathLike[str]) -> Path:
        """Write the page; it appears whole or not at all.

        Raises:
            InputError: The file cannot be written.
        """
        check_html_place(path)
        target = Path(path)
        write_text(target, self.to_html())
        return target


def check_html_place(path: str | PathLike[str]) -> None:
    """Refuse, before any work, a place where no page can be written."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError("expected a name that ends in .html", source=fspath(path))
    if not target.parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=path)
    if target.is_dir():
        raise InputError("cannot be written (is a folder)", source=path)


def report_index(
    index: IndexView,
    rows: Iterable[Row | Mapping[str, object]],
    *,
    candidates: int = 50,
    stages: Iterable[str] | None = None,
    slices: Sequence[str] = (),
    advance: Callable[[int], object] = lambda done: None,
) -> SearchReport:
    """Search for every query, and put together what that says of the index.

    Args:
        index: The index.
        rows: As for `evaluate_index`; mappings, or rows of `softquery.files.read_rows`.
        candidates: How many rows are recalled for each query.
        stages: The stages of every search; all by default.
        slices: Columns of the queries, or of the index's rows, to slice by.
        advance: Called with the number of queries that are done.
    """
    given = [_row(each, number) for number, each in enumerate(rows, 1)]
    evaluation = evaluate_index(index, given, candidates=candidates, stages=stages, advance=advance)
    return collect(index, evaluation, slices=slices)


def _row(each: Row | Mapping[str, object], number: int) -> Row:
    if isinstance(each, Row):
        return each
    values = {name: str(value) for name, value in each.items() if value is not None}
    if not values.get("query", "").strip():
        raise InputError("has no query", source="the rows", row=number)
    return Row(values, number, "the rows")


def collect(
    index: IndexView,
    evaluation: SearchEvaluation,
    *,
    slices: Sequence[str] = (),
    comparison: Mapping[str, Any] | None = None,
) -> SearchReport:
    """A report on an evaluation that is done.

    Args:
        index: The index that was evaluated.
        evaluation: What was found.
        slices: Columns of the queries, or of the index's rows, to slice by.
        comparison: What `StageComparison.report` says, if several subsets were compared.

    Raises:
        ConfigError: A slice is no column of the queries and none of the rows.
    """
    stored = {row[ID]: row for row in index.rows()}
    scores = np.array(evaluation.scores, dtype=np.float64)
    kind = score_name(evaluation.stages, is_learned=index.has_learned_score)
    data: dict[str, Any] = {
        "index": Path(index.path).name,
        "rows": len(index),
        "model": Path(index.manifest.model).name,
        "vectors": Path(index.manifest.settings.vectors).name,
        "aim": index.aim,
        "score": kind,
        "labelled": evaluation.details.is_labelled,
        **evaluation.report(),
    }
    alignments: dict[int, PairAlignment] = {}
    if evaluation.details.is_labelled:
        data["headline"] = headline(evaluation)
        data |= _quality(evaluation, scores, is_probability=kind == PROBABILITY)
        data["mistakes"], data["num_mistakes"] = _mistakes(evaluation, stored)
        if RERANK in evaluation.stages:
            alignments = _alignments(index, data["mistakes"])
    else:
        data["headline"] = {"answered": _share(evaluation.answered())}
        kinds = {"answered": evaluation.answered(), "not answered": ~evaluation.answered()}
        data["histogram"] = histogram(scores, kinds)
    data["gaps"] = _gaps(index, evaluation, stored)
    data["slices"] = search_slices(evaluation, stored, slices)
    if comparison is not None:
        data["comparison"] = dict(comparison)
    return SearchReport(data, alignments)


def headline(evaluation: SearchEvaluation) -> dict[str, Any]:
    """The figures at the top, each with its interval and the number of queries behind it."""
    right, given = evaluation.right(), evaluation.answered()
    answerable = np.array([bool(each.relevant) for each in evaluation.queries])
    parts = {
        "first_right": (right, answerable),
        "answered_rightly": (right & given, answerable),
        "precision": (right, given),
        "unanswerable_answered": (given, ~answerable),
    }
    found = {name: _share(of[among]) for name, (of, among) in parts.items() if among.any()}
    if answerable.any():
        found["mrr"] = _mean(np.array(evaluation.by_query()["mrr"]))
    return found


def _share(flags: Any) -> dict[str, Any]:
    low, high = wilson(int(flags.sum()), len(flags))
    return {"value": float(flags.mean()), "interval": [low, high], "n": len(flags)}


def wilson(count: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927), which is none of zero width at 0 or at 1.

    >>> [round(each, 3) for each in wilson(0, 7)]
    [0.0, 0.354]
    """
    square = 1.959964**2
    middle = (count + square / 2) / (total + square)
    spread = (square * (count * (total - count) / total + square / 4)) ** 0.5 / (total + square)
    share = count / total  # which rounding must not leave outside
    return min(share, max(0.0, middle - spread)), max(share, min(1.0, middle + spread))


def _mean(values: Any) -> dict[str, Any]:
    low, high = mean_interval(values)
    return {"value": float(np.mean(values)), "interval": [low, high], "n": len(values)}


def _quality(evaluation: SearchEvaluation, scores: Any, *, is_probability: bool) -> dict[str, Any]:
    """What thresholds do, how true scores are, where they lie."""
    right, given = evaluation.right(), evaluation.answered()
    answerable = np.array([bool(each.relevant) for each in evaluation.queries])
    kinds = {"right": right, "wrong": ~right & answerable, "unanswerable": ~answerable}
    found: dict[str, Any] = {
        "curve": coverage_curve(scores, right, answerable),
        "today": at_threshold(given, right, answerable, evaluation.min_score),
        "histogram": histogram(scores, kinds),
    }
    if is_probability:
        found["calibration"] = calibration(scores, right)
    return found


def _mistakes(
    evaluation: SearchEvaluation, stored: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], int]:
    """The worst mistakes, the most confident first, and how many there are."""
    right, given = evaluation.right(), evaluation.answered()
    wrong: list[int] = np.flatnonzero(~right & given).tolist()
    wrong.sort(key=lambda place: -evaluation.scores[place])
    return [_mistake(evaluation, stored, place) for place in wrong[:MOST_MISTAKES]], len(wrong)


def _mistake(
    evaluation: SearchEvaluation, stored: Mapping[str, Mapping[str, str]], place: int
) -> dict[str, Any]:
    query, ranked = evaluation.queries[place], evaluation.ranked[evaluation.last][place]
    scores = evaluation.details.row_scores[place]
    expected = []
    for key in sorted(query.relevant, key=lambda each: -query.relevant[each])[:3]:
        at = ranked.index(key) if key in ranked else None
        score = None if at is None else scores[at]
        rank = None if at is None else at + 1
        expected.append({**_shown(stored[key]), "rank": rank, "score": score})
    return {
        "query": query.query,
        "shown": {**_shown(stored[ranked[0]]), "score": scores[0]},
        "right": expected,
    }


def _shown(row: Mapping[str, str]) -> dict[str, Any]:
    return {"id": row[ID], "question": row[QUESTION], "answer": row.get(ANSWER, "")[:300]}


def _alignments(
    index: IndexView, mistakes: Sequence[Mapping[str, Any]]
) -> dict[int, PairAlignment]:
    """The alignments of the first mistakes with what was shown, if they are not too large."""
    found: dict[int, PairAlignment] = {}
    for place, each in enumerate(mistakes[:MOST_ALIGNMENTS]):
        pair = each["query"], each["shown"]["question"]
        matcher = index.matcher_for(each["query"])
        sentences, _ = matcher.read(pair)
        if len(sentences[0]) * len(sentences[1]) > MOST_CELLS:
            continue
        try:
            found[place] = matcher.explain(*pair)
        except BundleError:  # it aligns no words
            break
    return found


def _gaps(
    index: IndexView, evaluation: SearchEvaluation, stored: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Queries without an answer that cluster: those that are labelled so; of a log, unanswered."""
    answered = evaluation.answered()
    if evaluation.details.is_labelled:
        places = [at for at, each in enumerate(evaluation.queries) if not each.relevant]
    else:
        places = np.flatnonzero(~answered).tolist()
    looked_at = drawn(places)
    result: dict[str, Any] = {"queries": len(places), "looked_at": len(looked_at), "clusters": []}
    if len(looked_at) < 2:
        return result
    vectors = _alike([_vector(index, evaluation, place) for place in looked_at], looked_at)
    if len(looked_at) < 2:
        return result
    least = near_enough(index.facts().near)
    clusters = find_clusters(vectors, least)
    result |= {
        "least_cosine": round(least, 3),
        "num_clusters": len(clusters),
        "clustered": sum(len(each.members) for each in clusters),
    }
    for cluster in clusters[:MOST_GAPS]:
        members = [looked_at[each] for each in cluster.members]
        first = members[0]
        ranked = evaluation.ranked[evaluation.last][first]
        nearest = None
        if ranked:
            score = evaluation.details.row_scores[first][0]
            nearest = {**_shown(stored[ranked[0]]), "score": score}
        result["clusters"].append(
            {
                "size": len(members),
                "examples": [evaluation.queries[at].query for at in members[:MOST_EXAMPLES]],
                "answered": int(answered[members].sum()),
                "nearest": nearest,
            }
        )
    return result


def _alike(vectors: list[Any], places: list[int]) -> Any:
    """Vectors of one size, the commonest; parts in other languages may have others."""
    sizes = [len(each) for each in vectors]
    size = max(set(sizes), key=sizes.count)
    places[:] = [place for place, each in zip(places, sizes, strict=True) if each == size]
    return np.stack([each for each in vectors if len(each) == size])


def _vector(index: IndexView, evaluation: SearchEvaluation, place: int) -> Any:
    known = evaluation.details.vectors[place]
    return index.models.vector(evaluation.queries[place].query) if known is None else known
