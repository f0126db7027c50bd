"""Pretrained word vectors in the forms of GloVe and word2vec, streamed.

GloVe (Pennington et al., 2014) writes a word and its numbers a line; word2vec (Mikolov et al.,
2013) puts a line with the number of words and the width before them, and has a binary form too.
"""

from collections.abc import Collection
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from softquery.atomic import write_whole
from softquery.errors import InputError
from softquery.files.vector_forms import VectorEntries, read_entries

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


def read_vectors(path: str | PathLike[str], *, keep: Collection[str] | None = None) -> VectorTable:
    """Read word vectors: GloVe text, word2vec text or word2vec binary, plain or compressed.

    The form is told from the content. Where a word appears twice, the first counts. In the binary
    form, words that were cut inside a character (the original tool does so) are passed over.

    Args:
        path: The file.
        keep: Words to keep; the others are dropped on the way, so that memory holds only these.

    Raises:
        InputError: For a damaged row, named by its number, and for a truncated file.
    """
    source = fspath(path)
    wanted = None if keep is None else frozenset(keep)
    entries = read_entries(source, wanted)
    matrix = np.frombuffer(entries.numbers, dtype=np.float32).reshape(-1, entries.size)
    _refuse_infinite(matrix, entries, source)
    return VectorTable(entries.words, matrix)


def write_vectors(path: str | PathLike[str], vectors: VectorTable, *, form: Form) -> None:
    """Write word vectors whole, in a form that `read_vectors` and other tools read.

    Args:
        path: The file; an ending in .gz, .xz or .bz2 compresses it.
        vectors: What to write.
        form: `"glove"` (text), `"word2vec"` (text with a header) or `"word2vec-binary"`.

    Raises:
        InputError: For a word that the form cannot hold, such as one with a line end.
    """
    if form not in ("glove", "word2vec", "word2vec-binary"):
        raise ValueError(f"form must be glove, word2vec or word2vec-binary, got {form!r}")
    binary = form == "word2vec-binary"
    matrix = np.ascontiguousarray(vectors.matrix, dtype="<f4")
    with write_whole(path, "wb") as handle:
        if form != "glove":
            handle.write(f"{len(vectors.words)} {vectors.size}\n".encode())
        for row, (word, vector) in enumerate(zip(vectors.words, matrix, strict=True), 1):
            _refuse_word(word, binary=binary, source=path, row=row)
            numbers = vector.tobytes() if binary else " ".join(map(str, vector)).encode()
            handle.write(word.encode() + b" " + numbers + b"\n")


def _refuse_infinite(matrix: npt.NDArray[np.float32], entries: VectorEntries, source: str) -> None:
    # A sum is not finite where any part is not; it needs no second matrix to find out.
    with np.errstate(all="ignore"):
        suspects = np.flatnonzero(~np.isfinite(matrix.sum(axis=1, dtype=np.float64)))
    for index in suspects:
        word = entries.words[index]
        message = f'the vector of "{word}" holds a number that is not finite'
        raise InputError(message, source=source, row=entries.rows[index])


def _refuse_word(word: str, *, binary: bool, source: str | PathLike[str], row: int) -> None:
    forbidden = " \n" if binary else "\n\r"
    try:
        word.encode()
    except UnicodeEncodeError as error:
        message = f"the word {word!r} is not valid text"
        raise InputError(message, source=source, row=row) from error
    if not word.strip(" ") or "\0" in word or any(mark in word for mark in forbidden):
        raise InputError(f"this form cannot hold the word {word!r}", source=source, row=row)
