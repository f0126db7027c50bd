"""An index in Milvus: see `RowStore`.

Rows are written by upserts that may be repeated; `change_log` says how counts stay true without
transactions. One process writes at a time. The counts are kept in memory, and read anew by `state`.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import numpy as np

from softquery.errors import InputError
from softquery.search.storage.entries import ID, MATCHED, QUESTION, ordered_columns
from softquery.search.stores.address import StoreAddress
from softquery.search.stores.conditions import parsed_conditions
from softquery.search.stores.milvus.change_log import (
    BASE,
    BEGUN,
    DONE,
    MOST_DONE,
    STATE,
    ChangeLog,
    Counts,
    number_of_record,
    record_of,
)
from softquery.search.stores.milvus.milvus_client import MilvusConnection
from softquery.search.stores.milvus.milvus_rows import (
    ENCODING,
    FIELDS,
    MilvusRows,
    entity_of,
    has_column,
    one_of,
    row_of,
)
from softquery.search.stores.milvus.writer_lease import WriterLease
from softquery.search.stores.row_store import (
    RecalledRows,
    RecallRequest,
    RowStatistics,
    StoredRow,
    StoreState,
)
from softquery.search.stores.state_json import state_from_json, state_to_json

CHANGED = 1000
"""Rows of one change."""
WINDOW = 500
"""Rows of a scan that are in memory at a time."""


class MilvusStore:
    """An index in Milvus.

    Args:
        address: Where it lies; user and password come from the environment.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.address = str(address)
        self._connection = MilvusConnection(address.location, self.address)
        self._rows = MilvusRows(self._connection, f"softquery_{address.name}")
        self._log = ChangeLog(self._connection, f"softquery_{address.name}_log")
        self._lease = WriterLease(self._log, self.address)
        self._lock = threading.RLock()
        self._seen: list[str] | None = None
        self._counts, self._next = Counts(), 0
        self._state: StoreState | None = None

    def exists(self) -> bool:
        """See `RowStore`."""
        has_log = self._connection.call(lambda client: client.has_collection(self._log.collection))
        if not has_log:
            return False
        try:
            return STATE in self._log.read([STATE])
        except (InputError, ValueError, KeyError, TypeError):
            message = f"the collection {self._log.collection} is there and no index of softquery"
            raise InputError(message, source=self.address) from None

    def create(self, state: StoreState) -> None:
        """See `RowStore`."""
        names = self._connection.call(lambda client: client.list_collections())
        if self._rows.collection not in names:
            self._rows.create(state.manifest.vector_size)
        if self._log.collection not in names:
            self._log.create()
        self._log.write(STATE, state_to_json(state))

    def state(self) -> StoreState:
        """See `RowStore`; what a dead writer has begun is repaired before."""
        with self._lock:
            names = self._connection.call(lambda client: client.list_collections())
            if self._log.collection not in names:
                message = "no such index; build one with softquery index FILE --store ADDRESS"
                raise InputError(message, source=self.address)
            if self._unfinished(self._log.records()) and not self._lease.is_taken():
                # Whoever is faster repairs; the other one reads.
                with suppress(InputError), self._lease.held():
                    self._repair()
            return self._read()

    def _read(self) -> StoreState:
        """Read what has changed in the log, and add up the counts."""
        records = self._log.records()
        data = self._log.read([STATE]).get(STATE)
        if data is None:
            raise InputError("is not an index of softquery", source=self.address)
        if records != self._seen:
            self._add_up(records)
            self._seen = records
        state = state_from_json(json.loads(data), self._counts.num_rows, self.address)
        manifest = replace(state.manifest, generation=self._last(records))
        self._state = replace(state, manifest=manifest)
        return self._state

    def _add_up(self, records: Sequence[str]) -> None:
        bases = [each for each in records if each.startswith(f"{BASE}-")]
        start = number_of_record(bases[-1]) if bases else -1
        later = [each for each in records if _is_change(each) and number_of_record(each) > start]
        found = self._log.read([*bases[-1:], *later])
        total, following = Counts(), 0
        for record, data in found.items():
            if record.startswith((DONE, BASE)):
                total.add(Counts.from_json(data["counts"]))
            following = max(following, int(data["next"]))
        self._counts, self._next = total, following

    def _last(self, records: Sequence[str]) -> int:
        """The number of the newest change; 0 before the first."""
        return max([0, *(number_of_record(each) for each in records if "-" in each)])

    def _unfinished(self, records: Sequence[str]) -> list[str]:
        """What was begun and is not done."""
        done = {number_of_record(each) for each in records if each.startswith((DONE, BASE))}
        newest = max(
            [-1, *(number_of_record(each) for each in records if each.startswith(f"{BASE}-"))]
        )
        return [
            each
            for each in records
            if each.startswith(f"{BEGUN}-")
            and number_of_record(each) > newest
            and number_of_record(each) not in done
        ]

    def _repair(self) -> None:
        """Finish what was begun: count the rows that a change has reached, and forget the rest."""
        records = self._log.records()
        for record in self._unfinished(records):
            number = number_of_record(record)
            begun = self._log.read([record]).get(record)
            if begun is None:  # not even that was finished, so that no row was touched
                self._log.remove([record])
                continue
            ids = list(begun["rows"])
            there = {
                row[ID]: row
                for row in self._rows.by_ids(ids, [ID, "change", "words"], is_strong=True)
            }
            counts = Counts()
            for key, before in begun["rows"].items():
                row = there.get(key)
                if row is None:
                    counts.exchange(before, None)
                elif int(row["change"]) == number:
                    counts.exchange(before, row["words"])
            self._finish_change(number, counts, int(begun["next"]))

    def commit(self, state: StoreState) -> None:
        """See `RowStore`."""
        with self._lock, self._lease.held():
            self._log.write(STATE, state_to_json(state))
            self._read()

    def finish(self) -> None:
        """See `RowStore`."""
        with self._lock, self._lease.held():
            self._repair()
            self._read()
            if self._rows.count() != self._counts.num_rows:
                self._recount()
            self._fold()
            self._connection.call(lambda client: client.flush(self._rows.collection))
            self._rows.index_vectors(self._counts.num_rows)

    def _recount(self) -> None:
        """Count all rows anew, if somebody else has changed them."""
        counts = Counts()
        for start in range(0, self._next, WINDOW):
            for row in self._rows.query(_window(start), ["words"], is_strong=True):
                counts.exchange(None, row["words"])
        number = self._last(self._log.records()) + 1
        data = {"counts": counts.to_json(), "next": self._next}
        self._log.write(record_of(BASE, number), data)
        self._seen = None

    def add(self, rows: Iterable[StoredRow], columns: Sequence[str]) -> None:
        """See `RowStore`; a thousand rows are one change, and each row is whole at any moment."""
        before = self.state()
        remaining = iter(rows)
        with self._lock, self._lease.held():
            self._repair()
            state = self._read()
            if state.manifest.models != before.manifest.models:
                message = "was rebuilt with another model in the meantime; open it again"
                raise InputError(message, source=self.address)
            given = ordered_columns(state.manifest.columns, [dict.fromkeys(columns, "")])
            if given != state.manifest.columns:
                self.commit(replace(state, manifest=replace(state.manifest, columns=given)))
            while part := list(islice(remaining, CHANGED)):
                self._lease.renew()
                self._add(part, state.usual_length)
            self._read()

    def _add(self, rows: Sequence[StoredRow], usual_length: float) -> None:
        first = self._next
        number = self._last(self._log.records()) + 1
        entities = [
            entity_of(replace(row, number=first + place), number, usual_length, self.address)
            for place, row in enumerate(rows)
        ]
        there = self._words_of([row.columns[ID] for row in rows])
        begun = {row.columns[ID]: there.get(row.columns[ID]) for row in rows}
        following = first + len(rows)
        self._log.write(record_of(BEGUN, number), {"rows": begun, "next": following})
        self._rows.upsert(entities)
        counts = Counts()
        for row in rows:
            counts.exchange(there.get(row.columns[ID]), row.words)
        self._finish_change(number, counts, following)

    def delete(self, ids: Sequence[str]) -> int:
        """See `RowStore`."""
        self.state()
        with self._lock, self._lease.held():
            self._repair()
            self._read()
            before = self._counts.num_rows
            for start in range(0, len(ids), CHANGED):
                there = self._words_of(ids[start : start + CHANGED])
                if not there:
                    continue
                self._lease.renew()
                number = self._last(self._log.records()) + 1
                begun = {"rows": there, "next": self._next}
                self._log.write(record_of(BEGUN, number), begun)
                self._rows.delete(list(there))
                counts = Counts()
                for words in there.values():
                    counts.exchange(words, None)
                self._finish_change(number, counts, self._next)
            self._read()
            return before - self._counts.num_rows

    def _words_of(self, ids: Sequence[str]) -> dict[str, dict[str, int]]:
        return {
            row[ID]: dict(row["words"])
            for row in self._rows.by_ids(ids, [ID, "words"], is_strong=True)
        }

    def _finish_change(self, number: int, counts: Counts, following: int) -> None:
        """Say that a change is done: from here on it counts."""
        data = {"counts": counts.to_json(), "next": following}
        self._log.write(record_of(DONE, number), data)
        self._log.remove([record_of(BEGUN, number)])
        self._next = max(self._next, following)
        records = self._log.records()
        if sum(each.startswith(f"{DONE}-") for each in records) > MOST_DONE:
            self._fold()

    def _fold(self) -> None:
        """Write one record in place of all that are done; readers skip what it stands for."""
        records = self._log.records()
        if self._unfinished(records):
            return
        self._add_up(records)
        newest = self._last(records)
        data = {"counts": self._counts.to_json(), "next": self._next}
        self._log.write(record_of(BASE, newest), data)
        kept = {STATE, record_of(BASE, newest)}
        self._log.remove(
            each for each in records if each not in kept and each.startswith((DONE, BASE))
        )
        self._seen = None

    def recall(self, request: RecallRequest) -> RecalledRows:
        """See `RowStore`."""
        state = self._state or self.state()
        conditions = parsed_conditions(request.where, state.manifest.columns)
        return self._rows.recall(request, conditions)

    def encodings(self, rows: Sequence[StoredRow]) -> dict[int, bytes]:
        """See `RowStore`."""
        found = self._rows.by_ids([row.columns[ID] for row in rows], [ID, "number", ENCODING])
        return {int(each["number"]): row_of(each).encoding for each in found}

    def statistics(self, words: Iterable[str]) -> RowStatistics:
        """See `RowStore`; as of the last `state`."""
        if self._state is None:
            self.state()
        counts = self._counts
        known = {word: counts.words.get(word, 0) for word in words}
        return RowStatistics(counts.num_rows, counts.num_words, known)

    def words_of_length(self, least: int, most: int) -> dict[str, int]:
        """See `RowStore`; as of the last `state`."""
        if self._state is None:
            self.state()
        words = self._counts.words.items()
        return {word: count for word, count in words if count > 0 and least <= len(word) <= most}

    def num_further(self) -> int:
        """See `RowStore`."""
        return self._rows.count(has_column(MATCHED), is_strong=True)

    def stored(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """See `RowStore`."""
        return {
            row[ID]: dict(row["columns"])
            for row in self._rows.by_ids(ids, [ID, "columns"], is_strong=True)
        }

    def ids_of_question(self, question: str) -> list[str]:
        """See `RowStore`."""
        test = one_of(QUESTION, (question,))
        return [row[ID] for row in self._rows.query(test, [ID])]

    def scan(self, *, with_encodings: bool = False) -> Iterator[StoredRow]:
        """See `RowStore`; a window of numbers at a time."""
        self.state()
        fields = [*FIELDS, ENCODING] if with_encodings else list(FIELDS)
        for start in range(0, self._next, WINDOW):
            rows = [row_of(each) for each in self._rows.query(_window(start), fields)]
            yield from sorted(rows, key=lambda row: row.number)

    def sample(self, count: int) -> list[StoredRow]:
        """See `RowStore`; fewer where rows were replaced or deleted."""
        self.state()
        if self._next == 0:
            return []
        drawn = np.unique(np.linspace(0, self._next - 1, min(count, self._next)).astype(np.int64))
        found = [row_of(each) for each in self._rows.query(f"number in {drawn.tolist()}", FIELDS)]
        return sorted(found, key=lambda row: row.number)

    def size_bytes(self) -> dict[str, int]:
        """See `RowStore`; Milvus does not tell."""
        return {}

    def close(self) -> None:
        """See `RowStore`."""
        self._connection.close()


def _window(start: int) -> str:
    """A test for the rows of some numbers."""
    return f"number >= {start} and number < {start + WINDOW}"


def _is_change(record: str) -> bool:
    return record.startswith((f"{DONE}-", f"{BEGUN}-"))
