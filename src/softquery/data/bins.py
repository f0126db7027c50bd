"""Sequences of different sizes into bins of one size, with little left over."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
EMPTY = -1


def fill_bins(
    sizes: Numbers, capacity: int, *, most: int, draw: np.random.Generator
) -> NDArray[np.int64]:
    """Which sequences share a bin: rows of numbers of sequences, `EMPTY` where there is none.

    The largest sequence that is left opens a bin, and the largest that still fits goes in, again
    and again. Only how many there are of each size matters for that, so that like bins are filled
    at once, and the time hardly grows with the number of sequences (Krell et al. 2021, Section 3).

    Args:
        sizes: Of every sequence; none above the capacity.
        capacity: Of a bin.
        most: Sequences that a bin may hold.
        draw: Decides which of the sequences of one size share a bin.

    >>> fill_bins(np.array([2, 5, 3]), 5, most=4, draw=np.random.default_rng(0)).tolist()
    [[1, -1, -1, -1], [2, 0, -1, -1]]
    """
    if len(sizes) and not 0 < int(sizes.min()) <= int(sizes.max()) <= capacity:
        raise ValueError(f"sizes must be from 1 to {capacity}")
    shuffled = draw.permutation(len(sizes))
    order = shuffled[np.argsort(sizes[shuffled], kind="stable")]
    left = np.bincount(sizes, minlength=capacity + 1)
    next_of = np.concatenate([[0], left.cumsum()[:-1]])  # places in `order`, by size
    filled: list[NDArray[np.int64]] = []
    while left.any():
        parts = _best_parts(left, capacity, most)
        count = min(int(left[size]) // times for size, times in Counter(parts).items())
        bins = np.full((count, most), EMPTY, dtype=np.int64)
        for place, size in enumerate(parts):
            start = next_of[size]
            bins[:, place] = order[start : start + count]
            next_of[size] += count
            left[size] -= count
        filled.append(bins)
    return np.concatenate(filled) if filled else np.empty((0, most), dtype=np.int64)


def _best_parts(left: Numbers, capacity: int, most: int) -> list[int]:
    """Sizes of the next bin: the largest there is, then the largest that fits, and so on."""
    parts: list[int] = []
    room = capacity
    while room and len(parts) < most:
        taken = Counter(parts)
        found = next(
            (
                int(size)
                for size in np.flatnonzero(left[: room + 1])[::-1]
                if left[size] > taken[int(size)]
            ),
            None,
        )
        if found is None:
            break
        parts.append(found)
        room -= found
    return parts
