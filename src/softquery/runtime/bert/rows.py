"""Rows of pieces as a BERT takes them, and the shape of what computes. Needs no torch.

B rows, T pieces, C scores.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.tag.decode_tags import Chain

Floats = NDArray[np.float32]
BATCH = 32
"""The most rows that are computed at a time."""
TOKENS = 2048
"""The most pieces of a batch, padding included, unless one row alone has more."""


class BertRow(NamedTuple):
    """`[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`."""

    ids: Sequence[int]
    num_first: int
    """How many of the pieces belong to the first text."""

    @classmethod
    def of(cls, first: Sequence[int], second: Sequence[int] | None = None) -> "BertRow":
        """One text, or two, each between its marks.

        >>> BertRow.of([2, 7, 3], [2, 8, 3])
        BertRow(ids=[2, 7, 3, 8, 3], num_first=3)
        """
        return cls([*first, *(second or ())[1:]], len(first))


class BertNetwork(Protocol):
    """An encoder with a head."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    @property
    def chain(self) -> Chain | None:
        """Scores of tags among themselves, where they are learnt."""

    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""

    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""


def padded(rows: Sequence[BertRow]) -> dict[str, NDArray[Any]]:
    """Rows side by side, zeros behind: `ids`, `segments` and `lengths`.

    >>> padded([BertRow([2, 7, 3, 8, 3], 3), BertRow([2, 3], 2)])["segments"].tolist()
    [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    """
    lengths = np.array([len(row.ids) for row in rows], dtype=np.int32)
    shape = (len(rows), max(1, int(lengths.max(initial=0))))
    ids, segments = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)] = row.ids
        segments[place, row.num_first : len(row.ids)] = 1
    return {"ids": ids, "segments": segments, "lengths": lengths}


def batches(rows: Sequence[BertRow]) -> list[list[int]]:
    """Places of rows of like length together, as many as the limits allow.

    >>> batches([BertRow([1] * size, size) for size in (3, 2000, 1, 3)])
    [[2, 0, 3], [1]]
    """
    found: list[list[int]] = []
    for place in sorted(range(len(rows)), key=lambda place: len(rows[place].ids)):
        batch = found[-1] if found else []
        # The row is as long as any before it, so that the batch grows to its length.
        if not batch or len(batch) == BATCH or (len(batch) + 1) * len(rows[place].ids) > TOKENS:
            found.append([place])
        else:
            batch.append(place)
    return found


def unpadded(answers: Floats, rows: Sequence[BertRow]) -> list[Floats]:
    """The answer of each row of a batch, without what was said of padding."""
    if answers.ndim == 2:
        return list(answers)
    return [each[: len(row.ids)] for each, row in zip(answers, rows, strict=True)]
