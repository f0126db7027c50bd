"""An index in PostgreSQL: see `RowStore`.

Every change is one transaction. Rows are encoded and sent to a temporary table first; only then a
writer locks the row of `state`, so that several writers wait for each other for a moment alone.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from softquery.errors import InputError
from softquery.search.storage.entries import ID, QUESTION, ordered_columns
from softquery.search.storage.searched_texts import SEPARATOR
from softquery.search.stores.address import StoreAddress
from softquery.search.stores.conditions import measured, parsed_conditions
from softquery.search.stores.postgres import binary_copy, postgres_tables
from softquery.search.stores.postgres.connections import Connections
from softquery.search.stores.postgres.recall_queries import ROW, recalled, stored_row
from softquery.search.stores.postgres.word_queries import saturated_sql
from softquery.search.stores.row_store import (
    RecalledRows,
    RecallRequest,
    RowStatistics,
    StoredRow,
    StoreState,
)
from softquery.search.stores.state_json import state_from_json, state_to_json
from softquery.search.stores.word_weights import sparse_weights

FETCHED = 500
"""Rows of a scan that are in memory at a time."""


class PostgresStore:
    """An index in PostgreSQL.

    Args:
        address: Where it lies; user and password may come from the environment.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.address = str(address)
        self._connections = Connections(address.location, self.address)
        self._schema = postgres_tables.schema_of(address.name)

    def exists(self) -> bool:
        """See `RowStore`."""

        def work(cursor: Any) -> bool:
            cursor.execute(
                "SELECT to_regnamespace(%s) IS NOT NULL, to_regclass(%s) IS NOT NULL",
                (self._schema, f"{self._schema}.state"),
            )
            has_schema, has_state = cursor.fetchone()
            if has_schema and not has_state:
                message = f"the schema {self._schema} is there and no index of softquery"
                raise InputError(message, source=self.address)
            return bool(has_state)

        return self._connections.read(work)

    def create(self, state: StoreState) -> None:
        """See `RowStore`."""
        width = state.manifest.vector_size
        with self._connections.connection() as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            with connection.transaction():
                for statement in postgres_tables.creation(self._schema, width):
                    connection.execute(statement)
                connection.execute(
                    f"INSERT INTO {self._schema}.state (content) VALUES (%s::jsonb)",
                    (state_to_json(state),),
                )

    def state(self) -> StoreState:
        """See `RowStore`."""
        return self._connections.read(lambda cursor: self._state(cursor))

    def _state(self, cursor: Any, *, is_locked: bool = False) -> StoreState:
        lock = " FOR UPDATE" if is_locked else ""
        cursor.execute(f"SELECT content, num_rows, generation FROM {self._schema}.state{lock}")
        found = cursor.fetchone()
        if found is None:
            raise InputError("is not an index of softquery", source=self.address)
        content, num_rows, generation = found
        state = state_from_json(content, num_rows, self.address)
        return replace(state, manifest=replace(state.manifest, generation=generation))

    def commit(self, state: StoreState) -> None:
        """See `RowStore`."""
        with self._connections.connection() as connection, connection.transaction():
            cursor = connection.cursor()
            self._state(cursor, is_locked=True)
            self._write_state(cursor, state)

    def _write_state(self, cursor: Any, state: StoreState) -> None:
        cursor.execute(
            f"UPDATE {self._schema}.state SET content = %s::jsonb, generation = generation + 1",
            (state_to_json(state),),
        )

    def finish(self) -> None:
        """See `RowStore`."""
        state = self.state()
        width, num_rows = state.manifest.vector_size, state.num_rows
        with self._connections.connection() as connection:
            connection.execute(f"DELETE FROM {self._schema}.word_counts WHERE num_rows = 0")
            connection.execute("SET maintenance_work_mem = '512MB'")
            for statement in postgres_tables.indexing(self._schema, width, num_rows):
                connection.execute(statement)
            connection.execute("RESET maintenance_work_mem")

    def add(self, rows: Iterable[StoredRow], columns: Sequence[str]) -> None:
        """See `RowStore`; all rows become visible in one transaction."""
        before = self.state()
        with self._connections.connection() as connection:
            connection.execute("DROP TABLE IF EXISTS pg_temp.incoming")
            fields = postgres_tables.entry_fields(before.manifest.vector_size)
            connection.execute(f"CREATE TEMPORARY TABLE incoming (place bigint, {fields})")
            cursor = connection.cursor()
            self._send(cursor, rows, before.usual_length)
            with connection.transaction():
                state = self._state(cursor, is_locked=True)
                if state.manifest.models != before.manifest.models:
                    message = "was rebuilt with another model in the meantime; open it again"
                    raise InputError(message, source=self.address)
                given = ordered_columns(state.manifest.columns, [dict.fromkeys(columns, "")])
                manifest = replace(state.manifest, columns=given)
                self._replace(cursor, state.usual_length)
                names = ", ".join(postgres_tables.FIELDS)
                cursor.execute(
                    f"INSERT INTO {self._schema}.entries ({names}) "
                    f"SELECT {names} FROM incoming ORDER BY place"
                )
                self._write_state(cursor, replace(state, manifest=manifest))
            connection.execute("DROP TABLE incoming")

    def _send(self, cursor: Any, rows: Iterable[StoredRow], usual_length: float) -> None:
        """Send rows to the temporary table as they arrive."""
        names = ", ".join(("place", *postgres_tables.FIELDS))
        with cursor.copy(f"COPY incoming ({names}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(binary_copy.HEADER)
            for place, row in enumerate(rows):
                copy.write(_copied(place, row, usual_length, self.address))
            copy.write(binary_copy.TRAILER)

    def _replace(self, cursor: Any, usual_length: float) -> None:
        """Delete rows that incoming ones replace, and count rows and words of both."""
        schema = self._schema
        words = "coalesce((SELECT sum(each) FROM {}, unnest(counts) AS each), 0)"
        cursor.execute(
            f"""
            WITH gone AS (
                DELETE FROM {schema}.entries e USING incoming i WHERE e.id = i.id
                RETURNING e.words, e.counts
            ), changes AS (
                SELECT word, sum(change) AS change, max(part) AS most FROM (
                    SELECT word, 1 AS change, {saturated_sql("count", "length")} AS part
                    FROM incoming i, unnest(i.words, i.counts) AS found(word, count),
                        LATERAL (SELECT sum(each)::float8 FROM unnest(i.counts) AS each)
                            AS whole(length)
                    UNION ALL SELECT unnest(words), -1, 0 FROM gone
                ) AS every GROUP BY word
            ), counted AS (
                INSERT INTO {schema}.word_counts AS w SELECT word, change, most FROM changes
                ON CONFLICT (word) DO UPDATE SET
                    num_rows = w.num_rows + excluded.num_rows,
                    most = greatest(w.most, excluded.most)
            )
            UPDATE {schema}.state SET
                num_rows = num_rows + (SELECT count(*) FROM incoming)
                    - (SELECT count(*) FROM gone),
                num_words = num_words + {words.format("incoming")} - {words.format("gone")}
            """,
            (usual_length,),
        )

    def delete(self, ids: Sequence[str]) -> int:
        """See `RowStore`."""
        schema = self._schema
        with self._connections.connection() as connection, connection.transaction():
            cursor = connection.cursor()
            state = self._state(cursor, is_locked=True)
            cursor.execute(
                f"""
                WITH gone AS (
                    DELETE FROM {schema}.entries WHERE id = ANY(%s) RETURNING words, counts
                ), changes AS (
                    SELECT unnest(words) AS word, count(*) AS change FROM gone GROUP BY 1
                ), counted AS (
                    UPDATE {schema}.word_counts w SET num_rows = w.num_rows - change
                    FROM changes c WHERE c.word = w.word
                )
                UPDATE {schema}.state SET
                    num_rows = num_rows - (SELECT count(*) FROM gone),
                    num_words = num_words
                        - coalesce((SELECT sum(each) FROM gone, unnest(counts) AS each), 0)
                RETURNING num_rows
                """,
                (list(ids),),
            )
            (num_rows,) = cursor.fetchone()
            self._write_state(cursor, state)
        return state.num_rows - int(num_rows)

    def recall(self, request: RecallRequest) -> RecalledRows:
        """See `RowStore`."""

        def work(cursor: Any) -> RecalledRows:
            conditions = []
            if request.where:
                conditions = parsed_conditions(request.where, self._state(cursor).manifest.columns)
            return recalled(cursor, self._schema, request, conditions)

        return self._connections.read(work)

    def encodings(self, rows: Sequence[StoredRow]) -> dict[int, bytes]:
        """See `RowStore`."""

        def work(cursor: Any) -> dict[int, bytes]:
            cursor.execute(
                f"SELECT number, encoding FROM {self._schema}.entries WHERE number = ANY(%s)",
                ([row.number for row in rows],),
            )
            return dict(cursor.fetchall())

        return self._connections.read(work)

    def statistics(self, words: Iterable[str]) -> RowStatistics:
        """See `RowStore`."""

        def work(cursor: Any) -> RowStatistics:
            cursor.execute(f"SELECT num_rows, num_words FROM {self._schema}.state")
            num_rows, num_words = cursor.fetchone()
            cursor.execute(
                f"SELECT word, num_rows FROM {self._schema}.word_counts WHERE word = ANY(%s)",
                ([word for word in words if "\0" not in word],),
            )
            return RowStatistics(num_rows, num_words, dict(cursor.fetchall()))

        return self._connections.read(work)

    def words_of_length(self, least: int, most: int) -> dict[str, int]:
        """See `RowStore`."""

        def work(cursor: Any) -> dict[str, int]:
            cursor.execute(
                f"SELECT word, num_rows FROM {self._schema}.word_counts "
                "WHERE num_rows > 0 AND length(word) BETWEEN %s AND %s",
                (least, most),
            )
            return dict(cursor.fetchall())

        return self._connections.read(work)

    def num_further(self) -> int:
        """See `RowStore`."""

        def work(cursor: Any) -> int:
            cursor.execute(
                f"SELECT count(*) FROM {self._schema}.entries WHERE strpos(id, %s) > 0",
                (SEPARATOR,),
            )
            return int(cursor.fetchone()[0])

        return self._connections.read(work)

    def stored(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """See `RowStore`."""

        def work(cursor: Any) -> dict[str, dict[str, str]]:
            cursor.execute(
                f"SELECT id, columns FROM {self._schema}.entries WHERE id = ANY(%s)", (list(ids),)
            )
            return dict(cursor.fetchall())

        return self._connections.read(work)

    def ids_of_question(self, question: str) -> list[str]:
        """See `RowStore`."""

        def work(cursor: Any) -> list[str]:
            cursor.execute(
                f"SELECT id FROM {self._schema}.entries WHERE columns ->> %s = %s ORDER BY number",
                (QUESTION, question),
            )
            return [found for (found,) in cursor.fetchall()]

        return self._connections.read(work)

    def scan(self, *, with_encodings: bool = False) -> Iterator[StoredRow]:
        """See `RowStore`; all rows are of one state."""
        names = f"{ROW}, encoding" if with_encodings else ROW
        with self._connections.connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            with connection.cursor("softquery_scan", binary=True) as cursor:
                cursor.itersize = FETCHED
                cursor.execute(f"SELECT {names} FROM {self._schema}.entries ORDER BY number")
                for found in cursor:
                    yield stored_row(found)

    def sample(self, count: int) -> list[StoredRow]:
        """See `RowStore`."""

        def work(cursor: Any) -> list[StoredRow]:
            table = f"{self._schema}.entries"
            num_rows = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            drawn = np.unique(np.linspace(0, num_rows - 1, min(count, num_rows)).astype(np.int64))
            cursor.execute(
                f"SELECT {ROW} FROM {table} WHERE number = ANY (ARRAY(SELECT number FROM ("
                f"SELECT number, row_number() OVER (ORDER BY number) - 1 AS place FROM {table}"
                ") AS numbered WHERE place = ANY(%s))) ORDER BY number",
                (drawn.tolist(),),
            )
            return [stored_row(found) for found in cursor]

        return self._connections.read(work)

    def size_bytes(self) -> dict[str, int]:
        """See `RowStore`."""

        def work(cursor: Any) -> dict[str, int]:
            cursor.execute(
                "SELECT pg_relation_size(%s::regclass), pg_indexes_size(%s::regclass), "
                "pg_table_size(%s::regclass), pg_total_relation_size(%s::regclass)",
                (*[f"{self._schema}.entries"] * 3, f"{self._schema}.word_counts"),
            )
            rows, graphs, table, words = cursor.fetchone()
            return {"rows": rows, "encodings": table - rows, "vectors": graphs, "words": words}

        return self._connections.read(work)

    def close(self) -> None:
        """See `RowStore`."""
        self._connections.close()


def _copied(place: int, row: StoredRow, usual_length: float, address: str) -> bytes:
    """A row for the temporary table."""
    if any("\0" in text for text in row.columns.values()):
        message = f"row {row.columns[ID]!a:.60} holds a NUL character, which PostgreSQL has not"
        raise InputError(message, source=address)
    key = row.columns[ID].encode()
    if len(key) > postgres_tables.LONGEST_ID:
        most = f"{postgres_tables.LONGEST_ID:,} in PostgreSQL"
        message = f"an id has {len(key):,} bytes, and may have {most}"
        raise InputError(message, source=address)
    return binary_copy.copy_row(
        [
            place.to_bytes(8, "big"),
            key,
            binary_copy.jsonb(json.dumps(dict(row.columns), ensure_ascii=False)),
            binary_copy.jsonb(json.dumps(measured(row.columns))),
            binary_copy.halfvec(row.vector),
            binary_copy.sparsevec(sparse_weights(row.words, usual_length)),
            binary_copy.texts(list(row.words)),
            binary_copy.whole_numbers(list(row.words.values())),
            row.encoding,
        ]
    )
