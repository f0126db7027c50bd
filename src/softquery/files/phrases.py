"""Neighbours that belong together become one word: `new york` to `new_york`.

Mikolov et al. (2013b), "Distributed Representations of Words and Phrases and their
Compositionality", Section 4, Equation 6.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from softquery.files.corpus_ids import END

JOINT: Final = "_"
READ: Final = 1 << 22
"""Ids that are looked at together."""

Ids = NDArray[np.int32]
Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """How phrases are found."""

    passes: int
    """Each pass can make phrases one step longer; the paper makes two to four."""
    threshold: float
    """Pairs that score higher become one word; halved from pass to pass."""

    @property
    def thresholds(self) -> tuple[float, ...]:
        """One for each pass."""
        return tuple(self.threshold / 2**number for number in range(self.passes))


def join_phrases(
    path: Path, words: list[str], counts: Counts, min_count: int, threshold: float
) -> tuple[list[str], Counts]:
    """Rewrite a file of ids with its phrases as words of their own.

    The score of a pair is (count of the pair - discount) / (count of one · count of the other),
    Equation 6, times the number of words, so that a threshold means the same for any corpus (as in
    the paper's own tool). The discount is `min_count`. From left to right the first pair wins.

    Args:
        path: Ids of sentences, rewritten in place.
        words: By id.
        counts: By id.
        min_count: Of a pair, and the discount.
        threshold: Of the score.

    Returns:
        The words with the phrases after them, and the new counts.
    """
    pairs, pair_counts = _count_pairs(path, len(words), min_count)
    first, second = pairs // len(words), pairs % len(words)
    scores = (pair_counts - min_count) / (counts[first] * counts[second]) * counts.sum()
    phrases = pairs[scores > threshold]
    if not len(phrases):
        return words, counts
    new_counts = np.concatenate([counts, np.zeros(len(phrases), dtype=np.int64)])
    joined = path.with_suffix(".joined")
    with joined.open("wb") as out:
        for ids in _sentences(path):
            made = _joined(ids, phrases, len(words))
            new_counts += np.bincount(made[made >= 0], minlength=len(new_counts))
            made.tofile(out)
    joined.replace(path)
    new_counts[: len(counts)] -= counts  # counted anew
    names = [words[a] + JOINT + words[b] for a, b in _parts(phrases, len(words))]
    return [*words, *names], new_counts


def _parts(phrases: NDArray[np.int64], num_words: int) -> list[tuple[int, int]]:
    return list(zip((phrases // num_words).tolist(), (phrases % num_words).tolist(), strict=True))


def _sentences(path: Path) -> Iterator[Ids]:
    """Blocks of whole sentences."""
    place, held = 0, np.zeros(0, dtype=np.int32)
    while len(ids := np.fromfile(path, dtype=np.int32, count=READ, offset=place)):
        place += ids.nbytes
        ids = np.concatenate([held, ids])
        ends = np.flatnonzero(ids == END)
        cut = int(ends[-1]) + 1 if len(ends) else 0
        held = ids[cut:]
        if cut:
            yield ids[:cut]


def _pair_codes(ids: Ids, num_words: int) -> NDArray[np.int64]:
    """Each id with its successor as one number; -1 where either is the end of a sentence."""
    wide = ids.astype(np.int64)
    codes = wide[:-1] * num_words + wide[1:]
    codes[(wide[:-1] < 0) | (wide[1:] < 0)] = -1
    return codes


def _count_pairs(
    path: Path, num_words: int, min_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs that are there `min_count` times, sorted, and their counts."""
    pairs, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for ids in _sentences(path):
        found, number = np.unique(_pair_codes(ids, num_words), return_counts=True)
        merged, place = np.unique(np.concatenate([pairs, found]), return_inverse=True)
        total = np.zeros(len(merged), dtype=np.int64)
        np.add.at(total, place, np.concatenate([counts, number]))
        pairs, counts = merged, total
    kept = (counts >= min_count) & (pairs >= 0)
    return pairs[kept], counts[kept]


def _joined(ids: Ids, phrases: NDArray[np.int64], num_words: int) -> Ids:
    """Replace pairs by phrases, from left to right: of overlapping pairs every other one counts."""
    codes = _pair_codes(ids, num_words)
    places = np.searchsorted(phrases, codes)
    is_pair = phrases[np.minimum(places, len(phrases) - 1)] == codes
    starts = np.flatnonzero(is_pair & ~np.concatenate([[False], is_pair[:-1]]))
    run = np.zeros(len(codes), dtype=np.int64)
    run[starts] = starts
    offset = np.arange(len(codes)) - np.maximum.accumulate(run)
    taken = np.flatnonzero(is_pair & (offset % 2 == 0))
    made = ids.copy()
    made[taken] = num_words + places[taken]
    return np.delete(made, taken + 1)
