"""What a database does for an index: it keeps rows and recalls them, and computes no score.

Every score is computed from what is stored, by the code that searches folders. So hits and scores
are the same wherever an index lies, as far as the engine recalls the same rows.

N rows, D width of a vector.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.search.query.filters import Where
from softquery.search.score.index_facts import IndexFacts
from softquery.search.storage.manifest import Manifest
from softquery.search.stores.address import POSTGRES, StoreAddress

STORE_FORMAT = 1
"""The newest layout of tables that this version reads, and the one that it writes."""
Halves = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row with everything by which it is found and compared.

    Attributes:
        columns: Its columns, `id` and `question` among them.
        vector: Of length one: [D].
        words: How often it has each of the words by which it is found.
        encoding: What `EncodingPacker` makes of its encoding; empty if none is stored.
        number: Its place in the order in which rows were added; given by the store.
    """

    columns: Mapping[str, str]
    vector: Halves
    words: Mapping[str, int]
    encoding: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What BM25 needs to know of all rows.

    Attributes:
        num_rows: How many rows there are.
        num_words: How many words they have together, repeated ones counted each time.
        counts: How many rows have each word; those that no row has may be missing.
    """

    num_rows: int = 0
    num_words: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreState:
    """The state of an index in a store at one moment.

    Attributes:
        manifest: As in the folder of an index, without segments.
        num_rows: How many rows there are, further texts of others among them.
        usual_length: Words of a usual row, which the weights of stored sparse vectors assume.
        facts: How alike the rows are, as last measured; None before that.
    """

    manifest: Manifest
    num_rows: int = 0
    usual_length: float = 1.0
    facts: IndexFacts | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallRequest:
    """Which rows to recall.

    Attributes:
        count: The most rows by vectors, and the most by words.
        where: Columns, each with the values of which it must have one.
        vector: That of the query; None without vectors.
        words: Words that are looked up, each with its weight; None without words.
    """

    count: int
    where: Where = field(default_factory=dict)
    vector: NDArray[np.float32] | None = None
    words: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class RecalledRows:
    """What a store has recalled.

    Attributes:
        rows: The rows by their numbers, without encodings.
        by_vectors: Numbers of those that were recalled by vectors, in any order.
        by_words: Numbers of those that were recalled by words, in any order; some more than were
            asked for, because stored weights are only nearly those of BM25.
    """

    rows: Mapping[int, StoredRow]
    by_vectors: Sequence[int] = ()
    by_words: Sequence[int] = ()


class RowStore(Protocol):
    """An index in a database. Safe to use from many threads.

    Raises:
        InputError: The database cannot be reached, or refuses what is asked.
    """

    address: str
    """What users call it, without any password."""

    def add(self, rows: Iterable[StoredRow], columns: Sequence[str]) -> None:
        """Add rows and replace those with the same id; `columns` are all columns of the index."""

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows by their ids, and return how many there were."""

    def recall(self, request: RecallRequest) -> RecalledRows:
        """The rows that are likeliest to be meant."""

    def encodings(self, rows: Sequence[StoredRow]) -> dict[int, bytes]:
        """The stored encodings of some rows by their numbers; those that are gone are missing."""

    def statistics(self, words: Iterable[str]) -> RowStatistics:
        """How many rows there are, and how many have each of some words."""

    def words_of_length(self, least: int, most: int) -> dict[str, int]:
        """The words that rows have, of so many letters, each with how many rows have it."""

    def state(self) -> StoreState:
        """The state of the index as it is now."""

    def exists(self) -> bool:
        """Whether there is such an index, finished or not."""

    def create(self, state: StoreState) -> None:
        """Make an index without rows."""

    def commit(self, state: StoreState) -> None:
        """Change manifest and facts; the number of rows stays what it is."""

    def finish(self) -> None:
        """Build what makes searching fast; called after many rows were added."""

    def num_further(self) -> int:
        """How many rows are further texts of others, as `searched_texts` stores them."""

    def stored(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """The columns of those rows that are stored already, by their ids."""

    def ids_of_question(self, question: str) -> list[str]:
        """The ids of the rows with exactly this question."""

    def scan(self, *, with_encodings: bool = False) -> Iterator[StoredRow]:
        """All rows in the order of their numbers, a few at a time in memory."""

    def sample(self, count: int) -> list[StoredRow]:
        """Some rows, evenly spread over all of them, always the same ones."""

    def size_bytes(self) -> dict[str, int]:
        """Bytes by what they hold, as far as the database tells."""

    def close(self) -> None:
        """Give connections back."""


def open_store(address: StoreAddress) -> RowStore:
    """A store, whose index may not exist yet.

    Raises:
        MissingExtra: Its driver is not installed.
    """
    if address.engine == POSTGRES:
        from softquery.search.stores.postgres.postgres_store import PostgresStore

        return PostgresStore(address)
    from softquery.search.stores.milvus.milvus_store import MilvusStore

    return MilvusStore(address)
