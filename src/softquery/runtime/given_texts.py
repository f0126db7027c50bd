"""Texts as a caller gives them: any iterable of strings, and nothing that merely looks like one.

Needs no torch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import islice
from typing import TypeVar

import numpy as np

from softquery.errors import InputError
from softquery.runtime.batches import Floats

Item = TypeVar("Item")
Advance = Callable[[int], object]
"""Told how many texts are done."""


def given_texts(texts: Iterable[str]) -> Iterator[str]:
    """The strings of a list, a tuple, a generator or another iterable, one by one.

    Raises:
        TypeError: It is one string, bytes, nothing iterable, or has no order.
        InputError: An entry is no string; the row is named.

    >>> list(given_texts(text for text in ("a", "b")))
    ['a', 'b']
    >>> given_texts("a b")
    Traceback (most recent call last):
    TypeError: expected a list of sentences, got one string
    """
    if isinstance(texts, str):
        raise TypeError("expected a list of sentences, got one string")
    if isinstance(texts, (list, tuple)):  # the others take longer to tell
        return _checked(texts)
    if isinstance(texts, (bytes, bytearray, Mapping, Set)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected a list of sentences, got {type(texts).__name__}")
    return _checked(texts)


def _checked(texts: Iterable[object]) -> Iterator[str]:
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"expected a string, found {text!r:.40}", source="the texts", row=row)
        yield text


def in_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Items in lists of `size`, the last of them shorter.

    >>> list(in_chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    running = iter(items)
    while chunk := list(islice(running, size)):
        yield chunk


def matrix_of(
    texts: Iterable[str],
    vectors_of: Callable[[list[str]], Floats],
    width: int,
    *,
    chunk: int,
    advance: Advance,
) -> Floats:
    """Vectors [N, D] of texts as they come.

    Args:
        texts: As `given_texts` takes them.
        vectors_of: Computes those of a few texts.
        width: Of a vector.
        chunk: How many texts are computed together.
        advance: Told how many texts are done.
    """
    parts: list[Floats] = []
    done = 0
    for some in in_chunks(given_texts(texts), chunk):
        parts.append(vectors_of(some))
        done += len(some)
        advance(done)
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0])
    return np.concatenate([np.empty((0, width), dtype=np.float32), *parts])
