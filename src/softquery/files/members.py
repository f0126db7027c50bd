"""The files of a collection, whether it lies there as a folder or as one archive."""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import InputError
from softquery.files.archives import check_readable

ARCHIVE = re.compile(r"\.(tar(\.(gz|xz|bz2))?|tgz)$", re.IGNORECASE)


def is_archive(path: str | PathLike[str]) -> bool:
    """Whether a name is that of a tar archive, compressed or not.

    >>> is_archive("semcor3.0.tar.xz"), is_archive("semcor.zip")
    (True, False)
    """
    return ARCHIVE.search(fspath(path)) is not None


def read_members(path: str | PathLike[str], pattern: str) -> Iterator[tuple[str, str]]:
    """The UTF-8 texts below a folder or in a tar archive, in the order of their names.

    Nothing is unpacked to the disk.

    Args:
        path: A folder, or a .tar, .tar.gz, .tar.xz or .tar.bz2.
        pattern: A regular expression that the end of a file's name must match.

    Yields:
        The name below the folder or inside of the archive, and the text.
    """
    wanted = re.compile(rf"(?:^|/)(?:{pattern})$")
    if Path(path).is_dir():
        yield from _of_folder(Path(path), wanted)
    else:
        check_readable(path)
        yield from _of_archive(path, wanted)


def _of_folder(folder: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    names = (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    for name in sorted(names):
        if wanted.search(name):
            check_readable(folder / name)
            yield name, _decoded((folder / name).read_bytes(), source=folder / name)


def _of_archive(path: str | PathLike[str], wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    found: dict[str, bytes] = {}
    try:
        # As a stream: asked for one after the other, members of an .xz would be unpacked each time
        # from the beginning.
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if member.isfile() and wanted.search(member.name):
                    content = archive.extractfile(member)
                    found[member.name] = b"" if content is None else content.read()
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise InputError(f"not a readable tar archive ({error})", source=path) from error
    for name in sorted(found):
        yield name, _decoded(found[name], source=f"{fspath(path)}/{name}")


def _decoded(content: bytes, *, source: str | PathLike[str]) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        message = f"not valid UTF-8 (byte 0x{content[error.start]:02x})"
        raise InputError(message, source=source, row=row) from error
