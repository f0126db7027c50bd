"""Word vectors of GloVe, word2vec and fastText, recognised by content and streamed.

GloVe (Pennington et al., 2014) writes a word and its numbers per line; word2vec (Mikolov et al.,
2013) begins with a line of the number of words and the width, and has a binary format too, which
is another than that of fastText (`fasttext_files.py`).
"""

import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from os import PathLike, fspath
from typing import IO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from softquery.atomic import write_atomically
from softquery.errors import InputError
from softquery.files.fasttext_files import MAGIC, FastTextVectors, read_fasttext
from softquery.files.text_lines import (
    open_bytes,
    read_block,
    split_suffix,
    text_blocks,
    without_blank_end,
)

LARGEST_SIZE = 1 << 16
"""The widest vector; a header with more belongs to another kind of file."""

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})[ \t\r]*\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST_WORD = 1 << 12
_NUM_SAMPLED = 10
OnBad: TypeAlias = Callable[[InputError], None] | None
"""Takes each bad row instead of its error being raised."""


@dataclass(slots=True)
class VectorEntries:
    """Words and their vectors, collected in one growing array to avoid a copy."""

    size: int
    wanted: frozenset[str] | None
    words: list[str] = field(default_factory=list)
    rows: "array[int]" = field(default_factory=lambda: array("q"))
    numbers: "array[float]" = field(default_factory=lambda: array("f"))
    seen: set[str] = field(default_factory=set)
    on_bad: OnBad = None
    last_bad: int = 0
    """The last row that was passed over."""

    def refuse(self, error: InputError) -> None:
        """Raise what is wrong with a row, or note it where bad rows are passed over."""
        if self.on_bad is None:
            raise error
        self.on_bad(error)
        self.last_bad = error.row or 0

    def wants(self, word: str) -> bool:
        """Whether a word is wanted and has not been read yet."""
        return word not in self.seen and (self.wanted is None or word in self.wanted)

    def name(self, word: str, row: int) -> None:
        """Record the word whose numbers were appended."""
        self.seen.add(word)
        self.words.append(word)
        self.rows.append(row)


def read_entries(
    path: str, wanted: frozenset[str] | None, on_bad: OnBad = None
) -> VectorEntries | FastTextVectors:
    """Read the wanted words, in any of the formats."""
    with open_bytes(path) as stream:
        start = _start(stream, path)
        if not start:
            raise InputError("is empty", source=path)
        if start.startswith(MAGIC):
            return read_fasttext(stream, start, path, wanted)
        header = _HEADER.match(start)
        if header is None:
            return _read_glove(path, wanted, on_bad)
        num_words, size = int(header[1]), int(header[2])
        if not 0 < size <= LARGEST_SIZE:
            raise InputError(f"the header's width is {size:,}", source=path, row=1)
        entries = VectorEntries(size, wanted, on_bad=on_bad)
        if _is_binary(start[header.end() :], size, path):
            _read_binary(stream, start[header.end() :], num_words, entries, path)
            return entries
    _read_text(_numbered_lines(path, entries), num_words, entries, path)
    return entries


def _start(stream: IO[bytes], path: str) -> bytes:
    """The beginning of the file, with the header and a first row of usual width."""
    start = b""
    while len(start) < 1 << 16 and (data := read_block(stream, source=path, row=1)):
        start += data
    return start


def _is_binary(body: bytes, size: int, path: str) -> bool:
    """Whether binary numbers follow the header: control bytes, or no row of numbers."""
    line = body.partition(b"\n")[0].decode(errors="replace")
    if _trailing_numbers(line) >= size:
        return False
    return bool(_CONTROL.search(body[:4096])) or split_suffix(path)[0] == ".bin"


def _numbered_lines(path: str, entries: VectorEntries) -> Iterator[tuple[int, str]]:
    for block in without_blank_end(text_blocks(path)):
        for number, line in enumerate(block.lines, block.first):
            if number in block.faults:
                entries.refuse(block.faults[number])
            else:
                yield number, line


