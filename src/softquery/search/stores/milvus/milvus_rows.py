"""The collection of rows of an index in Milvus, and what it is asked."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from softquery.errors import InputError
from softquery.search.query.filters import NUMBER
from softquery.search.storage.entries import ID
from softquery.search.storage.vector_recall import (
    CONNECTIVITY,
    EXPANSION_ADD,
    EXPANSION_SEARCH,
)
from softquery.search.storage.vector_scan import SCANNED_ROWS
from softquery.search.stores.conditions import Condition, OneOf, Within, measured
from softquery.search.stores.milvus.milvus_client import MilvusConnection
from softquery.search.stores.row_store import RecalledRows, RecallRequest, StoredRow
from softquery.search.stores.word_weights import sparse_query, sparse_weights

ENCODING = "encoding"
SCAN, GRAPH = "FLAT", "HNSW"
"""Milvus's names of its indexes of vectors that compare all, and those along a graph."""
FIELDS = ("number", "columns", "vector", "words")
"""What a search needs of a row."""
LONGEST_FIELD = 65_535
"""Bytes of a text or a JSON document in Milvus."""
LONGEST_ID = 2000
UPSERTED = 200
"""Rows that are sent in one message."""
LISTED = 500
"""Rows that pass a filter up to which all of them are read."""
FILTERED = 1000
"""Candidates that are kept while searching the graph with a filter."""
CANDIDATES = 2
"""Candidates that are kept while searching the graph, for each row that is asked for."""
MORE_WORDS = 2
"""How many times as many rows are recalled by words as are asked for, see `word_weights`."""
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
LOOKED_UP = 500
"""Ids of one query."""


