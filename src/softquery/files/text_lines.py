"""Bytes and lines of any file, plain or compressed.

Lines are strict about UTF-8 and exact about their numbers. Text is read in blocks of complete
lines. A block is decoded, checked and split at once; only one with a fault is processed line by
line, to find the row.
"""

import bz2
import errno
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from io import BufferedIOBase, BufferedReader
from itertools import chain
from os import PathLike, fspath
from typing import IO, cast

from softquery.errors import InputError

BLOCK_SIZE = 1 << 18
"""Bytes per read; streaming keeps one block in memory."""

_REASONS = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "is a folder, expected a file",
    errno.EACCES: "may not be read (no permission)",
    errno.EPERM: "may not be read (no permission)",
    errno.ENOTDIR: "no such file (a part of its path is a file, not a folder)",
    errno.ENAMETOOLONG: "no such file (the name is too long)",
}


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression: its name, its first bytes, and how to open it."""

    name: str
    magic: bytes
    open: Callable[[IO[bytes]], IO[bytes]]


COMPRESSIONS = {
    ".gz": Compression(
        "gzip", b"\x1f\x8b", lambda raw: cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    ),
    ".xz": Compression("xz", b"\xfd7zXZ\x00", lambda raw: lzma.LZMAFile(raw)),  # noqa: SIM115
    ".bz2": Compression("bzip2", b"BZh", lambda raw: bz2.BZ2File(raw)),
}
"""Compressions by the ending of a file name."""


def split_suffix(path: str | PathLike[str]) -> tuple[str, str]:
    """The endings for the format and for the compression, in lower case.

    >>> split_suffix("data/train.TSV.xz"), split_suffix("notes.txt")
    (('.tsv', '.xz'), ('.txt', ''))
    """
    stem, last = os.path.splitext(os.path.basename(fspath(path)).lower())
    if last in COMPRESSIONS:
        return os.path.splitext(stem)[1], last
    return last, ""


LEAST_UNPACKED = 1 << 26
MOST_TIMES = 100
"""A compressed file is refused where it holds more than both: 64 MB, and 100 times its size."""


class UnpackedBytes(BufferedIOBase):
    """The content of a compressed file, which may not be far larger than the file.

    A few megabytes can unpack to any number of gigabytes; text shrinks to a tenth at best.

    Args:
        stream: Decompresses.
        most: The most bytes that are unpacked.
        source: The file, for the error.
    """

    def __init__(self, stream: IO[bytes], most: int, source: str | PathLike[str]) -> None:
        self._stream, self._left, self._source = stream, most, source

    def read(self, size: int | None = -1, /) -> bytes:
        """So many bytes, or all where that is negative or None."""
        whole = size is None or size < 0
        return self._counted(self._stream.read(self._left + 1 if whole else size or 0))

    def read1(self, size: int = -1, /) -> bytes:
        """What one step of the decompression gives, at most so many bytes."""
        return self._counted(self._stream.read1(size))  # type: ignore[attr-defined]

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            message = f"unpacks to more than {MOST_TIMES} times its size; unpack it first"
            raise InputError(f"{message} if that is meant", source=self._source)
        return data


@contextmanager
def open_bytes(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for `read_block`, decompressing by its ending (.gz, .xz, .bz2)."""
    with _open_raw(path) as raw:
        compression = COMPRESSIONS.get(split_suffix(path)[1])
        if compression is None:
            yield raw
            return
        start = raw.peek(len(compression.magic))[: len(compression.magic)]
        if start and not compression.magic.startswith(start):
            raise InputError(
                f"does not hold {compression.name} data, although its name says so", source=path
            )
        with _unpacked(compression, raw, path) as stream:
            yield stream


