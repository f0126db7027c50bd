"""The tables of an index in PostgreSQL: a schema of its own, `softquery_NAME`.

| table | holds |
|---|---|
| `state` | one row: manifest, version of the layout, numbers of rows and words; writers lock it |
| `entries` | the rows: columns, vector, sparse vector of words, counts of words, encoding |
| `word_counts` | how many rows have each word, and the most that it weighs in one of them |

`measures` is what cells measure, see `softquery.search.stores.conditions`.
"""

from softquery.search.storage.vector_scan import SCANNED_ROWS
from softquery.search.stores.word_weights import COMPONENTS

CONNECTIVITY, EXPANSION_ADD = 16, 128
"""As in folders, see `softquery.search.storage.vector_recall`."""
MOST_GRAPH_WIDTH = 4000
"""The most components of a `halfvec` that pgvector's HNSW takes."""
GRAPH_ROWS = SCANNED_ROWS // 2
"""Rows above which there is a graph of vectors, so that an index that grows has it in time."""
FIELDS = ("id", "columns", "measures", "vector", "sparse", "words", "counts", "encoding")
LONGEST_ID = 2000
"""Bytes of an id, which PostgreSQL keeps in an index."""


def schema_of(name: str) -> str:
    """The schema of an index; names are checked where addresses are read."""
    return f"softquery_{name}"


def creation(schema: str, width: int) -> list[str]:
    """What makes the tables, all in one transaction."""
    rows = f"""(
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        {entry_fields(width)},
        UNIQUE (id)
    )"""
    return [
        f"CREATE SCHEMA {schema}",
        f"""CREATE TABLE {schema}.state (
            only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
            content jsonb NOT NULL,
            generation bigint NOT NULL DEFAULT 0,
            num_rows bigint NOT NULL DEFAULT 0,
            num_words bigint NOT NULL DEFAULT 0
        )""",
        f"CREATE TABLE {schema}.entries {rows}",
        # Encodings lie beside the table, which stays small to go through.
        f"ALTER TABLE {schema}.entries ALTER encoding SET STORAGE EXTERNAL",
        f"""CREATE TABLE {schema}.word_counts (
            word text PRIMARY KEY,
            num_rows bigint NOT NULL,
            most double precision NOT NULL
        )""",
    ]


def entry_fields(width: int) -> str:
    """The fields of a row, but for its number."""
    return f"""id text NOT NULL,
        columns jsonb NOT NULL,
        measures jsonb NOT NULL,
        vector halfvec({width}) NOT NULL,
        sparse sparsevec({COMPONENTS}) NOT NULL,
        words text[] NOT NULL,
        counts integer[] NOT NULL,
        encoding bytea NOT NULL"""


def indexing(schema: str, width: int, num_rows: int) -> list[str]:
    """What makes searching fast, built faster when the rows are there.

    Args:
        schema: The index.
        width: Components of a vector.
        num_rows: Rows; of few of them all vectors are compared, and a graph only slows writing.
    """
    found = [f"CREATE INDEX IF NOT EXISTS entries_words ON {schema}.entries USING gin (words)"]
    if width <= MOST_GRAPH_WIDTH and num_rows > GRAPH_ROWS:
        found.append(
            f"CREATE INDEX IF NOT EXISTS entries_vectors ON {schema}.entries USING hnsw "
            f"(vector halfvec_ip_ops) WITH (m = {CONNECTIVITY}, ef_construction = {EXPANSION_ADD})"
        )
    return [*found, f"ANALYZE {schema}.entries", f"ANALYZE {schema}.word_counts"]
