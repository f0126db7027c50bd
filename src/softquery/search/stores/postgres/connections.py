"""Connections to PostgreSQL: a few are kept open; what its driver says becomes one line."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from softquery.errors import MissingExtra, StoreError
from softquery.search.stores.address import PASSWORD_PLACES, POSTGRES

Found = TypeVar("Found")
MOST_IDLE = 8
"""Connections that are kept for the next search."""
CONNECT_SECONDS = 15
NO_PASSWORD = "no password supplied"
_SESSION = (
    "SET plan_cache_mode = force_custom_plan",  # which words are asked for decides the plan
    "SET idle_in_transaction_session_timeout = '60s'",  # a writer that hangs gives its lock back
    "SET random_page_cost = 1.1",  # tables of an index are mostly in memory
    "SET client_min_messages = warning",
)


def require_psycopg() -> None:
    """Name the missing extra before any work is done."""
    if find_spec("psycopg") is None:
        raise MissingExtra("postgres", needed_for="an index in PostgreSQL")


class Connections:
    """Connections to one database, for many threads.

    Args:
        location: Its URL, without a password.
        address: What errors call it.
    """

    def __init__(self, location: str, address: str) -> None:
        require_psycopg()
        self._location, self._address = location, address
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection that commits each statement; it is kept if nothing went wrong."""
        import psycopg

        connection = None
        try:
            connection = self._taken()
            yield connection
        except psycopg.Error as error:
            raise self._told(error) from None
        finally:
            if connection is not None:
                self._give_back(connection)

    def read(self, work: Callable[[Any], Found]) -> Found:
        """Read in one transaction, which sees one state; once more if the connection was lost."""
        import psycopg

        for is_last in (False, True):
            connection = None
            try:
                connection = self._taken(is_fresh=is_last)
                with connection.transaction():
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    return work(connection.cursor(binary=True))
            except psycopg.Error as error:
                is_lost = connection is not None and connection.broken
                if is_last or not is_lost:
                    raise self._told(error) from None
            finally:
                if connection is not None:
                    self._give_back(connection)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close what is idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _taken(self, *, is_fresh: bool = False) -> Any:
        import psycopg

        with self._lock:
            while self._idle and not is_fresh:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        # It warns of connections that broke, which is raised as well.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        connection = psycopg.connect(
            self._location,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="softquery",
            client_encoding="UTF8",
            keepalives_idle=30,
        )
        for statement in _SESSION:
            connection.execute(statement)
        return connection

    def _give_back(self, connection: Any) -> None:
        import psycopg

        is_idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if is_idle and not connection.closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _told(self, error: Any) -> StoreError:
        """What went wrong, in one line and without secrets."""
        from psycopg import errors

        if isinstance(error, (errors.InvalidSchemaName, errors.UndefinedTable)):
            message = "no such index; build one with softquery index FILE --store ADDRESS"
            return StoreError(message, source=self._address)
        if isinstance(error, errors.DuplicateSchema):
            return StoreError("exists already", source=self._address)
        said = " ".join(str(error).split())[:300] or type(error).__name__
        if NO_PASSWORD in said:  # what libpq says of it tells nobody what to do
            message = f"the server asks for a password; {PASSWORD_PLACES[POSTGRES]}"
            return StoreError(message, source=self._address)
        secret = os.environ.get("PGPASSWORD")
        return StoreError(said.replace(secret, "***") if secret else said, source=self._address)
