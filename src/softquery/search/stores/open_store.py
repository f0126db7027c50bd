"""The store behind an address."""

from softquery.errors import ConfigError
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
    raise ConfigError(f"no store is called {address.engine}")
