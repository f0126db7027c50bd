"""Figures by length, by language and by column: where an index is weak."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from softquery.errors import ConfigError
from softquery.measure import by_length
from softquery.search.index_evaluation import SearchEvaluation
from softquery.search.storage.entries import ANSWER, ID, QUESTION
from softquery.text.languages import LANGUAGES, language_name, language_of

LENGTH, LANGUAGE = "length", "language"
MOST_VALUES = 20
"""Values of a column that are shown, the most frequent."""
FEW_VALUES = 12
"""A column with more values is sliced by only if it is asked for."""
Stored = Mapping[str, Mapping[str, str]]


def search_slices(
    evaluation: SearchEvaluation, stored: Stored, names: Sequence[str] = ()
) -> dict[str, list[dict[str, Any]]]:
    """Figures of each group of queries, by length, language, and columns.

    Args:
        evaluation: What was found.
        stored: The rows of the index by their ids.
        names: Columns of the queries, or else of the rows that answer them.

    Raises:
        ConfigError: There is no such column.
    """
    columns = {**_row_columns(evaluation, stored), **_query_columns(evaluation)}
    for name in names:
        if name not in (LENGTH, LANGUAGE, *columns):
            known = ", ".join([LENGTH, LANGUAGE, *columns])
            raise ConfigError(f"no column {name!r:.60} to slice by; found: {known}")
    few = [name for name, values in columns.items() if 2 <= len({*values} - {""}) <= FEW_VALUES]
    wanted = dict.fromkeys([LENGTH, LANGUAGE, *few, *names])
    found = {}
    for name in wanted:
        groups = _groups(evaluation, name, columns)
        if len(groups) > 1 or name in names:
            found[name] = [
                {"slice": each, **_figures(evaluation, np.array(places))}
                for each, places in groups.items()
            ]
    return found


def _groups(
    evaluation: SearchEvaluation, name: str, columns: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[int]]:
    queries = [each.query for each in evaluation.queries]
    if name == LENGTH:
        lengths = [len(query) for query in queries]
        groups = by_length(lengths).items()
        return {f"{_range(key)} letters": rows.tolist() for key, rows in groups}
    if name == LANGUAGE:
        return _by_value([_language(query) for query in queries])
    return _by_value([value or "(empty)" for value in columns[name]])


def _range(name: str) -> str:
    """A range as it is shown: `10-10` as `10`."""
    low, _, high = name.partition("-")
    return low if low == high else name.replace("-", "–")


def _language(text: str) -> str:
    code = language_of(text)
    return "not known" if code not in LANGUAGES else language_name(code)


def _by_value(values: Sequence[str]) -> dict[str, Sequence[int]]:
    common = [value for value, _ in Counter(values).most_common(MOST_VALUES)]
    groups: dict[str, list[int]] = {value: [] for value in common}
    for place, value in enumerate(values):
        if value in groups:
            groups[value].append(place)
    return dict(groups)


def _figures(evaluation: SearchEvaluation, places: Any) -> dict[str, Any]:
    """How many there are, and the figures of the headline."""
    right, given = evaluation.right()[places], evaluation.answered()[places]
    result: dict[str, Any] = {"n": len(places), "answered": float(given.mean())}
    if evaluation.details.is_labelled:
        answerable = np.array([bool(evaluation.queries[place].relevant) for place in places])
        result |= {
            "first_right": _share(right[answerable]),
            "answered_rightly": _share((right & given)[answerable]),
            "precision": _share(right[given]),
            "unanswerable_answered": _share(given[~answerable]),
        }
    return result


def _share(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def _query_columns(evaluation: SearchEvaluation) -> dict[str, list[str]]:
    """Further columns of the queries."""
    names = dict.fromkeys(name for each in evaluation.queries for name in each.others)
    return {name: [each.others.get(name, "") for each in evaluation.queries] for name in names}


def _row_columns(evaluation: SearchEvaluation, stored: Stored) -> dict[str, list[str]]:
    """Columns of the row that answers each query best."""
    if not evaluation.answerable():
        return {}
    best: list[Mapping[str, str]] = []
    key: Callable[[tuple[str, float]], float] = lambda each: each[1]  # noqa: E731
    for each in evaluation.queries:
        best.append(stored[max(each.relevant.items(), key=key)[0]] if each.relevant else {})
    names = dict.fromkeys(name for row in stored.values() for name in row)
    return {
        name: [row.get(name, "") for row in best]
        for name in names
        if name not in (ID, QUESTION, ANSWER)
    }
