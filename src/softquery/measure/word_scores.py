"""How good word vectors are: analogies, and the plane of their principal components."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

_TOGETHER = 256
"""How many questions share one matrix product."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalogyScore:
    """How many analogies of a section were answered right."""

    name: str
    num_right: int
    n: int
    """Questions of which all four words have vectors."""
    num_unknown: int
    """Questions with a word without a vector, which are not counted."""

    @property
    def accuracy(self) -> float | None:
        """The share that is right; None where no question could be answered."""
        return self.num_right / self.n if self.n else None

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "accuracy": self.accuracy,
            "right": self.num_right,
            "n": self.n,
            "unknown": self.num_unknown,
        }


def unit_rows(matrix: Floats) -> Floats:
    """Rows scaled to length one; a row of zeros stays as it is.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.maximum(lengths, 1e-12), dtype=np.float32)


def answer_analogies(unit: Floats, questions: Ids) -> Ids:
    """The row nearest to `second - first + third` for each question, excluding these three.

    This is 3CosAdd (Levy & Goldberg 2014, Equation 1; Mikolov et al. 2013a, Section 4).

    Args:
        unit: Vectors of length one; all of them are possible answers.
        questions: The rows of first, second and third word: [N, 3].
    """
    answers = np.empty(len(questions), dtype=np.int64)
    for start in range(0, len(questions), _TOGETHER):
        part = questions[start : start + _TOGETHER]
        wanted = unit[part[:, 1]] - unit[part[:, 0]] + unit[part[:, 2]]
        scores = wanted @ unit.T
        np.put_along_axis(scores, part, -np.inf, axis=1)
        answers[start : start + len(part)] = scores.argmax(axis=1)
    return answers


def sum_scores(scores: Sequence[AnalogyScore], name: str) -> AnalogyScore:
    """The total of all sections, each question counting once."""
    return AnalogyScore(
        name=name,
        num_right=sum(score.num_right for score in scores),
        n=sum(score.n for score in scores),
        num_unknown=sum(score.num_unknown for score in scores),
    )


GRAMMAR = "gram"
"""How the names of the sections on grammar begin in `questions-words.txt`."""


def score_groups(scores: Sequence[AnalogyScore]) -> list[AnalogyScore]:
    """Meaning and grammar apart, where a test set tells them apart (2013a, Table 1).

    In `questions-words.txt` five sections ask for facts and kinship (*semantic*), nine, whose names
    begin with `gram`, for forms of words (*syntactic*). Other sets have no groups.

    >>> family = AnalogyScore(name="family", num_right=1, n=2, num_unknown=0)
    >>> plural = AnalogyScore(name="gram8-plural", num_right=3, n=3, num_unknown=1)
    >>> [(group.name, group.accuracy) for group in score_groups([family, plural])]
    [('semantic', 0.5), ('syntactic', 1.0)]
    >>> score_groups([family])
    []
    """
    grammar = [score for score in scores if score.name.startswith(GRAMMAR)]
    meaning = [score for score in scores if not score.name.startswith(GRAMMAR)]
    if not grammar or not meaning:
        return []
    return [sum_scores(meaning, "semantic"), sum_scores(grammar, "syntactic")]


def principal_plane(matrix: Floats) -> Floats:
    """Points in the plane in which the rows differ most (principal components 1 and 2).

    Each axis points towards the first row, so that equal input gives equal pictures.

    >>> flat = np.array([[0, 0, 5], [2, 0, 5], [4, 0, 5], [2, 1, 5], [2, -1, 5]], dtype=np.float32)
    >>> principal_plane(flat).round(4).tolist()[2:4]
    [[-2.0, 0.0], [0.0, 1.0]]
    """
    centred = matrix.astype(np.float64) - matrix.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    points = centred @ axes[:2].T
    if points.shape[1] < 2:  # vectors of width one lie on a line
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    is_off = np.abs(points) > 1e-4 * np.abs(points).max(axis=0)  # a row at zero has no sign
    first = points[is_off.argmax(axis=0), [0, 1]]
    turned = points * np.where(first < 0, -1.0, 1.0)
    # Rounded, so that the sign of a rounding error around zero does not show.
    return np.asarray(turned.round(6) + 0.0, dtype=np.float32)
