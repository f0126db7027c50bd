"""What is checked before an index is built, opened or changed."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from softquery.errors import InputError, MissingExtra
from softquery.search.index_folder import refuse_link
from softquery.search.manifest import Manifest, is_index, read_manifest


def checked_ids(ids: Iterable[str]) -> list[str]:
    """Ids as a list; each must be a text."""
    if isinstance(ids, str):
        raise TypeError("expected a list of ids, got one string")
    if isinstance(ids, bytes) or not isinstance(ids, Iterable):
        raise TypeError(f"expected a list of ids, got {type(ids).__name__}")
    names = list(ids)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"ids are texts, got {name!r:.60}")
    return names


def require_extra() -> None:
    """Name a missing extra before any work is done."""
    if find_spec("usearch") is None or find_spec("bm25s") is None:
        raise MissingExtra("search", needed_for="an index of questions")


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot become an index before any work is done."""
    refuse_link(folder)
    if is_index(folder) and not read_manifest(folder).unfinished:
        message = (
            "exists already; --add adds and replaces rows, another --output builds a new index"
        )
        raise InputError(message, source=folder)
    if not folder.absolute().parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=folder)


def check_same(folder: Path, fresh: Manifest) -> None:
    """Continue an interrupted indexing only with the model and settings that it began with."""
    there = read_manifest(folder)
    same = ("fingerprint", "vector_source", "vector_fingerprint", "settings")
    if any(getattr(there, name) != getattr(fresh, name) for name in same):
        message = "was begun with another model or other settings; remove it to start over"
        raise InputError(message, source=folder)