def _read_glove(path: str, wanted: frozenset[str] | None, on_bad: OnBad) -> VectorEntries:
    entries = VectorEntries(0, wanted, on_bad=on_bad)
    lines = _numbered_lines(path, entries)
    sample = list(islice(lines, _NUM_SAMPLED))
    if not sample:
        raise InputError("is empty", source=path)
    entries.size = _width([line for _, line in sample])
    if not 0 < entries.size <= LARGEST_SIZE:
        message = "expected word vectors: a word and its numbers, separated by spaces"
        raise InputError(message, source=path, row=1)
    for row, line in chain(sample, lines):
        _add_line(line, row, entries, path)
    return entries


def _width(lines: Sequence[str]) -> int:
    """The number of values in most rows; one row may mislead, as words may contain spaces.

    >>> _width([". . . 0.1 0.2", "the 0.3 0.4"])
    2
    """
    widths = Counter(min(_trailing_numbers(line), line.rstrip(" ").count(" ")) for line in lines)
    most = max(widths.values())
    return min(width for width, count in widths.items() if count == most)


def _trailing_numbers(line: str) -> int:
    count = 0
    for part in reversed(line.rstrip(" ").split(" ")):
        try:
            float(part)
        except ValueError:
            break
        count += 1
    return count


def _read_text(
    lines: Iterator[tuple[int, str]], num_words: int, entries: VectorEntries, path: str
) -> None:
    next(lines)  # the header
    row = 1
    for row, line in lines:
        if row - 1 > num_words:
            message = f"the header promises {num_words:,} words, found more"
            raise InputError(message, source=path, row=row)
        _add_line(line, row, entries, path)
    row = max(row, entries.last_bad)
    if row - 1 < num_words:
        message = f"the header promises {num_words:,} words, found {row - 1:,} (truncated?)"
        raise InputError(message, source=path, row=row)


def _add_line(line: str, row: int, entries: VectorEntries, path: str) -> None:
    """Add a line if its word is wanted; the number of columns is always checked."""
    if line.endswith((" ", "\t")):  # the original word2vec ends its rows with a space
        line = line.rstrip(" \t")
    size = entries.size
    num_parts = line.count(" ")
    if num_parts < size:
        message = f'expected {size} numbers after a word, found {num_parts} ("{line[:40]}")'
        return entries.refuse(InputError(message, source=path, row=row))
    word = line.partition(" ")[0] if num_parts == size else line.rsplit(" ", size)[0]
    if not entries.wants(word):
        return None
    num_before = len(entries.numbers)
    try:
        entries.numbers.extend(map(float, line[len(word) + 1 :].split(" ")))
    except ValueError as error:
        found = min(_trailing_numbers(line), size)
        message = f'expected {size} numbers after "{word[:40]}", found {found} ({error})'
        del entries.numbers[num_before:]
        return entries.refuse(InputError(message, source=path, row=row))
    return entries.name(word, row)


def _read_binary(
    stream: IO[bytes], buffer: bytes, num_words: int, entries: VectorEntries, path: str
) -> None:
    """Read rows of a word, a space and little-endian float32, with or without a line end."""
    num_bytes, place = 4 * entries.size, 0
    for row in range(1, num_words + 1):
        while (space := buffer.find(b" ", place)) < 0 or len(buffer) < space + 1 + num_bytes:
            if space < 0 and len(buffer) - place > _LONGEST_WORD:
                raise InputError("no word found where one should be", source=path, row=row)
            data = read_block(stream, source=path, row=row)
            if not data:
                message = f"the file breaks off here; its header promises {num_words:,} words"
                raise InputError(message, source=path, row=row)
            buffer, place = buffer[place:] + data, 0
        _add_packed(buffer[place:space], buffer[space + 1 : space + 1 + num_bytes], row, entries)
        place = space + 1 + num_bytes
    if buffer[place:].strip() or read_block(stream, source=path, row=num_words).strip():
        message = f"the header promises {num_words:,} words, found more"
        raise InputError(message, source=path, row=num_words + 1)


def _add_packed(name: bytes, packed: bytes, row: int, entries: VectorEntries) -> None:
    try:
        word = name.removeprefix(b"\n").decode()
    except UnicodeDecodeError:
        return
    if entries.wants(word):
        numbers = array("f", packed)
        if sys.byteorder == "big":
            numbers.byteswap()
        entries.numbers.extend(numbers)
        entries.name(word, row)