@contextmanager
def open_archive(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file, decompressing by its first bytes whatever its name is."""
    with _open_raw(path) as raw:
        for compression in COMPRESSIONS.values():
            if raw.peek(len(compression.magic)).startswith(compression.magic):
                with _unpacked(compression, raw, path) as stream:
                    yield stream
                return
        yield raw


@contextmanager
def _unpacked(
    compression: Compression, raw: BufferedReader, path: str | PathLike[str]
) -> Iterator[IO[bytes]]:
    most = max(LEAST_UNPACKED, MOST_TIMES * os.fstat(raw.fileno()).st_size)
    with compression.open(raw) as stream:
        yield cast(IO[bytes], UnpackedBytes(stream, most, path))


def read_block(stream: IO[bytes], *, source: str | PathLike[str], row: int | None) -> bytes:
    """The next bytes of a stream; empty at its end.

    `read1` returns what was decompressed before a fault, so that the rows before it are read.

    Args:
        stream: A stream of `open_bytes`.
        source: The file, for the error.
        row: The current row, for the error.
    """
    try:
        return stream.read1(BLOCK_SIZE)  # type: ignore[attr-defined, no-any-return]
    except EOFError as error:
        message = "the compressed file breaks off here (truncated); fetch or compress it again"
        raise InputError(message, source=source, row=row) from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        message = f"the compressed data is damaged ({error})"
        raise InputError(message, source=source, row=row) from error
    except OSError as error:
        # bz2 reports damage as an OSError without errno.
        what = "cannot be read" if error.errno else "the compressed data is damaged"
        raise InputError(f"{what} ({error.strerror or error})", source=source, row=row) from error


def check_readable(path: str | PathLike[str]) -> None:
    """Refuse a path that is missing, a folder, or not readable, before any work."""
    _open_raw(path).close()


def _open_raw(path: str | PathLike[str]) -> BufferedReader:
    try:
        return open(path, "rb")  # noqa: SIM115  (the caller closes it)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be read ({error.strerror})")
        raise InputError(reason, source=path) from error
    except ValueError as error:  # a NUL byte inside the path
        raise InputError("no such file (the name holds a NUL byte)", source=path) from error


LONGEST_LINE = 1 << 20
"""The most characters of a line; a longer one suggests another kind of file."""
LONGEST_TEXT = 1 << 22
"""The most characters of a whole text, a long novel, where a file is one text."""

_FOREIGN = {
    b"\xff\xfe\x00\x00": "is UTF-32 text; save the file as UTF-8",
    b"\xff\xfe": "is UTF-16 text; save the file as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save the file as UTF-8",
    b"\x1f\x8b": "holds gzip data; its name should end in .gz",
    b"\xfd7zXZ\x00": "holds xz data; its name should end in .xz",
    b"PK\x03\x04": "holds a ZIP archive or a spreadsheet, expected text",
    b"PAR1": "holds Parquet data; its name should end in .parquet",
}


_LONGEST_MARK = max(map(len, _FOREIGN))


class Returns(Enum):
    r"""What happens to the `\r` of a line that ends in `\r\n`."""

    STRIP = "strip"
    KEEP = "keep"


@dataclass(slots=True)
class Block:
    """Consecutive lines, with what is wrong with some of them.

    Attributes:
        first: The number of the first line, counted from 1.
        lines: The lines without their ends; a line with a fault is included in a repaired form.
        faults: The faults by line number.
    """

    first: int
    lines: list[str]
    faults: dict[int, InputError] = field(default_factory=dict)


class TextLines:
    """The lines of an open file, without line ends; `number` is the last row read."""

    def __init__(self, source: str, blocks: Iterator[Block]) -> None:
        self.source = source
        self.number = 0
        self._lines = self._walk(blocks)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)

    def read(self, most: int = LONGEST_TEXT) -> str:
        r"""The remaining text, as one string with `\n` between lines and none at the end.

        Args:
            most: Its most characters; a longer text is refused.
        """
        lines: list[str] = []
        left = most + 1  # there is no line end after the last line
        for line in self._lines:
            lines.append(line)
            left -= len(line) + 1
            if left < 0:
                raise self.error(f"the text is longer than {most:,} characters")
        return "\n".join(lines)

    def error(self, message: str) -> InputError:
        """An error that names this file and the last row read."""
        return InputError(message, source=self.source, row=self.number)

    def _walk(self, blocks: Iterator[Block]) -> Iterator[str]:
        for block in blocks:
            for number, line in enumerate(block.lines, block.first):
                self.number = number
                if number in block.faults:
                    raise block.faults[number]
                yield line


@contextmanager
def open_text(
    path: str | PathLike[str], *, longest_line: int = LONGEST_LINE
) -> Iterator[TextLines]:
    r"""Open a file of UTF-8 text, plain or compressed (.gz, .xz, .bz2), as a stream of lines.

    Lines end in `\n` or `\r\n`; a byte order mark is dropped. Every fault (no such file, broken
    UTF-8, NUL bytes, a truncated archive) is an `InputError` that names the file and the row.

    Args:
        path: The file.
        longest_line: The most characters of a line.
    """
    blocks = text_blocks(path, longest_line=longest_line)
    try:
        # The first block is read here, so that a missing file is reported when it is opened.
        first = next(blocks, None)
        yield TextLines(fspath(path), chain([] if first is None else [first], blocks))
    finally:
        blocks.close()  # type: ignore[attr-defined]


def text_blocks(
    path: str | PathLike[str],
    *,
    longest_line: int = LONGEST_LINE,
    returns: Returns = Returns.STRIP,
) -> Iterator[Block]:
    """Stream a file in blocks of complete lines.

    Faults of a line are stored in its block; faults of the stream (truncated, unreadable, not text
    at all) are raised after the lines before them.
    """
    source = fspath(path)
    with open_bytes(path) as stream:
        for first, chunk in _whole_lines(stream, source, longest_line):
            sound = _without_mark(chunk, source) if first == 1 else chunk
            yield _decode(first, sound, source, longest_line, returns)


def running_text(path: str | PathLike[str]) -> Iterator[Block]:
    """Stream a corpus, whose lines may be very long, in blocks of lines.

    A line of more than `LONGEST_LINE` bytes is split at spaces into several. Faults are handled as
    in `text_blocks`.
    """
    source = fspath(path)
    row, held, at_start = 1, b"", True
    with open_bytes(path) as stream:
        while data := read_block(stream, source=source, row=row):
            held += data
            if at_start and len(held) >= _LONGEST_MARK:
                held, at_start = _without_mark(held, source), False
            cut = held.rfind(b"\n") + 1 or _blank_cut(held)
            if cut:
                yield _decode(row, held[:cut], source, None, Returns.STRIP)
                row, held = row + held.count(b"\n", 0, cut), held[cut:]
    if held:
        chunk = _without_mark(held, source) if at_start else held
        yield _decode(row, chunk, source, None, Returns.STRIP)


def _blank_cut(held: bytes) -> int:
    """Where to split a line that is too long: after a space, otherwise before a character."""
    if len(held) <= LONGEST_LINE:
        return 0
    cut = held.rfind(b" ") + 1
    if cut:
        return cut
    cut = len(held) - 1
    while cut > 0 and held[cut] & 0xC0 == 0x80:  # inside a character
        cut -= 1
    return cut


def without_blank_end(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same blocks without blank lines at the end of the file."""
    held = 0
    for block in blocks:
        end = len(block.lines)
        # The repaired form of a faulty line may be empty, but the line is not blank.
        fault = max(block.faults) - block.first + 1 if block.faults else 0
        while end > fault and block.lines[end - 1] in ("", "\r"):
            end -= 1
        if end:
            yield Block(block.first - held, [""] * held + block.lines[:end], block.faults)
            held = 0
        held += len(block.lines) - end


def _whole_lines(stream: IO[bytes], source: str, longest_line: int) -> Iterator[tuple[int, bytes]]:
    """Runs of complete lines with the number of the first; a very long line is cut.

    What is kept exceeds the limit even at four bytes per character, so it is refused later.
    """
    most = 4 * longest_line
    row, num_held = 1, 0
    held: list[bytes] = []  # the beginning of a line that is not complete yet
    while data := read_block(stream, source=source, row=row):
        cut = data.rfind(b"\n") + 1
        if cut:
            start = data.find(b"\n") if num_held > most else 0
            chunk = b"".join([*held, data[start:cut]])
            yield row, chunk
            row += chunk.count(b"\n")
            held, num_held = [], 0
        if num_held <= most and cut < len(data):
            held.append(data[cut:])
            num_held += len(data) - cut
    if held:
        yield row, b"".join(held)


def _without_mark(chunk: bytes, source: str) -> bytes:
    """The start of a file without its byte order mark; other kinds of file are refused."""
    for magic, reason in _FOREIGN.items():
        if chunk.startswith(magic):
            raise InputError(reason, source=source, row=1)
    return chunk.removeprefix(b"\xef\xbb\xbf")


def _decode(
    first: int, chunk: bytes, source: str, longest_line: int | None, returns: Returns
) -> Block:
    """A block from bytes: decoded at once, or line by line if there is a fault."""
    if b"\0" in chunk or (longest_line is not None and len(chunk) > longest_line):
        return _decode_slowly(first, chunk, source, longest_line, returns)
    try:
        text = chunk.decode()
    except UnicodeDecodeError:
        return _decode_slowly(first, chunk, source, longest_line, returns)
    if "\r" in text and returns is Returns.STRIP:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return Block(first, text.removesuffix("\n").split("\n"))


def _decode_slowly(
    first: int, chunk: bytes, source: str, longest_line: int | None, returns: Returns
) -> Block:
    block = Block(first, [])
    for number, line in enumerate(chunk.removesuffix(b"\n").split(b"\n"), first):
        text = ""
        reason = _too_long(line, longest_line)
        if reason is None:
            text = line.decode(errors="replace").replace("\0", "\ufffd")
            reason = _fault(line)
            reason = reason or _too_long(text, longest_line)
        if reason is not None:
            block.faults[number] = InputError(reason, source=source, row=number)
        block.lines.append(text.removesuffix("\r") if returns is Returns.STRIP else text)
    return block


def _too_long(line: str | bytes, longest_line: int | None) -> str | None:
    limit = longest_line if isinstance(line, str) or longest_line is None else 4 * longest_line
    if limit is None or len(line) <= limit:
        return None
    return f"the line is longer than {longest_line:,} characters"


def _fault(line: bytes) -> str | None:
    """Why this line is not text, or None."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        byte = f"byte 0x{line[error.start]:02x} at column {column}"
        return f"not valid UTF-8 ({byte}); save the file as UTF-8"
    if b"\0" in line:
        return f"holds a NUL byte (at column {line.index(0) + 1}), expected text"
    return None
