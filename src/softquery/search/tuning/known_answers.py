"""What is known of queries: from rows of labels, or from a log of what was shown and chosen.

**A log of clicks** says less than labels do. What stands first is looked at most, so that it is
also chosen most (position bias). So a choice counts as much as the rank at which it was made, up to
four (inverse propensity weighting, Joachims et al. 2017, with the propensity 1 / rank); rows above
it were looked at and passed over, and do not answer; of rows below it nothing is known.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

from softquery.errors import InputError, counted
from softquery.files import Row, read_rows
from softquery.search.index_evaluation import gather_queries
from softquery.search.index_view import IndexView

TuneSource = str | PathLike[str] | Iterable[Mapping[str, object]]
LABELLED, CLICKED = ("doc", "relevance"), ("shown", "chosen")
MOST_RANK = 4
"""The rank from which on choices count alike."""
OFTEN, LEAST_SHOWN = 0.5, 2
"""The share of times that something was chosen, from which on a query counts as answered; and how
often nothing must have been chosen for it to count as unanswerable."""
LEAST_QUERIES, LEAST_ANSWERABLE = 20, 10


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """A query, and what is known of its answers.

    Attributes:
        query: Its text.
        relevant: The ids of rows that answer it; none if nothing does.
        passed_over: The ids of rows that are known not to; None for all others.
        weight: What the query counts.
    """

    query: str
    relevant: frozenset[str]
    passed_over: frozenset[str] | None = None
    weight: float = 1.0


@dataclass(slots=True)
class _Log:
    """What became of one query."""

    first_row: int
    times: int = 0
    weights: dict[str, float] = field(default_factory=dict)
    passed_over: set[str] = field(default_factory=set)
    choices: list[int] = field(default_factory=list)
    """The ranks at which something was chosen."""


def known_answers(index: IndexView, rows: Sequence[Row]) -> tuple[list[KnownAnswers], list[str]]:
    """What rows say of queries, and what has to be said of the rows.

    Args:
        index: The index that they are for.
        rows: With `query` and `doc`, and optionally `relevance`; or with `query`, `shown` and
            `chosen`.

    Raises:
        InputError: The rows are of neither form, contradict each other, name rows that the index
            lacks, or are too few.
    """
    if not rows:
        raise InputError("there are no queries to tune on")
    columns = {name for row in rows for name in row.values}
    has_labels = "doc" in columns
    has_clicks = columns >= set(CLICKED)
    if has_labels == has_clicks:
        found = "both" if has_labels else "neither"
        message = f"expected a column doc, or shown and chosen, found {found}"
        raise InputError(message, source=rows[0].source)
    known, notes = _labelled(index, rows) if has_labels else _clicked(index, rows)
    _check_enough(known, rows[0].source)
    return known, notes


def _labelled(index: IndexView, rows: Sequence[Row]) -> tuple[list[KnownAnswers], list[str]]:
    _check_contradictions(rows)
    gathered = gather_queries(index, rows)
    return [KnownAnswers(each.query, frozenset(each.relevant)) for each in gathered], []


def _check_contradictions(rows: Iterable[Row]) -> None:
    """Refuse a query with and without an answer, and a row that both answers it and does not."""
    said: dict[tuple[str, str], tuple[int, str]] = {}
    with_doc: dict[str, tuple[int, bool]] = {}
    for row in rows:
        query, doc = row.values["query"], row.values.get("doc", "").strip()
        grade = row.values.get("relevance", "").strip() or "1"
        number, has_doc = with_doc.setdefault(query, (row.number, bool(doc)))
        if has_doc != bool(doc):
            message = f"the query {query!r:.60} has an answer in one row and none in row {number}"
            raise InputError(message, source=row.source, row=row.number)
        number, before = said.setdefault((query, doc), (row.number, grade))
        if _is_zero(before) != _is_zero(grade):
            message = f"doc {doc!r:.40} has relevance {grade:.20}, and {before:.20} in row {number}"
            raise InputError(message, source=row.source, row=row.number)


def _is_zero(grade: str) -> bool:
    return not grade.strip("0.")


def _clicked(index: IndexView, rows: Sequence[Row]) -> tuple[list[KnownAnswers], list[str]]:
    ids = {row["id"] for row in index.rows()}
    logs: dict[str, _Log] = {}
    gone: set[str] = set()
    for row in rows:
        shown = _shown(row, ids)
        chosen = row.values.get("chosen", "").strip()
        if chosen and chosen not in shown:
            message = f"chosen {chosen!r:.40} is not among what was shown"
            raise InputError(message, source=row.source, row=row.number)
        if chosen and chosen not in ids:
            message = f"chosen {chosen!r:.40} is not an id of the index"
            raise InputError(message, source=row.source, row=row.number)
        gone.update(key for key in shown if key not in ids)
        if shown:
            log = logs.setdefault(row.values["query"], _Log(row.number))
            _count(log, [key for key in shown if key in ids], chosen)
    known = [each for query, log in logs.items() if (each := _answers(query, log)) is not None]
    notes = []
    if gone:
        notes.append(f"{counted(len(gone), 'id')} that were shown are not in the index any more")
    if len(known) < len(logs):
        undecided = counted(len(logs) - len(known), "query is", "queries are")
        notes.append(f"{undecided} left out: nothing was chosen once, or too rarely")
    return known, notes


def _count(log: _Log, shown: Sequence[str], chosen: str) -> None:
    log.times += 1
    if not chosen:
        return
    rank = shown.index(chosen) + 1
    log.choices.append(rank)
    log.weights[chosen] = log.weights.get(chosen, 0.0) + min(rank, MOST_RANK)
    log.passed_over.update(shown[: rank - 1])


def _answers(query: str, log: _Log) -> KnownAnswers | None:
    """What a log says of a query; None if that is too little."""
    if not log.choices:
        return KnownAnswers(query, frozenset()) if log.times >= LEAST_SHOWN else None
    if len(log.choices) < OFTEN * log.times:
        return None
    most = max(log.weights.values())
    relevant = frozenset(key for key, weight in log.weights.items() if weight >= most / 2)
    weight = sum(min(rank, MOST_RANK) for rank in log.choices) / len(log.choices)
    return KnownAnswers(query, relevant, frozenset(log.passed_over) - relevant, weight)


def _shown(row: Row, ids: set[str]) -> list[str]:
    """The ids that were shown: a JSON list, or with `|` or spaces between them."""
    text = row.values.get("shown", "").strip()
    if text in ids:
        return [text]
    if not text.startswith("["):
        parts = text.split("|") if "|" in text else text.split()
        return list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(type(key) in (str, int) for key in found):
        message = f"shown {text!r:.40} is no JSON list of ids"
        raise InputError(message, source=row.source, row=row.number)
    return list(dict.fromkeys(map(str, found)))


def _check_enough(known: Sequence[KnownAnswers], source: object) -> None:
    num_answerable = sum(bool(each.relevant) for each in known)
    place = str(source)
    if not num_answerable:
        message = "no query has an answer in the index, so that nothing can be learned"
        raise InputError(message, source=place)
    if len(known) < LEAST_QUERIES or num_answerable < LEAST_ANSWERABLE:
        has = f"{counted(len(known), 'query', 'queries')}, {num_answerable:,} with an answer"
        message = f"tuning needs at least {LEAST_QUERIES} queries, {LEAST_ANSWERABLE} of them with "
        raise InputError(f"{message}an answer; found {has}", source=place)


def read_tune_rows(source: TuneSource, columns: Mapping[str, str] | None) -> list[Row]:
    """Labelled queries, or a log of clicks; the file says by its columns which.

    Raises:
        InputError: A row is bad, or there is none.
    """
    rows = list(
        read_rows(source, columns=("query",), optional=(*LABELLED, *CLICKED), rename=columns)
    )
    if not rows:
        name = source if isinstance(source, (str, PathLike)) else "the data"
        raise InputError("holds no rows", source=name)
    return rows
