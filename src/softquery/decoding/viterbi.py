"""The best sequence of labels by dynamic programming (Viterbi 1967).

N sentences, T tokens, L labels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
BATCH = 256
"""How many sentences of similar length are decoded together."""


class Path(NamedTuple):
    """The labels of a sentence, and their total score."""

    labels: list[int]
    score: float


def viterbi(scores: Sequence[Floats], between: Floats, start: Floats, end: Floats) -> list[Path]:
    """The best labels of each sentence; of equal scores, the labels with lower ids.

    Args:
        scores: [T, L] per sentence; T may be 0.
        between: [L, L]: scores of transitions from a label to the next.
        start: [L]: scores of the first label.
        end: [L]: scores of the last label.

    >>> scores = np.array([[1.0, 0.0], [0.0, 0.5]])
    >>> viterbi([scores], np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.zeros(2))
    [Path(labels=[0, 0], score=2.0)]
    """
    order = sorted(range(len(scores)), key=lambda row: len(scores[row]))
    found: list[Path] = [Path([], 0.0)] * len(scores)
    real = [row for row in order if len(scores[row])]
    for first in range(0, len(real), BATCH):
        rows = real[first : first + BATCH]
        paths = _decoded([scores[row] for row in rows], between, start, end)
        for row, path in zip(rows, paths, strict=True):
            found[row] = path
    return found


def _decoded(scores: Sequence[Floats], between: Floats, start: Floats, end: Floats) -> list[Path]:
    lengths = np.array([len(each) for each in scores])
    longest, num_labels = int(lengths.max()), scores[0].shape[1]
    padded = np.zeros((longest, len(scores), num_labels))
    for row, each in enumerate(scores):
        padded[: len(each), row] = each
    best = start + padded[0]  # [N, L]
    came_from = np.zeros((longest, len(scores), num_labels), dtype=np.int32)
    same = np.arange(num_labels, dtype=np.int32)
    for place in range(1, longest):
        ways = best[:, :, None] + between  # [N, L before, L after]
        sources = ways.argmax(axis=1)
        reached = np.take_along_axis(ways, sources[:, None], axis=1)[:, 0] + padded[place]
        goes_on = (place < lengths)[:, None]
        came_from[place] = np.where(goes_on, sources, same)
        best = np.where(goes_on, reached, best)
    total = best + end
    labels = np.empty((longest, len(scores)), dtype=np.int64)
    labels[-1] = total.argmax(axis=1)
    for place in range(longest - 1, 0, -1):
        labels[place - 1] = came_from[place][np.arange(len(scores)), labels[place]]
    return [
        Path(labels[:length, row].tolist(), float(score))
        for row, (length, score) in enumerate(
            zip(lengths.tolist(), total.max(axis=1).tolist(), strict=True)
        )
    ]
