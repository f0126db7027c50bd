"""What is checked before an index is built, opened or changed."""

from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from softquery.errors import BundleError, InputError, MissingExtra
from softquery.runtime import Matcher
from softquery.runtime.vectors.text_vectors import TextVectors
from softquery.search.query.index_models import fingerprint, vector_fingerprint
from softquery.search.storage.index_folder import refuse_link
from softquery.search.storage.manifest import Manifest, is_index, read_manifest
from softquery.zoo import resolve

EXISTS = "exists already; --add adds and replaces rows, another --output builds a new index"


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
        raise InputError(EXISTS, source=folder)
    check_new(folder)


def check_new(folder: Path) -> None:
    """Refuse a folder in one that is not there."""
    refuse_link(folder)
    if not folder.absolute().parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=folder)


def check_same(folder: Path, fresh: Manifest) -> None:
    """Continue an interrupted indexing only with the model and settings that it began with."""
    there = read_manifest(folder)
    same = ("fingerprint", "vector_source", "vector_fingerprint", "settings")
    if any(getattr(there, name) != getattr(fresh, name) for name in same):
        message = "was begun with another model or other settings; remove it to start over"
        raise InputError(message, source=folder)


def check_matcher(
    folder: Path | str, manifest: Manifest, matcher: Matcher, chosen: str | None
) -> None:
    """Refuse a matcher whose encodings are not those that an index stores.

    Args:
        folder: The index.
        manifest: Its state.
        matcher: The matcher that was opened for it.
        chosen: Its name or folder, if it was chosen for this opening; None for the index's own.
    """
    found = fingerprint(matcher.bundle)
    if found == manifest.fingerprint:
        return
    if chosen is None or _is_own(manifest, chosen):
        raise _made_with_another(folder, manifest.model, manifest.fingerprint, found)
    marks = f"fingerprint {manifest.fingerprint[:8]}, that one's is {found[:8]}"
    command = f"softquery index {quote(str(folder))} --rebuild --model {quote(chosen)}"
    message = f"was made with another model than {chosen} ({marks}); {command} changes it to that"
    raise InputError(message, source=folder)


def _is_own(manifest: Manifest, chosen: str) -> bool:
    """Whether a name or folder is that of the index's own matcher."""
    with suppress(BundleError):  # its own is gone
        return chosen == manifest.model or Path(chosen) == resolve(manifest.model)
    return False


def check_vectors(folder: Path | str, manifest: Manifest, vectors: TextVectors) -> None:
    """Refuse a source of vectors that is not the one whose vectors an index stores."""
    found = vector_fingerprint(vectors)
    if found != manifest.vector_fingerprint:
        source = manifest.vector_source
        raise _made_with_another(folder, source, manifest.vector_fingerprint, found)


def _made_with_another(folder: Path | str, model: str, before: str, found: str) -> InputError:
    """The error for an index whose model was replaced under the same name."""
    marks = f"fingerprint {before[:8]}, today's is {found[:8]}"
    command = f"softquery index {quote(str(folder))} --rebuild"
    message = f"was made with another {Path(model).name} ({marks}); {command} makes it anew"
    return InputError(f"{message} with today's", source=folder)