Form: TypeAlias = Literal["glove", "word2vec", "word2vec-binary"]


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Words and their vectors, in the order of the file.

    Attributes:
        words: The words, each once.
        matrix: Their vectors, float32 of shape [words, width].
    """

    words: list[str]
    matrix: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise ValueError(
                f"matrix must be [{len(self.words)}, width] for {len(self.words)} words, "
                f"got {list(self.matrix.shape)}"
            )

    @property
    def size(self) -> int:
        """The width of a vector."""
        return int(self.matrix.shape[1])


def read_vectors(
    path: str | PathLike[str], *, keep: Collection[str] | None = None, on_bad: OnBad = None
) -> VectorTable:
    """Read word vectors of GloVe, word2vec (text or binary) or fastText, plain or compressed.

    The format is recognised by content. Of a word that appears twice, the first counts. In the
    binary formats, words that were cut inside a character (by the original tools) are skipped.

    Args:
        path: The file.
        keep: Words to keep; others are dropped while reading, so that memory holds only these.
        on_bad: Takes each bad row of a text file instead of its error being raised.

    Raises:
        InputError: For a damaged row, named by its number, and for a truncated file.
    """
    return read_vectors_and_ngrams(path, keep=keep, on_bad=on_bad)[0]


def read_vectors_and_ngrams(
    path: str | PathLike[str], *, keep: Collection[str] | None = None, on_bad: OnBad = None
) -> tuple[VectorTable, FastTextVectors | None]:
    """The same, and what a fastText file holds besides; None for files of other tools."""
    source = fspath(path)
    wanted = None if keep is None else frozenset(keep)
    entries = read_entries(source, wanted, on_bad)
    if isinstance(entries, FastTextVectors):
        return VectorTable(entries.words, entries.matrix), entries
    matrix = np.frombuffer(entries.numbers, dtype=np.float32).reshape(-1, entries.size)
    bad = _infinite(matrix, entries, source)
    if not bad:
        return VectorTable(entries.words, matrix), None
    words = [word for place, word in enumerate(entries.words) if place not in bad]
    return VectorTable(words, np.delete(matrix, sorted(bad), axis=0)), None


def write_vectors(path: str | PathLike[str], vectors: VectorTable, *, form: Form) -> None:
    """Write word vectors atomically, in a format that `read_vectors` and other tools read.

    Args:
        path: The file; an ending in .gz, .xz or .bz2 compresses it.
        vectors: What to write.
        form: `"glove"` (text), `"word2vec"` (text with a header) or `"word2vec-binary"`.

    Raises:
        InputError: For a word that the format cannot hold, such as one with a line end.
    """
    if form not in ("glove", "word2vec", "word2vec-binary"):
        raise ValueError(f"form must be glove, word2vec or word2vec-binary, got {form!r}")
    binary = form == "word2vec-binary"
    matrix = np.ascontiguousarray(vectors.matrix, dtype="<f4")
    with write_atomically(path, "wb") as handle:
        if form != "glove":
            handle.write(f"{len(vectors.words)} {vectors.size}\n".encode())
        for row, (word, vector) in enumerate(zip(vectors.words, matrix, strict=True), 1):
            _refuse_word(word, binary=binary, source=path, row=row)
            numbers = vector.tobytes() if binary else " ".join(map(str, vector)).encode()
            handle.write(word.encode() + b" " + numbers + b"\n")


def _infinite(matrix: npt.NDArray[np.float32], entries: VectorEntries, source: str) -> set[int]:
    """The places of vectors that hold a number that is not finite; the first one is refused."""
    # A sum is not finite if any part is not; testing it needs no second matrix.
    with np.errstate(all="ignore"):
        suspects = np.flatnonzero(~np.isfinite(matrix.sum(axis=1, dtype=np.float64)))
    for index in suspects:
        word = entries.words[index]
        message = f'the vector of "{word}" holds a number that is not finite'
        entries.refuse(InputError(message, source=source, row=entries.rows[index]))
    return set(suspects.tolist())


def _refuse_word(word: str, *, binary: bool, source: str | PathLike[str], row: int) -> None:
    forbidden = " \n" if binary else "\n\r"
    try:
        word.encode()
    except UnicodeEncodeError as error:
        message = f"the word {word!r} is not valid text"
        raise InputError(message, source=source, row=row) from error
    if not word.strip(" ") or "\0" in word or any(mark in word for mark in forbidden):
        raise InputError(f"this form cannot hold the word {word!r}", source=source, row=row)
