"""What a teacher says, computed once, in shards on the disk; vectors turned to the student's width.

N texts, D the teacher's width, E the student's.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import write_atomically
from softquery.errors import ConfigError, InputError
from softquery.plain_files import check_plain
from softquery.running.run_options import Say

Floats = NDArray[np.float32]
Parts = Callable[[Iterable[slice]], Iterator[tuple[slice, NDArray[Any]]]]
"""Parts of all rows to what is computed of each; they may come in any order."""
Halves = NDArray[np.float16]
SHARD = 4096
"""Texts or pairs of a shard: what is lost, at most, when a run is killed."""
SECONDS = 15.0
"""Between two lines about how far the teacher is."""
SAMPLED = 100_000
"""Texts by which the principal axes are found."""
WIDEST = 1 << 16
"""Numbers of a vector in a file; a shard of them is held in memory."""
SMALLEST = 1e-6
"""A vector shorter than that has no direction."""


class DistinctTexts(NamedTuple):
    """Every text once."""

    texts: list[str]
    places: list[int]
    """Where each of them stands among all texts that were read, repeated ones included."""
    num_read: int


class Teacher(Protocol):
    """Whoever gives texts the vectors that are learnt."""

    @property
    def files(self) -> Sequence[Path]:
        """What a resumed run must find unchanged."""

    @property
    def vocabulary(self) -> Sequence[str] | None:
        """Its sub-words in BERT's notation; None where it has none."""

    def vectors(self, given: DistinctTexts, part: slice) -> Floats:
        """Vectors [N, D] of a part of the texts, of any length."""

    def encode(self, texts: Sequence[str]) -> Floats | None:
        """Vectors [N, D] of any other texts; None where there are none but those of a file."""


