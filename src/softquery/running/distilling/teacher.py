"""A teacher's vectors: computed once, in shards on the disk, and turned to the student's width.

N texts, D the teacher's width, E the student's.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import write_atomically
from softquery.errors import ConfigError, InputError
from softquery.plain_files import check_plain
from softquery.running.run_options import Say

Floats = NDArray[np.float32]
SHARD = 4096
"""Texts of a shard: what is lost, at most, when a run is killed."""
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
        try:
            check_plain(path)
            self.matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"cannot be read as a matrix ({reason})", source=path) from None
        except Exception as error:  # a forged header can bring about anything
            raise InputError(f"cannot be read as a matrix ({error})", source=path) from None
        if not isinstance(self.matrix, np.ndarray):
            raise InputError("is an archive; expected one matrix, as .npy", source=path)
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f" or not self.matrix.size:
            raise InputError(
                f"expected a matrix of numbers, one row per text; "
                f"found {self.matrix.dtype} {list(self.matrix.shape)}",
                source=path,
            )
        if self.matrix.shape[1] > WIDEST:
            raise InputError(
                f"expected vectors of at most {WIDEST:,} numbers, found {self.matrix.shape[1]:,}",
                source=path,
            )
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


def write_shards(teacher: Teacher, given: DistinctTexts, folder: Path, size: int, say: Say) -> None:
    """Write the vectors of all texts, shard by shard; those that are there stay as they are.

    Args:
        teacher: Whose vectors.
        given: The texts.
        folder: Where the shards go.
        size: The width E of the student's vectors, which the teacher's must have at least.
        say: Receives a line now and then.
    """
    texts = given.texts
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(texts), SHARD)
    missing = [start for start in starts if not shard_path(folder, start).exists()]
    if len(missing) < len(starts):
        say(f"{len(starts) - len(missing):,} of {len(starts):,} shards of vectors are there")
    for done, start in enumerate(missing, 1):
        vectors = teacher.vectors(given, slice(start, start + SHARD))
        if vectors.shape[1] < size:
            raise ConfigError(
                f"model.output_size is {size}, but the teacher's vectors have {vectors.shape[1]} "
                "numbers"
            )
        _write(shard_path(folder, start), checked(vectors, start).astype(np.float16))
        if done % 25 == 0 or done == len(missing):
            say(f"teacher: {min(start + SHARD, len(texts)):,} of {len(texts):,} texts")


def shard_path(folder: Path, start: int) -> Path:
    """Where the vectors of the texts from `start` on lie."""
    return folder / f"{start // SHARD:06d}.npy"


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
    for start, vectors in _shards(folder, num_texts):
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
    for start, vectors in _shards(folder, num_texts):
        turned = vectors.astype(np.float32) @ axes
        lengths = np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), SMALLEST)
        matrix[start : start + len(turned)] = turned / lengths
    _write(output, matrix)


def _shards(folder: Path, num_texts: int) -> Iterator[tuple[int, NDArray[np.float16]]]:
    for start in range(0, num_texts, SHARD):
        yield start, np.load(shard_path(folder, start), allow_pickle=False)


def _write(path: Path, array: NDArray[Any]) -> None:
    with write_atomically(path, "wb") as file:
        np.save(file, array, allow_pickle=False)
