"""fastText's binary files (Bojanowski et al., 2017): words, and vectors of character n-grams.

A `.bin` file is: a magic number and a version, twelve settings, a dictionary, the input matrix with
a row per word and a row per bucket of n-grams, and an output matrix, which is not read. All numbers
are little-endian. Nothing is allocated before the bytes for it were read, so that a forged header
costs nothing.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from softquery.errors import InputError
from softquery.files.text_lines import read_block
from softquery.text import ngram_buckets

Floats = npt.NDArray[np.float32]
MAGIC = struct.pack("<i", 793_712_314)
LARGEST_SIZE = 1 << 16
"""The widest vector."""
LONGEST_WORD = 1 << 16
"""The most bytes of a word."""
LONGEST_NGRAM = 100
_VERSIONS = (11, 12)
_SUPERVISED = 3
_HEAD = struct.Struct("<i12id")
_DICTIONARY = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
_SIZES = struct.Struct("<?2q")


class NgramSettings(NamedTuple):
    """Which n-grams a word has."""

    shortest: int
    longest: int
    num_buckets: int

    def buckets(self, word: str) -> list[int]:
        """The buckets of a word's n-grams; none where there are no n-grams."""
        if not self.num_buckets or not self.longest:
            return []
        return ngram_buckets(
            word, shortest=self.shortest, longest=self.longest, num_buckets=self.num_buckets
        )


@dataclass(frozen=True, slots=True)
class FastTextVectors:
    """The words of a fastText file.

    Attributes:
        words: In the order of the file, most frequent first; those that are not UTF-8 are left out.
        counts: How often each was seen.
        matrix: Their vectors: the mean of a word's own row and of its n-grams' rows.
        settings: Which n-grams a word has.
        ngrams: A row per bucket; empty where the file has none.
    """

    words: list[str]
    counts: npt.NDArray[np.int64]
    matrix: Floats
    settings: NgramSettings
    ngrams: Floats


def read_fasttext(
    stream: IO[bytes], start: bytes, path: str, wanted: frozenset[str] | None = None
) -> FastTextVectors:
    """Read a file that begins with `MAGIC`.

    Args:
        stream: The file, behind `start`.
        start: What was read of it already.
        path: For errors.
        wanted: Words to keep; None for all.

    Raises:
        InputError: The file is damaged, quantised, or holds a classifier.
    """
    source = _Bytes(stream, start, path)
    size, settings = _read_settings(source)
    names, counts, num_rows = _read_words(source)
    is_quantised, rows, width = source.unpack(_SIZES)
    if is_quantised:
        raise source.error("is a quantised fastText model (.ftz); only .bin files are read")
    if (rows, width) != (num_rows + settings.num_buckets, size):
        raise source.error(
            f"the header promises {num_rows:,} words and {settings.num_buckets:,} buckets of "
            f"{size} numbers, but the matrix is said to be {rows:,} × {width:,}"
        )
    own = source.matrix(num_rows, size, "words")
    ngrams = source.matrix(settings.num_buckets, size, "n-grams")
    _refuse_infinite(own, "words", source.error)
    _refuse_infinite(ngrams, "n-grams", source.error)
    if not settings.longest:
        settings, ngrams = NgramSettings(0, 0, 0), ngrams[:0]
    kept = _kept(names, wanted)
    words = list(kept)
    places = np.array(list(kept.values()), dtype=np.int64)
    matrix = _averaged(words, own[places], settings, ngrams)
    return FastTextVectors(words, counts[places], matrix, settings, ngrams)


def _read_settings(source: "_Bytes") -> tuple[int, NgramSettings]:
    """The width of a vector, and which n-grams there are."""
    source.skip(len(MAGIC))
    version, size, *rest = source.unpack(_HEAD)
    model, num_buckets, shortest, longest = rest[6:10]
    if version not in _VERSIONS:
        raise source.error(f"fastText's version {version} is not known (known: 11 and 12)")
    if not 0 < size <= LARGEST_SIZE:
        raise source.error(f"the header's width is {size:,}")
    if model == _SUPERVISED:
        raise source.error("is a fastText classifier; expected vectors of skip-gram or cbow")
    if num_buckets < 0 or not 0 <= shortest <= max(longest, shortest) <= LONGEST_NGRAM:
        raise source.error(
            f"the header says {num_buckets:,} buckets for n-grams of {shortest} to {longest} "
            "characters"
        )
    if longest < max(1, shortest):  # fastText then makes no n-grams
        return size, NgramSettings(0, 0, num_buckets)
    return size, NgramSettings(max(1, shortest), longest, num_buckets)