class VectorFile:
    """A file of vectors as a teacher: row i is the vector of the i-th text that is not blank.

    Args:
        path: A matrix in .npy.
    """

    def __init__(self, path: Path) -> None:
        self.matrix = read_matrix(path, "text")
        self.path, self.files = path, [path]
        self.vocabulary = None

    def vectors(self, given: DistinctTexts, part: slice) -> Floats:
        """The rows of a part of the texts; there must be one for each text that was read."""
        if len(self.matrix) != given.num_read:
            raise InputError(
                f"holds {len(self.matrix):,} vectors for {given.num_read:,} texts; "
                "expected one each",
                source=self.path,
            )
        return np.asarray(self.matrix[given.places[part]], dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Floats | None:
        """Nothing: a file has no vectors of other texts."""
        return None


def read_matrix(path: Path, noun: str) -> NDArray[Any]:
    """A matrix of numbers in .npy, mapped into memory.

    Args:
        path: The file.
        noun: What a row belongs to.
    """
    try:
        check_plain(path)
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read as a matrix ({reason})", source=path) from None
    except Exception as error:  # a forged header can bring about anything
        raise InputError(f"cannot be read as a matrix ({error})", source=path) from None
    if not isinstance(matrix, np.ndarray):
        raise InputError("is an archive; expected one matrix, as .npy", source=path)
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise InputError(
            f"expected a matrix of numbers, one row per {noun}; "
            f"found {matrix.dtype} {list(matrix.shape)}",
            source=path,
        )
    if matrix.shape[1] > WIDEST:
        raise InputError(
            f"expected rows of at most {WIDEST:,} numbers, found {matrix.shape[1]:,}",
            source=path,
        )
    return matrix


class JoinedTeachers:
    """Several teachers as one: their vectors side by side, so that a cosine is the mean of theirs.

    Args:
        teachers: At least one; the first that has sub-words lends them to the student.
        weights: How much each counts in the mean; None for all alike.
    """

    def __init__(self, teachers: Sequence[Teacher], weights: Sequence[float] | None = None) -> None:
        self._teachers = list(teachers)
        self._scales = [weight**0.5 for weight in weights or [1.0] * len(self._teachers)]
        self.files = [path for each in teachers for path in each.files]

    @property
    def vocabulary(self) -> Sequence[str] | None:
        """The sub-words of the first teacher that has some."""
        found = (each.vocabulary for each in self._teachers)
        return next((each for each in found if each is not None), None)

    def vectors(self, given: DistinctTexts, part: slice) -> Floats:
        """Vectors of a part of the texts, each teacher's of length one."""
        first = range(len(given.texts))[part].start
        return self._joined([checked(each.vectors(given, part), first) for each in self._teachers])

    def encode(self, texts: Sequence[str]) -> Floats | None:
        """Vectors of any texts; None where one of the teachers has none."""
        found = [each.encode(texts) for each in self._teachers]
        known = [checked(each, 0) for each in found if each is not None]
        return self._joined(known) if len(known) == len(found) else None

    def _joined(self, parts: Sequence[Floats]) -> Floats:
        scaled = [scale * part for scale, part in zip(self._scales, parts, strict=True)]
        side_by_side: Floats = np.concatenate(scaled, axis=1)
        return side_by_side


def one_by_one(compute: Callable[[slice], NDArray[Any]]) -> Parts:
    """Parts in their order, each with what is computed of it in this process.

    >>> list(one_by_one(lambda part: np.zeros(part.stop))([slice(0, 2)]))
    [(slice(0, 2, None), array([0., 0.]))]
    """
    return lambda parts: ((part, compute(part)) for part in parts)


def write_shards(compute: Parts, count: int, folder: Path, say: Say, *, noun: str) -> None:
    """Write what a teacher says, shard by shard; shards that are there stay as they are.

    Args:
        compute: What it says of some parts, one row each.
        count: How many rows there are in all.
        folder: Where the shards go.
        say: Receives a line now and then.
        noun: What a row belongs to, in the plural.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, count, SHARD)
    missing = [start for start in starts if not shard_path(folder, start).exists()]
    if len(missing) < len(starts):
        say(f"{len(starts) - len(missing):,} of {len(starts):,} shards of the teacher are there")
    began = told = time.monotonic()
    there = count - sum(min(SHARD, count - start) for start in missing)
    found = compute(slice(start, start + SHARD) for start in missing)
    for done, (part, array) in enumerate(found, 1):
        write_array(shard_path(folder, part.start), array)
        now, there = time.monotonic(), there + len(array)
        if now - told > SECONDS or done == len(missing):
            pace = min(done * SHARD, count) / max(now - began, 1e-9)
            say(f"teacher: {there:,} of {count:,} {noun} ({pace:,.0f} per second)")
            told = now


def shard_path(folder: Path, start: int) -> Path:
    """Where the rows from `start` on lie."""
    return folder / f"{start // SHARD:06d}.npy"


def read_shards(folder: Path, count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Every shard, with the number of its first row."""
    for start in range(0, count, SHARD):
        yield start, np.load(shard_path(folder, start), allow_pickle=False)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array, whole or not at all."""
    with write_atomically(path, "wb") as file:
        np.save(file, array, allow_pickle=False)


def vectors_of_part(teacher: Teacher, given: DistinctTexts, size: int, part: slice) -> Halves:
    """What a shard holds: a part's vectors, of length one.

    Args:
        teacher: Whose vectors.
        given: All texts.
        size: The width E of the student's vectors, which the teacher's must have at least.
        part: Of the texts.
    """
    vectors = teacher.vectors(given, part)
    if vectors.shape[1] < size:
        raise ConfigError(
            f"model.output_size is {size}, but the teacher's vectors have {vectors.shape[1]} "
            "numbers"
        )
    halves: Halves = checked(vectors, part.start).astype(np.float16)
    return halves


def checked(vectors: Floats, start: int) -> Floats:
    """Vectors of length one, refused where one has no direction.

    >>> checked(np.array([[3.0, 4.0]], dtype=np.float32), 0).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    lengths = np.linalg.norm(vectors, axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths < SMALLEST))
    if len(bad):
        raise InputError(
            f"its vector of text {start + int(bad[0]) + 1:,} is not finite or is zero; "
            "expected numbers with a direction",
            source="the teacher",
        )
    unit: Floats = (vectors / lengths[:, None]).astype(np.float32)
    return unit


def principal_axes(folder: Path, num_texts: int, size: int, seed: int) -> Floats:
    """The axes [D, E] along which the vectors are longest, from a seeded sample of them.

    They are not centred, so that cosines are kept as well as E numbers can; the first numbers carry
    the most, which is what lets a vector be cut.
    """
    rows = np.random.default_rng(seed).permutation(num_texts)[:SAMPLED]
    rows.sort()
    moment: Any = 0.0
    for start, vectors in read_shards(folder, num_texts):
        chosen = rows[(rows >= start) & (rows < start + len(vectors))] - start
        some = vectors[chosen].astype(np.float64)
        moment = moment + some.T @ some
    _, axes = np.linalg.eigh(moment)
    turned = axes[:, ::-1][:, :size]
    # An axis may point either way; its largest part decides, so that all machines agree.
    signs = np.sign(turned[np.abs(turned).argmax(axis=0), np.arange(size)])
    found: Floats = (turned * signs).astype(np.float32)
    return found


def write_targets(folder: Path, axes: Floats, num_texts: int, output: Path) -> None:
    """Write what the student learns: the vectors along the axes, of length one, as one matrix."""
    matrix = np.empty((num_texts, axes.shape[1]), dtype=np.float16)
    for start, vectors in read_shards(folder, num_texts):
        turned = vectors.astype(np.float32) @ axes
        lengths = np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), SMALLEST)
        matrix[start : start + len(turned)] = turned / lengths
    write_array(output, matrix)
