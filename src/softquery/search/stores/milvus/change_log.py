"""The manifest of an index in Milvus: what was begun, what is done, and what all rows count.

Milvus has no transactions. So a change first writes which rows it is going to touch, and what they
count so far (`begun`). Then it upserts or deletes them, and last it writes by how much all counts
have changed (`done`). What was begun and is not done is repaired by whoever opens the index next:
the rows tell which of them the change has reached, because each has the number of the change that
wrote it. Every step may be repeated, and gives the same.

A record is a few entities of a small collection, because a field holds 64 KB at most.

| record | holds |
|---|---|
| `state` | settings and models, as in PostgreSQL |
| `writer` | who writes now, and until when nobody else may |
| `begun-N` | rows of change N, with the words that they had before |
| `done-N` | by how much change N has changed the counts |
| `base-N` | the counts after change N, in place of all records up to it |
"""

import base64
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from softquery.errors import InputError
from softquery.search.stores.milvus.milvus_client import MilvusConnection

PART = 60_000
"""Characters of a record in one entity."""
STATE, WRITER, BEGUN, DONE, BASE = "state", "writer", "begun", "done", "base"
MOST_DONE = 64
"""Records of changes that are kept before they become one base."""
FETCHED = 1000


@dataclass(slots=True)
class Counts:
    """How many rows and words there are, and how many rows have each word; or by how much more.

    >>> total = Counts()
    >>> total.exchange({}, {"a": 2, "b": 1}); total.exchange({"a": 2, "b": 1}, {"b": 1})
    >>> total.num_rows, total.num_words, dict(total.words)
    (1, 1, {'a': 0, 'b': 1})
    """

    num_rows: int = 0
    num_words: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def exchange(self, before: Mapping[str, int] | None, after: Mapping[str, int] | None) -> None:
        """Count one row for another; None or nothing for none."""
        for row, sign in ((before, -1), (after, 1)):
            if row:
                self.num_rows += sign
                self.num_words += sign * sum(row.values())
                for word in row:
                    self.words[word] += sign

    def add(self, other: "Counts") -> None:
        """Add what another one counts."""
        self.num_rows += other.num_rows
        self.num_words += other.num_words
        self.words.update(other.words)

    def to_json(self) -> dict[str, Any]:
        """As a record holds it."""
        words = {word: count for word, count in self.words.items() if count}
        return {"rows": self.num_rows, "words": self.num_words, "counts": words}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Counts":
        """What `to_json` gave."""
        return cls(int(data["rows"]), int(data["words"]), Counter(data["counts"]))


class ChangeLog:
    """The records of an index, in a collection of their own.

    Args:
        connection: The database.
        collection: The name of the collection.
    """

    def __init__(self, connection: MilvusConnection, collection: str) -> None:
        self._connection, self.collection = connection, collection
        self._is_loaded = False

    def create(self) -> None:
        """Make the collection."""
        from pymilvus import DataType

        def work(client: Any) -> None:
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("name", DataType.VARCHAR, is_primary=True, max_length=128)
            schema.add_field("content", DataType.VARCHAR, max_length=65_535)
            schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)  # without one, there is none
            params = client.prepare_index_params()
            params.add_index("unused", index_type="FLAT", metric_type="IP")
            client.create_collection(
                self.collection, schema=schema, index_params=params, consistency_level="Strong"
            )

        self._connection.call(work)

    def write(self, record: str, data: object) -> None:
        """Write a record, in place of one that is there."""
        text = base64.b64encode(zlib.compress(json.dumps(data).encode())).decode()
        parts = [text[start : start + PART] for start in range(0, len(text), PART)]
        rows = [
            {
                "name": f"{record}/{place:05d}",
                "content": json.dumps({"parts": len(parts), "text": part}),
                "unused": [0.0, 0.0],
            }
            for place, part in enumerate(parts)
        ]
        self._connection.call(lambda client: client.upsert(self.collection, rows))

    def remove(self, records: Iterable[str]) -> None:
        """Remove records, all parts of them."""
        prefixes = {f"{record}/" for record in records}
        gone = [
            name for name in self._names() if any(name.startswith(prefix) for prefix in prefixes)
        ]
        if gone:
            self._connection.call(lambda client: client.delete(self.collection, ids=gone))

    def records(self) -> list[str]:
        """The names of all records."""
        return sorted({name.rpartition("/")[0] for name in self._names()})

    def read(self, records: Iterable[str]) -> dict[str, Any]:
        """Records by their names; one of which a part is missing was never finished."""
        wanted = list(records)
        found: dict[str, dict[int, tuple[int, str]]] = defaultdict(dict)
        for start in range(0, len(wanted), 20):
            tests = " or ".join(f'name like "{each}/%"' for each in wanted[start : start + 20])
            for row in self._query(tests, ["name", "content"]):
                record, _, part = row["name"].rpartition("/")
                content = json.loads(row["content"])
                found[record][int(part)] = (int(content["parts"]), content["text"])
        result: dict[str, Any] = {}
        for record, parts in found.items():
            number = parts[0][0] if 0 in parts else -1
            if any(place not in parts for place in range(number)) or number < 1:
                continue
            text = "".join(parts[place][1] for place in range(number))
            try:
                result[record] = json.loads(zlib.decompress(base64.b64decode(text)))
            except (ValueError, zlib.error):
                message = f"its record {record} is damaged"
                raise InputError(message, source=self._connection.address) from None
        return result

    def _names(self) -> list[str]:
        return [row["name"] for row in self._query('name != ""', ["name"])]

    def _query(self, test: str, fields: list[str]) -> list[dict[str, Any]]:
        def work(client: Any) -> list[dict[str, Any]]:
            if not self._is_loaded:
                client.load_collection(self.collection)  # what is not in memory is not found
                self._is_loaded = True
            found = client.query(
                self.collection,
                filter=test,
                output_fields=fields,
                consistency_level="Strong",
                limit=16_384,
            )
            return [dict(row) for row in found]

        return self._connection.call(work)


def record_of(kind: str, number: int) -> str:
    """The name of a record of a change.

    >>> record_of(DONE, 7), number_of_record("done-0000000000000007")
    ('done-0000000000000007', 7)
    """
    return f"{kind}-{number:016d}"


def number_of_record(record: str) -> int:
    """The number of the change that a record is of."""
    return int(record.rpartition("-")[2])
