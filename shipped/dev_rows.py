"""Labelled rows with the name of the set that each comes from, and their two halves.

The first half of every set fits what is fitted after training; the second measures it. Halves are
cut by position: neighbours often share a sentence, and should not fall on both sides.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from softquery.errors import InputError
from softquery.files import Row, read_rows

COLUMNS = ("sentence1", "sentence2", "label", "source")
SKEW = 0.05
"""A label's share may differ by so much between a set's halves before it is told."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Every set's first half, and every set's second half."""

    first: list[Row]
    second: list[Row]

    @property
    def ordered(self) -> list[Row]:
        """All rows, such that whoever cuts them in the middle gets the halves of every set."""
        return [*self.first, *self.second]


def read_dev(path: Path) -> list[Row]:
    """The rows of a file; `source` says which set each comes from."""
    rows = list(read_rows(path, columns=COLUMNS))
    if not rows:
        raise InputError("holds no rows", source=path)
    return rows


def split_halves(rows: Sequence[Row]) -> Halves:
    """Cut every set in two.

    Where sets have odd sizes, the extra row goes to the second half and to the first in turn, so
    that all first halves together are exactly the first half of all rows.

    >>> rows = [Row({"source": name}, 1, "f") for name in "aaabbbcc"]
    >>> halves = split_halves(rows)
    >>> ["".join(row.values["source"] for row in half) for half in (halves.first, halves.second)]
    ['abbc', 'aabc']
    """
    sets: dict[str, list[Row]] = {}
    for row in rows:
        sets.setdefault(row.values["source"], []).append(row)
    first: list[Row] = []
    second: list[Row] = []
    num_odd = 0
    for part in sets.values():
        middle = len(part) // 2 + (len(part) % 2 and num_odd % 2)
        num_odd += len(part) % 2
        first += part[:middle]
        second += part[middle:]
    return Halves(first, second)


def sources_of(rows: Sequence[Row]) -> list[str]:
    """Each row's set."""
    return [row.values["source"] for row in rows]


def skewed_sets(halves: Halves) -> list[str]:
    """A warning for every set whose halves have unlike labels, as when it is sorted by them."""
    counts = [
        {name: Counter[str]() for name in dict.fromkeys(sources_of(halves.ordered))}
        for _ in range(2)
    ]
    for count, half in zip(counts, (halves.first, halves.second), strict=True):
        for row in half:
            count[row.values["source"]][row.values["label"]] += 1
    return [
        f"{name}: label {label} has a share of {shares[0]:.2f} in the first half and "
        f"{shares[1]:.2f} in the second"
        for name in counts[0]
        for label, shares in _shares(counts[0][name], counts[1][name]).items()
        if abs(shares[0] - shares[1]) > SKEW
    ]


def _shares(first: Counter[str], second: Counter[str]) -> dict[str, tuple[float, float]]:
    totals = max(1, first.total()), max(1, second.total())
    labels = sorted({*first, *second})
    return {each: (first[each] / totals[0], second[each] / totals[1]) for each in labels}
