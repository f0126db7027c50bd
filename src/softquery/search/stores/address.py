"""Addresses of indexes: folders, and databases by URL; a password is never part of one."""

from dataclasses import dataclass
from os import PathLike, fspath
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from softquery.errors import ConfigError

POSTGRES, MILVUS = "postgresql", "milvus"
_ENGINES = {"postgresql": POSTGRES, "postgres": POSTGRES, "milvus": MILVUS}
DEFAULT_NAME = "softquery"
"""The name of an index if its address has none."""
LONGEST_NAME = 40
PASSWORD_PLACES = {
    POSTGRES: "set PGPASSWORD, PGPASSFILE or ~/.pgpass",
    MILVUS: "set MILVUS_TOKEN, or MILVUS_USER and MILVUS_PASSWORD",
}
"""What to do where a password is needed, by engine."""
_SECRET_KEYS = {"password", "sslpassword", "passfile", "token", "secret"}


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where an index lies in a database.

    Attributes:
        engine: `"postgresql"` or `"milvus"`.
        location: The URL of the database, without the index.
        name: The index in it.
    """

    engine: str
    location: str
    name: str = DEFAULT_NAME

    def __str__(self) -> str:
        return f"{self.location}#{self.name}"


def is_store(address: str | PathLike[str]) -> bool:
    """Whether an address is that of a database rather than of a folder.

    >>> is_store("postgresql://localhost/shop#faq"), is_store("faq.sq")
    (True, False)
    """
    return isinstance(address, str) and urlsplit_scheme(address) in _ENGINES


def urlsplit_scheme(address: str) -> str:
    """What stands before `://`; empty if nothing does."""
    scheme, found, _ = address.partition("://")
    return scheme.lower() if found else ""


def parse_store(address: str | PathLike[str]) -> StoreAddress:
    """An address as it is typed; the index stands after `#`.

    Raises:
        ConfigError: It is none, or has a password, which is then not repeated.

    >>> parse_store("postgresql://reader@db.example/shop#faq").name
    'faq'
    >>> parse_store("postgresql://reader:secret@db.example/shop")
    Traceback (most recent call last):
        ...
    softquery.errors.ConfigError: the address has a password, which others can see there; take it \
out and set PGPASSWORD, PGPASSFILE or ~/.pgpass
    """
    text = fspath(address)
    scheme = urlsplit_scheme(text)
    if scheme not in _ENGINES:
        known = "postgresql://HOST/DATABASE#INDEX or milvus://HOST:PORT#INDEX"
        raise ConfigError(f"no store has an address of this kind ({scheme or 'none'}://); {known}")
    engine = _ENGINES[scheme]
    try:
        parts = urlsplit(text)
        password = parts.password
    except ValueError:
        raise ConfigError("the address of the store cannot be read: it is no URL") from None
    keys = {key.lower() for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if password or keys & _SECRET_KEYS:
        message = "the address has a password, which others can see there; take it out and"
        raise ConfigError(f"{message} {PASSWORD_PLACES[engine]}")
    name = unquote(parts.fragment) or DEFAULT_NAME
    return StoreAddress(engine, _location(engine, parts), _checked_name(name))


def _location(engine: str, parts: SplitResult) -> str:
    """The URL without the index, and without the colon of a password that is not there."""
    host = parts.netloc.replace(":@", "@")
    found = urlunsplit((engine, host, parts.path, parts.query, ""))
    # For PostgreSQL over a socket, nothing stands between the slashes.
    return found if "://" in found else found.replace(f"{engine}:", f"{engine}://", 1)


def _checked_name(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").isalnum() and name == name.lower()
    if not plain or not name[0].isalpha() or len(name) > LONGEST_NAME:
        expected = f"expected a letter, then letters, digits and _, at most {LONGEST_NAME}, small"
        raise ConfigError(f"an index in a store cannot be called {name!r:.60}; {expected}")
    return name
