"""An index by its address: a folder, several folders, or a database."""

from os import PathLike, fspath
from pathlib import Path

from softquery.runtime import Matcher
from softquery.search.index import Index
from softquery.search.index_view import IndexView
from softquery.search.languages.language_parts import has_parts, read_parts
from softquery.search.storage.manifest import Manifest, is_index, read_manifest
from softquery.search.stores.address import is_store, parse_store
from softquery.search.stores.row_store import open_store
from softquery.search.stores.shards import ShardedIndex, is_pattern, shards_of
from softquery.search.stores.store_index import StoreIndex


def open_index(
    address: str | PathLike[str],
    *,
    model: str | PathLike[str] | Matcher | None = None,
    threads: int | None = None,
) -> IndexView:
    """Open an index wherever it lies.

    Args:
        address: A folder; a pattern of several folders, which are searched as one
            (`"shards/*.sq"`); or a database (`"postgresql://db.example/shop#faq"`).
        model: The folder of its matcher, if that was moved; or an open matcher, which several
            indexes may share.
        threads: Threads of one search; None for all cores.

    Raises:
        InputError: There is no index, it is damaged, or it was built with another model.
        ConfigError: The address is none, or has a password.
    """
    if is_store(address):
        return StoreIndex.open(fspath(address), model=model, threads=threads)
    if is_pattern(address):
        return ShardedIndex.open(fspath(address), model=model, threads=threads)
    return Index.open(address, model=model, threads=threads)


def manifest_at(address: str | PathLike[str]) -> Manifest:
    """The state of an index without opening its models.

    Raises:
        InputError: There is no index, or it is damaged.
    """
    if is_store(address):
        return open_store(parse_store(address)).state().manifest
    if is_pattern(address):
        return read_manifest(shards_of(fspath(address))[0])
    if has_parts(Path(address)):
        return read_manifest(Path(address) / read_parts(Path(address)).main)
    return read_manifest(Path(address))


def can_be_index(address: str | PathLike[str]) -> bool:
    """Whether an address is that of an index rather than of a model."""
    return is_store(address) or is_pattern(address) or is_index(Path(address))