class MilvusRows:
    """The rows of an index.

    Args:
        connection: The database.
        collection: The name of the collection.
    """

    def __init__(self, connection: MilvusConnection, collection: str) -> None:
        self._connection, self.collection = connection, collection
        self._is_loaded = False

    def create(self, width: int) -> None:
        """Make the collection with its indexes."""
        from pymilvus import DataType

        def work(client: Any) -> None:
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field(ID, DataType.VARCHAR, is_primary=True, max_length=LONGEST_ID)
            schema.add_field("number", DataType.INT64)
            schema.add_field("change", DataType.INT64)
            for name in ("columns", "measures", "words"):
                schema.add_field(name, DataType.JSON)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
            schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
            schema.add_field(ENCODING, DataType.VARCHAR, max_length=LONGEST_FIELD)
            params = client.prepare_index_params()
            params.add_index("vector", index_type=SCAN, metric_type="IP")
            params.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            client.create_collection(
                self.collection, schema=schema, index_params=params, consistency_level="Session"
            )

        self._connection.call(work)

    def index_vectors(self, num_rows: int) -> None:
        """Look at all vectors as long as folders do, and make a graph of them beyond that."""
        wanted = SCAN if num_rows <= SCANNED_ROWS else GRAPH

        def work(client: Any) -> None:
            if client.describe_index(self.collection, "vector")["index_type"] == wanted:
                return
            params = client.prepare_index_params()
            graph = {"M": CONNECTIVITY, "efConstruction": EXPANSION_ADD}
            built = graph if wanted == GRAPH else {}
            params.add_index("vector", index_type=wanted, metric_type="IP", params=built)
            client.release_collection(self.collection)
            client.drop_index(self.collection, "vector")
            client.create_index(self.collection, params)
            client.load_collection(self.collection)

        self._connection.call(work)

    def upsert(self, entities: Sequence[dict[str, Any]]) -> None:
        """Write rows, in place of those with the same ids."""
        for start in range(0, len(entities), UPSERTED):
            self._upsert(list(entities[start : start + UPSERTED]))

    def _upsert(self, entities: list[dict[str, Any]]) -> None:
        self._connection.call(lambda client: client.upsert(self.collection, entities))

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows by their ids."""
        # Not as `ids`, which the client puts between quotes without a look at what is in them.
        named = ", ".join(map(spelt, ids))
        self._connection.call(
            lambda client: client.delete(self.collection, filter=f"{ID} in [{named}]")
        )

    def by_ids(
        self, ids: Sequence[str], fields: Sequence[str], *, is_strong: bool = False
    ) -> list[dict[str, Any]]:
        """Some fields of rows, by their ids."""
        found: list[dict[str, Any]] = []
        for start in range(0, len(ids), LOOKED_UP):
            named = ", ".join(spelt(each) for each in ids[start : start + LOOKED_UP])
            found += self.query(f"{ID} in [{named}]", fields, is_strong=is_strong)
        return found

    def count(self, test: str = "", *, is_strong: bool = False) -> int:
        """How many rows there are, or pass a test."""
        found = self.query(test, ["count(*)"], is_strong=is_strong or not test)
        return int(found[0]["count(*)"])

    def query(
        self, test: str, fields: Sequence[str], limit: int | None = None, *, is_strong: bool = False
    ) -> list[dict[str, Any]]:
        """Some fields of the rows that pass a test; as of now, or as of what we have written."""
        options: dict[str, Any] = {} if limit is None else {"limit": limit}
        if is_strong:
            options["consistency_level"] = "Strong"

        def work(client: Any) -> list[dict[str, Any]]:
            self._loaded(client)
            found = client.query(
                self.collection, filter=test, output_fields=list(fields), **options
            )
            return [dict(row) for row in found]

        return self._connection.call(work)

    def recall(self, request: RecallRequest, conditions: Sequence[Condition]) -> RecalledRows:
        """Ask for rows by vector and by words."""
        self._check_measured(conditions)
        test = expression(conditions)
        if request.vector is None and request.words is None:
            rows = self.query(test or "number >= 0", FIELDS, limit=request.count)
            return RecalledRows({int(row["number"]): row_of(row) for row in rows})
        found: dict[int, StoredRow] = {}
        by_vectors: list[int] = []
        by_words: list[int] = []
        if request.vector is not None and test and self.count(test) <= LISTED:
            # A graph may miss some of few.
            rows = self.query(test, FIELDS)
            found.update({int(row["number"]): row_of(row) for row in rows})
            by_vectors = list(found)
        elif request.vector is not None:
            # Candidates of the graph; without one, they mean nothing.
            expansion = max(EXPANSION_SEARCH, CANDIDATES * request.count)
            if test:
                expansion = max(FILTERED, expansion)
            by_vectors = self._search(
                "vector", request.vector, request.count, test, {"ef": expansion}, found
            )
        if request.words is not None:
            asked = sparse_query(request.words)
            by_words = self._search(
                "sparse", asked, MORE_WORDS * request.count, test, {"drop_ratio_search": 0.0}, found
            )
        return RecalledRows(found, by_vectors, by_words)

    def _search(
        self,
        field: str,
        asked: Any,
        count: int,
        test: str,
        params: Mapping[str, Any],
        found: dict[int, StoredRow],
    ) -> list[int]:
        """Numbers of the best rows by one field; the rows are added to those that were found."""

        def work(client: Any) -> list[int]:
            self._loaded(client)
            (hits,) = client.search(
                self.collection,
                [asked],
                anns_field=field,
                limit=count,
                filter=test,
                output_fields=list(FIELDS),
                search_params={"metric_type": "IP", "params": dict(params)},
            )
            rows = [row_of(hit["entity"]) for hit in hits]
            found.update({row.number: row for row in rows})
            return [row.number for row in rows]

        return self._connection.call(work)

    def _loaded(self, client: Any) -> None:
        """Milvus searches what is in memory alone; who opened the index first has loaded it."""
        if not self._is_loaded:
            client.load_collection(self.collection)
            self._is_loaded = True

    def _check_measured(self, conditions: Sequence[Condition]) -> None:
        """Refuse bounds of a column that nowhere holds what could be compared."""
        for each in conditions:
            if isinstance(each, OneOf):
                continue
            is_measured = self.query(f"exists {_measure(each)}", [ID], limit=1)
            if not is_measured and self.query("number >= 0", [ID], limit=1):
                what = "a number" if each.kind == NUMBER else "a date such as 2026-01-31"
                message = f"column {each.column!r:.60} holds nowhere {what} to compare with"
                raise InputError(f"{message} {each.shown!r}")


def entity_of(row: StoredRow, change: int, usual_length: float, address: str) -> dict[str, Any]:
    """A row as Milvus keeps it; an encoding that is too long stays out, and is made when needed.

    Raises:
        InputError: Its texts or its id are longer than Milvus allows.
    """
    key = row.columns[ID]
    columns = dict(row.columns)
    size = len(json.dumps(columns, ensure_ascii=False).encode())
    if size > LONGEST_FIELD or len(key.encode()) > LONGEST_ID:
        message = f"row {key!r:.60} has {size:,} bytes, and may have {LONGEST_FIELD:,} in Milvus"
        raise InputError(f"{message}, {LONGEST_ID:,} of them for its id", source=address)
    encoding = base64.b64encode(row.encoding).decode()
    return {
        ID: key,
        "number": row.number,
        "change": change,
        "columns": columns,
        "measures": measured(columns),
        "words": dict(row.words),
        "vector": row.vector.astype(np.float32),
        # Milvus takes no empty vector; a component without weight is found by nothing.
        "sparse": sparse_weights(row.words, usual_length) or {0: 1e-9},
        ENCODING: encoding if len(encoding) <= LONGEST_FIELD else "",
    }


def row_of(entity: Mapping[str, Any]) -> StoredRow:
    """A row from those of its fields that were asked for."""
    vector = np.asarray(entity.get("vector", ()), dtype=np.float32).astype(np.float16)
    words = {word: int(count) for word, count in entity.get("words", {}).items()}
    encoding = base64.b64decode(entity.get(ENCODING, ""))
    return StoredRow(entity.get("columns", {}), vector, words, encoding, int(entity["number"]))


def expression(conditions: Sequence[Condition]) -> str:
    """Conditions as Milvus spells them; empty for none.

    >>> expression([OneOf("kind", ("a", "b"))])
    '(columns["kind"] == "a" or columns["kind"] == "b")'
    """
    parts = []
    for each in conditions:
        if isinstance(each, Within):
            parts.append(f"{_measure(each)} {each.operator} {each.value!r}")
        elif each.is_negated:
            there = one_of(each.column, each.values)
            parts.append(f"(not {has_column(each.column)} or not {there})")
        else:
            parts.append(one_of(each.column, each.values))
    return " and ".join(parts)


def one_of(column: str, values: Sequence[str]) -> str:
    """That a column has one of some texts."""
    tests = [f"{_column(column)} == {spelt(value)}" for value in values]
    return f"({' or '.join(tests)})" if tests else "number < 0"


def has_column(name: str) -> str:
    """That a row has a column."""
    return f"exists {_column(name)}"


def _column(name: str) -> str:
    return f"columns[{spelt(name)}]"


def _measure(condition: Within) -> str:
    return f'measures["{condition.kind}"][{spelt(condition.column)}]'


def spelt(text: str) -> str:
    r"""A text as Milvus spells it in an expression, which knows few escapes.

    >>> print(spelt('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    for mark, escaped in ESCAPES.items():
        text = text.replace(mark, escaped)
    return f'"{text}"'