def _read_words(source: "_Bytes") -> tuple[list[bytes], npt.NDArray[np.int64], int]:
    """The words as bytes, how often each was seen, and how many there are."""
    num_entries, num_words, num_labels, _, num_pruned = source.unpack(_DICTIONARY)
    if num_words < 1 or num_labels != 0 or num_entries != num_words or num_pruned > 0:
        raise source.error(
            f"the header says {num_entries:,} entries: {num_words:,} words, {num_labels:,} labels, "
            f"{num_pruned:,} pruned; expected words alone"
        )
    names, counts = [], []
    for number in range(1, num_words + 1):
        names.append(source.word(number))
        count, kind = source.unpack(_ENTRY)
        if kind != 0 or count < 0:
            raise source.error(f"entry {number:,} is not a word with a count")
        counts.append(count)
    return names, np.array(counts, dtype=np.int64), num_words


def _kept(names: Iterable[bytes], wanted: frozenset[str] | None) -> dict[str, int]:
    """Each word with its place; of one that appears twice, the first counts."""
    kept: dict[str, int] = {}
    for place, name in enumerate(names):
        try:
            word = name.decode()
        except UnicodeDecodeError:
            continue
        if word and word not in kept and (wanted is None or word in wanted):
            kept[word] = place
    return kept


def _averaged(words: list[str], own: Floats, settings: NgramSettings, ngrams: Floats) -> Floats:
    """The mean of each word's own row and of its n-grams' rows, as gensim computes it.

    fastText itself gives `</s>`, the end of a line, no n-grams.
    """
    matrix: Floats = own.copy()
    for place, word in enumerate(words):
        buckets = settings.buckets(word)
        if buckets:
            summed = own[place] + ngrams[buckets].sum(axis=0)
            matrix[place] = summed / (len(buckets) + 1)
    return matrix


def _refuse_infinite(matrix: Floats, noun: str, error: Callable[[str], InputError]) -> None:
    with np.errstate(all="ignore"):
        is_sound = np.isfinite(matrix.sum(axis=1, dtype=np.float64)).all()
    if not is_sound:
        raise error(f"the vectors of {noun} hold a number that is not finite")


class _Bytes:
    """A stream that is read piece by piece; one that ends too early is refused."""

    def __init__(self, stream: IO[bytes], start: bytes, path: str) -> None:
        self._stream, self._buffer, self._path = stream, start, path
        self._place = 0

    def error(self, message: str) -> InputError:
        return InputError(message, source=self._path)

    def skip(self, count: int) -> None:
        self._place += count

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        self._need(form.size, "its header")
        found = form.unpack_from(self._buffer, self._place)
        self._place += form.size
        return found

    def word(self, number: int) -> bytes:
        while (end := self._buffer.find(b"\0", self._place)) < 0:
            if len(self._buffer) - self._place > LONGEST_WORD:
                raise self.error(f"no word found where word {number:,} should be")
            self._more(f"word {number:,}")
        found = self._buffer[self._place : end]
        self._place = end + 1
        return found

    def matrix(self, num_rows: int, size: int, noun: str) -> Floats:
        """So many rows; memory grows with what is read."""
        if not num_rows:
            return np.empty((0, size), dtype=np.float32)
        missing = 4 * num_rows * size
        found = bytearray(self._buffer[self._place : self._place + missing])
        self._place += len(found)
        missing -= len(found)
        while missing:
            data = read_block(self._stream, source=self._path, row=None)
            if not data:
                there = len(found) // (4 * size)
                raise self.error(
                    f"breaks off after the vectors of {there:,} of {num_rows:,} {noun}"
                )
            found += data[:missing]
            self._buffer, self._place = data, min(missing, len(data))
            missing -= self._place
        numbers: Floats = np.frombuffer(found, dtype="<f4").astype(np.float32, copy=False)
        return numbers.reshape(num_rows, size)

    def _need(self, count: int, told: str) -> None:
        while len(self._buffer) - self._place < count:
            self._more(told)

    def _more(self, told: str) -> None:
        data = read_block(self._stream, source=self._path, row=None)
        if not data:
            raise self.error(f"breaks off in {told}")
        self._buffer, self._place = self._buffer[self._place :] + data, 0
