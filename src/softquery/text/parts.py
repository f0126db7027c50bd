"""Long sentences in parts, and back."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

Value = TypeVar("Value")


def in_parts(sentences: Iterable[Sequence[Value]], limit: int) -> Iterator[Sequence[Value]]:
    """Each sentence, or what it is made of where it is longer than the limit.

    >>> list(in_parts([[1, 2, 3], [4]], 2))
    [[1, 2], [3], [4]]
    """
    for sentence in sentences:
        for start in range(0, max(1, len(sentence)), limit):
            yield sentence[start : start + limit]


def rejoined(parts: Iterable[Iterable[Value]], lengths: Iterable[int]) -> list[list[Value]]:
    """The sentences whose parts, in their order, hold so many values each.

    >>> rejoined([[1, 2], [3], [4]], [3, 1])
    [[1, 2, 3], [4]]
    """
    stream = chain.from_iterable(parts)
    return [list(islice(stream, length)) for length in lengths]
