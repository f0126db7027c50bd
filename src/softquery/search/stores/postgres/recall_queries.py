"""The queries by which PostgreSQL recalls rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.search.query.filters import NUMBER
from softquery.search.storage.entries import is_text
from softquery.search.storage.vector_recall import EXPANSION_SEARCH
from softquery.search.stores.conditions import Condition, OneOf, Within
from softquery.search.stores.postgres.binary_copy import from_halfvec
from softquery.search.stores.row_store import RecalledRows, RecallRequest, StoredRow
from softquery.search.stores.word_weights import COMPONENTS, sparse_query

MOST_EXPANSION = 1000
"""The most candidates that pgvector keeps while searching its graph."""
MORE_WORDS = 2
"""How many times as many rows are recalled by words as are asked for: stored weights assume a usual
length, and the best by today's mean length are among these."""
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
        expansion = min(MOST_EXPANSION, max(EXPANSION_SEARCH, request.count))
        cursor.execute(
            "SELECT set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true), "
            "set_config('hnsw.max_scan_tuples', '2000000000', true)",
            (str(expansion),),
        )
        cursor.execute(
            f"SELECT number FROM {table} WHERE {condition} "
            f"ORDER BY vector <#> %s::halfvec({len(request.vector)}) LIMIT %s",
            (*values, vector_text(request.vector), request.count),
        )
        by_vectors = [number for (number,) in cursor.fetchall()]
    if request.words is not None:
        cursor.execute(
            f"SELECT number FROM {table} WHERE words && %s::text[] AND {condition} "
            "ORDER BY sparse <#> %s::sparsevec, number LIMIT %s",
            (
                list(request.words),
                *values,
                sparse_text(sparse_query(request.words)),
                MORE_WORDS * request.count,
            ),
        )
        by_words = [number for (number,) in cursor.fetchall()]
    wanted = sorted({*by_vectors, *by_words})
    cursor.execute(f"SELECT {ROW} FROM {table} WHERE number = ANY(%s)", (wanted,))
    return RecalledRows(_rows(cursor), by_vectors, by_words)


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


def sparse_text(weights: Mapping[int, float]) -> str:
    """A sparse vector as SQL spells it, with components from 1.

    >>> sparse_text({0: 1.5, 4: 2.0})
    '{1:1.5,5:2}/1000000000'
    """
    spelt = ",".join(f"{place + 1}:{weights[place]:.9g}" for place in sorted(weights))
    return f"{{{spelt}}}/{COMPONENTS}"
