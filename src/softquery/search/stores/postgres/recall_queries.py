"""The queries by which PostgreSQL recalls rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.search.query.filters import NUMBER
from softquery.search.storage.entries import is_text
from softquery.search.storage.vector_recall import EXPANSION_SEARCH
from softquery.search.storage.vector_scan import SCANNED_ROWS
from softquery.search.stores.conditions import Condition, OneOf, Within
from softquery.search.stores.postgres.binary_copy import from_halfvec
from softquery.search.stores.postgres.word_queries import rows_by_words
from softquery.search.stores.row_store import RecalledRows, RecallRequest, StoredRow

CANDIDATES = 2
"""Candidates that are kept while searching the graph, for each row that is asked for."""
MOST_EXPANSION = 1000
"""The most candidates that pgvector keeps while searching its graph."""
ROW = "number, columns, vector, words, counts"


def recalled(
    cursor: Any, schema: str, request: RecallRequest, conditions: Sequence[Condition]
) -> RecalledRows:
    """Ask for rows by vector and by words, and fetch them."""
    table = f"{schema}.entries"
    _check_measured(cursor, table, conditions)
    condition, values = _sql(conditions)
    if request.vector is None and request.words is None:
        cursor.execute(
            f"SELECT {ROW} FROM {table} WHERE {condition} ORDER BY number LIMIT %s",
            (*values, request.count),
        )
        return RecalledRows(_rows(cursor))
    by_vectors: list[int] = []
    by_words: list[int] = []
    if request.vector is not None:
        by_vectors = _nearest(cursor, schema, request.vector, request.count, condition, values)
    if request.words is not None:
        by_words = rows_by_words(cursor, schema, request.words, request.count, condition, values)
    wanted = sorted({*by_vectors, *by_words})
    cursor.execute(f"SELECT {ROW} FROM {table} WHERE number = ANY(%s)", (wanted,))
    return RecalledRows(_rows(cursor), by_vectors, by_words)


def _nearest(
    cursor: Any,
    schema: str,
    vector: NDArray[np.float32],
    count: int,
    condition: str,
    values: Sequence[Any],
) -> list[int]:
    """Numbers of the rows with the nearest vectors; up to a size, all are compared."""
    cursor.execute(f"SELECT num_rows FROM {schema}.state")
    is_small = cursor.fetchone()[0] <= SCANNED_ROWS
    expansion = min(MOST_EXPANSION, max(EXPANSION_SEARCH, CANDIDATES * count))
    cursor.execute(
        "SELECT set_config('hnsw.ef_search', %s, true), "
        "set_config('hnsw.iterative_scan', 'strict_order', true), "
        "set_config('hnsw.max_scan_tuples', '2000000000', true)",
        (str(expansion),),
    )
    cursor.execute(
        f"SELECT number FROM {schema}.entries WHERE {condition} "
        # An expression instead of the operator alone is in no index.
        f"ORDER BY (vector <#> %s::halfvec({len(vector)})){' + 0' if is_small else ''} LIMIT %s",
        (*values, vector_text(vector), count),
    )
    return [number for (number,) in cursor.fetchall()]


def _rows(cursor: Any) -> dict[int, StoredRow]:
    return {found[0]: stored_row(found) for found in cursor}


def stored_row(found: Sequence[Any]) -> StoredRow:
    """A row from what `ROW` selects, and its encoding if that is selected as well."""
    number, columns, vector, words, counts, *encoding = found
    counted = dict(zip(words, counts, strict=True))
    packed = encoding[0] if encoding else b""
    return StoredRow(columns, from_halfvec(vector), counted, packed, number)


def _sql(conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
    """Conditions as SQL, with the values of its placeholders."""
    parts, values = ["true"], []
    for each in conditions:
        if isinstance(each, Within):
            parts.append(f"(measures -> %s ->> %s)::float8 {each.operator} %s")
            values += [each.kind, each.column, each.value]
        else:
            found = "(columns ->> %s) = ANY(%s::text[])"
            parts.append(f"({found}) IS NOT TRUE" if each.is_negated else found)
            values += [each.column, [value for value in each.values if _can_be_there(value)]]
    return " AND ".join(parts), values


def _can_be_there(value: str) -> bool:
    """Whether PostgreSQL could hold a text."""
    return is_text(value) and "\0" not in value


def _check_measured(cursor: Any, table: str, conditions: Sequence[Condition]) -> None:
    """Refuse bounds of a column that nowhere holds what could be compared."""
    for each in conditions:
        if isinstance(each, OneOf):
            continue
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM {table} WHERE measures -> %s ? %s), "
            f"EXISTS (SELECT FROM {table})",
            (each.kind, each.column),
        )
        is_measured, has_rows = cursor.fetchone()
        if has_rows and not is_measured:
            what = "a number" if each.kind == NUMBER else "a date such as 2026-01-31"
            message = f"column {each.column!r:.60} holds nowhere {what} to compare with"
            raise InputError(f"{message} {each.shown!r}")


def vector_text(vector: NDArray[np.float32]) -> str:
    """A vector as SQL spells it."""
    return "[" + ",".join(f"{value:.9g}" for value in vector.tolist()) + "]"
