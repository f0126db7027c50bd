"""Folders of shards, on a disk or in an object store: files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from softquery.atomic import write_bytes
from softquery.errors import InputError, MissingExtra

BLOCK = 1 << 23
"""Bytes that are fetched at a time."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Environment variables with the address of a store that speaks S3, the first that is set."""
S3 = ("s3", "s3a", "s3n")


class Place(Protocol):
    """A folder of files."""

    def names(self, folder: str = "") -> list[str]:
        """The files in it, or in a folder of it, by their path from the place; none if missing."""

    def read(self, name: str) -> bytes:
        """A file's contents."""

    def has(self, name: str) -> bool:
        """Whether there is such a file."""

    def write(self, name: str, contents: bytes) -> None:
        """Write a file, which appears whole or not at all."""


def is_remote(uri: str) -> bool:
    """Whether a name is that of an object store rather than a path.

    >>> is_remote("s3://bucket/pairs"), is_remote("data/pairs.tsv")
    (True, False)
    """
    return "://" in uri


def open_place(uri: str) -> Place:
    """The place behind a path, or behind `s3://bucket/prefix` and its like."""
    if not is_remote(uri):
        return DiskPlace(Path(uri))
    system, root = file_system(uri)
    return StorePlace(system, root.rstrip("/"), uri)


class DiskPlace:
    """A folder on a disk, which may be shared by many machines.

    Args:
        folder: Made with its first file; its parent must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self, folder: str = "") -> list[str]:
        """The files in it, or in a folder of it."""
        root = self.folder / folder
        found = (path for path in root.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def read(self, name: str) -> bytes:
        """A file's contents."""
        with _told(str(self.folder / name)):
            return (self.folder / name).read_bytes()

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.folder / name).is_file()

    def write(self, name: str, contents: bytes) -> None:
        """Write beside, then rename."""
        path = self.folder / name
        with _told(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, contents)


class StorePlace:
    """A prefix of an object store, whose objects appear whole.

    Args:
        system: pyarrow's file system.
        root: Bucket and prefix.
        uri: As the user wrote it, for messages.
    """

    def __init__(self, system: Any, root: str, uri: str) -> None:
        self._system, self._root, self._uri = system, root, uri.rstrip("/")

    def names(self, folder: str = "") -> list[str]:
        """The files under the prefix, or in a folder of it."""
        from pyarrow.fs import FileSelector

        root = f"{self._root}/{folder}".rstrip("/")
        with _told(self._uri):
            found = self._system.get_file_info(
                FileSelector(root, recursive=True, allow_not_found=True)
            )
        return sorted(info.path[len(self._root) + 1 :] for info in found if info.is_file)

    def read(self, name: str) -> bytes:
        """A file's contents."""
        with _told(f"{self._uri}/{name}"), self._system.open_input_stream(self._path(name)) as file:
            contents: bytes = file.read()
            return contents

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        with _told(self._uri):
            return bool(self._system.get_file_info(self._path(name)).is_file)

    def write(self, name: str, contents: bytes) -> None:
        """Put an object: it is there when all of its bytes have arrived."""
        place = f"{self._uri}/{name}"
        with _told(place), self._system.open_output_stream(self._path(name)) as file:
            file.write(contents)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of pyarrow for a URI, and the path in it.

    The address of a store that speaks S3 is taken from the environment, as are the credentials.
    """
    try:
        from pyarrow import fs
    except ImportError:
        raise MissingExtra("ray", needed_for="reading and writing object stores") from None
    scheme, _, path = uri.partition("://")
    address = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), None)
    with _told(uri):
        if scheme in S3 and address is not None:
            protocol, _, host = address.rpartition("://")
            options = {"endpoint_override": host.rstrip("/"), "scheme": protocol or "https"}
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            return fs.S3FileSystem(region=region or "us-east-1", **options), path
        found, path = fs.FileSystem.from_uri(f"s3://{path}" if scheme in S3 else uri)
        return found, path


@contextmanager
def local_copy(uri: str) -> Iterator[Path]:
    """A file where it can be read as any other: itself, or fetched for as long as the block."""
    if not is_remote(uri):
        yield Path(uri)
        return
    system, path = file_system(uri)
    with TemporaryDirectory(prefix="softquery-") as folder:
        copy = Path(folder) / path.rsplit("/", 1)[-1]
        with _told(uri), system.open_input_stream(path) as source, copy.open("wb") as target:
            while block := source.read(BLOCK):
                target.write(block)
        yield copy


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Faults of a disk or a store as a line that names the place."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be reached ({reason[:300]})", source=place) from None
