"""A log of queries, of which nobody says what answers them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from softquery.errors import InputError, counted
from softquery.files import Row
from softquery.search.index_view import IndexView
from softquery.search.query.stages import STAGES

SAID = ("doc", "relevance", "shown", "chosen")
"""Columns that say something of answers."""
LEAST_LOGGED, MOST_LOGGED = 20, 5_000
"""Different queries."""
SEED = 1


def is_log(rows: Sequence[Row]) -> bool:
    """Whether rows are queries and nothing else."""
    return bool(rows) and not any(name in row.values for row in rows for name in SAID)


def logged_queries(index: IndexView, rows: Sequence[Row]) -> tuple[dict[str, int], list[str]]:
    """How often each query was asked, and what has to be said of the log.

    Queries in a language that no model of the index reads are left out.

    Raises:
        InputError: There are too few different queries.
    """
    asked = Counter(" ".join(row.values["query"].split()) for row in rows)
    foreign = {query for query in asked if index.models.language_note(query, STAGES) is not None}
    known = {query: times for query, times in asked.items() if query not in foreign}
    notes: list[str] = []
    notes.append("the queries are taken as a log: no column doc, nor shown and chosen")
    if foreign:
        left_out = counted(len(foreign), "query is", "queries are")
        notes.append(f"{left_out} left out: no model of the index reads their language")
    if len(known) < LEAST_LOGGED:
        found = counted(len(known), "different query", "different queries")
        message = f"a log needs at least {LEAST_LOGGED} different queries that the index reads"
        raise InputError(f"{message}, found {found}", source=str(rows[0].source))
    if len(known) > MOST_LOGGED:
        drawn = np.random.default_rng(SEED).permutation(len(known))[:MOST_LOGGED]
        notes.append(f"{MOST_LOGGED:,} of {len(known):,} different queries are drawn")
        names = list(known)
        known = {names[place]: known[names[place]] for place in sorted(drawn.tolist())}
    return known, notes
