"""Which rows make a batch: sentences of like length, or bins that sequences fill.

The order follows from a seed and an epoch.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Slot:
    """One batch to come: which rows, and the length they are padded to."""

    rows: Int[Tensor, "B *K"]
    """Numbers of rows, or what describes each of them."""
    length: int


def round_up(length: int, multiple: int) -> int:
    """The next multiple, and at least one of it.

    >>> round_up(9, 8), round_up(8, 8), round_up(0, 8)
    (16, 8, 8)
    """
    return max(1, -(-length // multiple)) * multiple


def bucketed(
    lengths: Int[Tensor, " N"],
    *,
    batch_size: int,
    seed: int,
    epoch: int,
    pad_multiple: int = 8,
    pool: int = 50,
) -> list[Slot]:
    """Every row once, in shuffled batches of like length.

    Rows are shuffled, sorted by length within pools of `pool` batches, cut, and the batches
    shuffled: noise enough for training, padding little. The same seed and epoch give the same
    batches, so that an interrupted run goes on exactly.

    Args:
        lengths: Tokens of each row.
        batch_size: Rows a batch; the last one may be smaller.
        seed: The run's seed.
        epoch: The epoch's number.
        pad_multiple: Lengths are rounded up to a multiple of it, which keeps the number of distinct
            shapes small.
        pool: Batches that are sorted together.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(len(lengths), generator=generator)
    batches: list[Tensor] = []
    for group in _cut(order, pool * batch_size):
        by_length = group[lengths[group].argsort(stable=True, descending=True)]
        batches.extend(_cut(by_length, batch_size))
    shuffled = torch.randperm(len(batches), generator=generator).tolist()
    return [_slot(batches[place], lengths, pad_multiple) for place in shuffled]


def budgeted(
    lengths: Int[Tensor, " N"],
    *,
    num_tokens: int,
    seed: int,
    epoch: int,
    pad_multiple: int = 8,
) -> list[Slot]:
    """Every row once, in shuffled batches of one padded length and about as many tokens.

    A batch of rows that are padded to L holds `num_tokens // L` of them, whatever the data, so that
    there are as many shapes as padded lengths: each can be recorded as a CUDA graph. Rows that are
    left over at a length fill up the batches of the next one; only the last batch of an epoch is
    smaller. The same seed and epoch give the same batches.

    Args:
        lengths: Tokens of each row.
        num_tokens: Tokens of a batch, padding included; one row longer than that is a batch.
        seed: The run's seed.
        epoch: The epoch's number.
        pad_multiple: Lengths are rounded up to a multiple of it.
    """
    if num_tokens < 1:
        raise ValueError(f"num_tokens must be positive, got {num_tokens}")
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(len(lengths), generator=generator)
    padded = -(-lengths.clamp(min=1) // pad_multiple) * pad_multiple
    slots: list[Slot] = []
    left = order[:0]
    for length in sorted(set(padded.tolist())):
        rows = torch.cat([left, order[padded[order] == length]])
        size = max(1, num_tokens // length)
        whole = len(rows) // size * size
        slots.extend(Slot(part, length) for part in _cut(rows[:whole], size))
        left = rows[whole:]
    if len(left):
        slots.append(Slot(left, int(padded[left].max())))
    shuffled = torch.randperm(len(slots), generator=generator).tolist()
    return [slots[place] for place in shuffled]


def in_order(
    lengths: Int[Tensor, " N"], *, batch_size: int, pad_multiple: int = 8
) -> Iterator[Slot]:
    """Every row once, longest first, for measuring."""
    for rows in _cut(lengths.argsort(stable=True, descending=True), batch_size):
        yield _slot(rows, lengths, pad_multiple)


def _cut(rows: Tensor, size: int) -> Iterator[Tensor]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _slot(rows: Tensor, lengths: Tensor, pad_multiple: int) -> Slot:
    return Slot(rows, round_up(int(lengths[rows].max()), pad_multiple))


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
