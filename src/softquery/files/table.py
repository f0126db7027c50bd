"""An embedding table filled from pretrained vectors, and the coverage of its vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
import numpy.typing as npt

from softquery.errors import InputError
from softquery.files.vector_files import VectorTable, read_vectors

_NUM_MISSING_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many words of a vocabulary have a vector in a file.

    >>> print(Coverage(num_words=4, num_found=3, share=0.75, missing=("esim",)))
    3 of 4 words found (75.0 %); missing: esim
    """

    num_words: int
    num_found: int
    share: float
    missing: tuple[str, ...]
    """The first words that were not found, in the order of the vocabulary."""

    def __str__(self) -> str:
        found = f"{self.num_found:,} of {self.num_words:,} words found ({100 * self.share:.1f} %)"
        more = self.num_words - self.num_found - len(self.missing)
        shown = [*self.missing, *([f"and {more:,} more"] if more > 0 else [])]
        return f"{found}; missing: {', '.join(shown)}" if shown else found


def fill_table(
    vocabulary: Sequence[str],
    files: Sequence[str | PathLike[str]],
    *,
    size: int | None,
    seed: int,
) -> tuple[npt.NDArray[np.float32], list[Coverage]]:
    """Build the embedding table of a vocabulary from files of word vectors, concatenated.

    A word is looked up as it is, then in lower case. A word that a file lacks gets a random vector
    with the standard deviation of that file's vectors, in the order of the vocabulary, so that the
    table does not depend on the order of the file. Row 0, the padding, is zero.

    Args:
        vocabulary: The words by id; the first is the padding.
        files: Files of vectors; the table is as wide as all of them together.
        size: The expected width. Required without files; every row is then random, with a length
            of about one.
        seed: For the random vectors.

    Returns:
        The table, float32 of shape [vocabulary, width], and the coverage of each file.
    """
    generator = np.random.default_rng(seed)
    if not files and size is None:
        raise ValueError("size is needed where there are no files of vectors")
    parts: list[npt.NDArray[np.float32]] = []
    coverages: list[Coverage] = []
    keep = {*vocabulary, *(word.lower() for word in vocabulary)}
    for file in files:
        part, coverage = _fill(vocabulary, read_vectors(file, keep=keep), generator)
        parts.append(part)
        coverages.append(coverage)
    if not files and size is not None:
        parts = [_draw(generator, len(vocabulary), size, size**-0.5)]
    table = np.concatenate(parts, axis=1)
    if size is not None and table.shape[1] != size:
        widths = " + ".join(str(part.shape[1]) for part in parts)
        message = f"the vectors are {widths} wide, expected {size} in all"
        raise InputError(message, source=", ".join(map(str, files)))
    table[:1] = 0
    return table, coverages


def _fill(
    vocabulary: Sequence[str], vectors: VectorTable, generator: np.random.Generator
) -> tuple[npt.NDArray[np.float32], Coverage]:
    places = {word: place for place, word in enumerate(vectors.words)}
    found = np.array([places.get(w, places.get(w.lower(), -1)) for w in vocabulary], dtype=np.int64)
    found[:1] = -1  # the padding has no vector, even if the file has its word
    known = found >= 0
    rows = vectors.matrix[found[known]]
    # In the order of the vocabulary, so that rounding does not depend on the order of the file.
    deviation = float(rows.std(dtype=np.float64)) if rows.size else vectors.size**-0.5
    # Every row is drawn, so that a word's vector does not depend on which others were found.
    part = _draw(generator, len(vocabulary), vectors.size, deviation)
    part[known] = rows
    return part, _coverage(vocabulary, known)


def _draw(
    generator: np.random.Generator, num_rows: int, size: int, deviation: float
) -> npt.NDArray[np.float32]:
    return generator.normal(0.0, deviation, (num_rows, size)).astype(np.float32)


def _coverage(vocabulary: Sequence[str], known: npt.NDArray[np.bool_]) -> Coverage:
    num_words, num_found = max(len(vocabulary) - 1, 0), int(known.sum())
    missing = [word for word, there in zip(vocabulary[1:], known[1:], strict=True) if not there]
    share = num_found / num_words if num_words else 1.0
    return Coverage(num_words, num_found, share, tuple(missing[:_NUM_MISSING_SHOWN]))
