"""The store behind an address."""

from softquery.search.stores.address import POSTGRES, StoreAddress
from softquery.search.stores.row_store import RowStore


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
