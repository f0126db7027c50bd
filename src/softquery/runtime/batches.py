"""Rows of unequal length in batches: which of them share one, and how they are padded.

B rows, T tokens, D width. Needs no torch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = Sequence[Sequence[int]]


def length_batches(
    lengths: Sequence[int], *, most: int, most_tokens: int, enough: int | None = None
) -> list[list[int]]:
    """Rows in batches of like length, the shortest first.

    Args:
        lengths: Of all rows.
        most: Rows of a batch.
        most_tokens: Tokens of a batch, padding included, unless one row alone has more.
        enough: Rows with which a batch ends before a row that is longer than its first, where
            batches without padding are faster. None for batches as large as possible.

    >>> length_batches([9, 2, 9, 3], most=2, most_tokens=100)
    [[1, 3], [0, 2]]
    >>> length_batches([9, 2, 9, 3], most=4, most_tokens=12)
    [[1, 3], [0], [2]]
    >>> length_batches([9, 2, 9, 3], most=4, most_tokens=100, enough=1)
    [[1], [3], [0, 2]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        batch = batches[-1] if batches else []
        # The row is as long as any before it, so that the batch grows to its length.
        is_full = len(batch) == most or (len(batch) + 1) * lengths[row] > most_tokens
        is_enough = enough is not None and len(batch) >= enough
        if not batch or is_full or (is_enough and lengths[row] > lengths[batch[0]]):
            batches.append([row])
        else:
            batch.append(row)
    return batches


def even_batches(lengths: Sequence[int], *, most: int, most_tokens: int) -> list[list[int]]:
    """Rows in as few batches of like length as possible, all of about one size.

    There is an even number of them, so that two threads end together. Where a row is so long that
    `most` of them would be too many tokens, batches are those of `length_batches`.

    >>> [len(batch) for batch in even_batches([16] * 50, most=13, most_tokens=2000)]
    [13, 13, 13, 11]
    >>> [len(batch) for batch in even_batches([16] * 32, most=13, most_tokens=2000)]
    [8, 8, 8, 8]
    >>> [len(batch) for batch in even_batches([16] * 10 + [400] * 10, most=13, most_tokens=2000)]
    [10, 5, 5]
    """
    count = len(lengths)
    if max(lengths, default=0) * most > most_tokens:
        return length_batches(lengths, most=most, most_tokens=most_tokens)
    order = sorted(range(count), key=lengths.__getitem__)
    num_batches = -(-count // most)
    size = max(1, -(-count // (num_batches + num_batches % 2 if num_batches > 1 else 1)))
    return [order[start : start + size] for start in range(0, count, size)]


def padded_ids(sentences: Ids) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Ids [B, T] of sentences side by side, zeros behind, and their lengths.

    >>> padded_ids([[5, 6], [7]])[0].tolist()
    [[5, 6], [7, 0]]
    """
    if len(sentences) == 1 and len(sentences[0]):
        return np.array(sentences, dtype=np.int64), np.array([len(sentences[0])], dtype=np.int32)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
    ids = np.zeros((len(sentences), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids, lengths


def ids_feed(sentences: Ids) -> dict[str, Any]:
    """Sentences of ids as the first graph takes them."""
    ids, lengths = padded_ids(sentences)
    return {"ids": ids, "lengths": lengths}


def padded_rows(encodings: Sequence[Floats]) -> tuple[Floats, NDArray[np.int32]]:
    """Encodings [T, D] side by side as float32 [B, T, D], zeros behind, and their lengths."""
    lengths = [len(encoding) for encoding in encodings]
    padding: Floats = np.zeros((max(1, *lengths), encodings[0].shape[1]), dtype=np.float32)
    parts = [part for each in encodings for part in (each, padding[len(each) :])]
    # One copy of everything: row by row takes twice as long.
    rows: Floats = np.concatenate(parts, dtype=np.float32)
    return rows.reshape(len(encodings), *padding.shape), np.array(lengths, dtype=np.int32)
