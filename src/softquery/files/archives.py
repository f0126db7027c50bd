"""Texts from folders and tar archives, in memory; nothing is extracted to the disk."""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import InputError
from softquery.files.text_lines import check_readable, open_archive

LARGEST_CONTENT = 1 << 28
"""The most bytes of all texts of a folder or an archive; SemCor has a fifth of that."""

ARCHIVE = re.compile(r"\.(tar(\.(gz|xz|bz2))?|tgz)$", re.IGNORECASE)


def is_archive(path: str | PathLike[str]) -> bool:
    """Whether a file name is that of a tar archive, compressed or not.

    >>> is_archive("semcor3.0.tar.xz"), is_archive("semcor.zip")
    (True, False)
    """
    return ARCHIVE.search(fspath(path)) is not None


def read_members(path: str | PathLike[str], pattern: str) -> Iterator[tuple[str, str]]:
    """The UTF-8 texts of a folder or a tar archive, in the order of their names.

    Nothing is extracted to the disk.

    Args:
        path: A folder, or a .tar, .tar.gz, .tar.xz or .tar.bz2.
        pattern: A regular expression that the end of a file's name must match.

    Yields:
        The name within the folder or the archive, and the text.
    """
    wanted = re.compile(rf"(?:^|/)(?:{pattern})$")
    if Path(path).is_dir():
        yield from _of_folder(Path(path), wanted)
    else:
        check_readable(path)
        yield from _of_archive(path, wanted)


def _of_folder(folder: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    left = LARGEST_CONTENT
    names = (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    for name in sorted(names):
        if wanted.search(name):
            check_readable(folder / name)
            left = _reduced(left, (folder / name).stat().st_size, folder)
            yield name, _decoded((folder / name).read_bytes(), source=folder / name)


def _of_archive(path: str | PathLike[str], wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    found: dict[str, bytes] = {}
    left = LARGEST_CONTENT
    try:
        # Opened as a stream: random access to an .xz decompresses from the beginning each time.
        with open_archive(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if member.isfile() and wanted.search(member.name):
                    left = _reduced(left, member.size, path)
                    content = archive.extractfile(member)
                    found[member.name] = b"" if content is None else content.read()
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise InputError(f"not a readable tar archive ({error})", source=path) from error
    for name in sorted(found):
        yield name, _decoded(found[name], source=f"{fspath(path)}/{name}")


def _reduced(left: int, size: int, source: str | PathLike[str]) -> int:
    """How many bytes may still be read after a text of this size."""
    if size > left:
        raise InputError(f"holds more than {LARGEST_CONTENT:,} bytes of texts", source=source)
    return left - size


def _decoded(content: bytes, *, source: str | PathLike[str]) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        message = f"not valid UTF-8 (byte 0x{content[error.start]:02x})"
        raise InputError(message, source=source, row=row) from error
