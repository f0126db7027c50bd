"""The connection to Milvus: where it is, who asks, and its errors in one line."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from softquery.errors import MissingExtra, StoreError

Found = TypeVar("Found")
TOKEN, USER, PASSWORD = "MILVUS_TOKEN", "MILVUS_USER", "MILVUS_PASSWORD"
CONNECT_SECONDS = 15


class MilvusConnection:
    """A connection to one database of Milvus, which many threads may use.

    Args:
        location: `milvus://HOST:PORT/DATABASE`, or `milvus:///FILE` for Milvus Lite.
        address: What errors call it.
    """

    def __init__(self, location: str, address: str) -> None:
        if find_spec("pymilvus") is None:
            raise MissingExtra("milvus", needed_for="an index in Milvus")
        self._location, self.address = location, address
        self._client: Any = None

    def call(self, work: Callable[[Any], Found]) -> Found:
        """Do something with the client; what it raises becomes one line."""
        from pymilvus import MilvusException

        try:
            if self._client is None:
                self._client = self._connected()
            return work(self._client)
        except MilvusException as error:
            said = " ".join(str(error.message or error).split())[:300]
            raise StoreError(_masked(said), source=self.address) from None
        except OSError as error:
            raise StoreError(_masked(str(error)), source=self.address) from None

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # it may be gone already
                client.close()

    def _connected(self) -> Any:
        from pymilvus import MilvusClient

        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints what it raises
        parts = urlsplit(self._location)
        if not parts.netloc:
            for name in ("milvus_lite", "grpc._server"):  # its server is in this process
                logging.getLogger(name).setLevel(logging.CRITICAL)
            return MilvusClient(unquote(parts.path))
        secure = parse_qs(parts.query).get("secure", ["false"])[0].lower() in ("true", "1")
        token = os.environ.get(TOKEN, "")
        if not token and os.environ.get(USER):
            token = f"{os.environ[USER]}:{os.environ.get(PASSWORD, '')}"
        return MilvusClient(
            uri=f"{'https' if secure else 'http'}://{parts.netloc}",
            token=token,
            db_name=parts.path.strip("/"),
            timeout=CONNECT_SECONDS,
        )


def _masked(text: str) -> str:
    """A message without what the environment keeps secret."""
    for name in (TOKEN, PASSWORD):
        secret = os.environ.get(name)
        if secret:
            text = text.replace(secret, "***")
    return text
