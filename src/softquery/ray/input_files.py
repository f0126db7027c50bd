"""Which files a bulk run reads: one, those of a folder, those of a pattern, here or in a store."""

import re
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from softquery.errors import InputError
from softquery.files.text_lines import split_suffix
from softquery.ray.places import file_system, is_remote

WILD = re.compile(r"[*?\[]")


class InputFile(NamedTuple):
    """A file of rows."""

    name: str
    """Its path from the folder or the pattern that was given: what its shards are named after."""
    uri: str
    """Where it lies."""


def find_input_files(source: str, forms: tuple[str, ...]) -> list[InputFile]:
    """The files behind a path, a folder or a pattern, in the order of their names.

    Of a folder, files are taken whose ending is known; hidden ones, and those that begin with an
    underscore as the records of such runs do, are not.

    Args:
        source: A path, a folder, a pattern such as `pairs/*.parquet`, or one of these in a store.
        forms: Endings that can be read, apart from that of a compression.

    Raises:
        InputError: If there is none.
    """
    root, pattern = _without_pattern(source)
    if pattern is None and _is_file(root):
        return [InputFile(PurePosixPath(root).name, root)]
    names = [name for name in _listed(root) if not _is_aside(name)]
    if pattern is not None:
        match = re.compile(translate(pattern)).match
        found = [name for name in names if match(name)]
    else:
        found = [name for name in names if split_suffix(name)[0] in forms]
    if not found:
        wanted = "matches" if pattern is not None else f"that ends in {', '.join(forms)}"
        raise InputError(f"no file {wanted}", source=source)
    return [InputFile(name, f"{root.rstrip('/')}/{name}") for name in found]


def _without_pattern(source: str) -> tuple[str, str | None]:
    """The folder in front of a pattern, and the pattern; where there is none, the path itself."""
    wild = WILD.search(source)
    if wild is None or (not is_remote(source) and Path(source).exists()):
        return source, None
    root, slash, _ = source[: wild.start()].rpartition("/")
    return (root or "/") if slash else ".", source[len(root) + len(slash) :]


def _is_aside(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in PurePosixPath(name).parts)


def _is_file(uri: str) -> bool:
    if not is_remote(uri):
        if not Path(uri).exists():
            raise InputError("no such file", source=uri)
        return Path(uri).is_file()
    system, path = file_system(uri)
    return bool(system.get_file_info(path.rstrip("/")).is_file)


def _listed(root: str) -> list[str]:
    from softquery.ray.places import open_place

    return open_place(root).names()
