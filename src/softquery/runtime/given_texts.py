"""Texts as a caller gives them: any iterable of strings, and nothing that merely looks like one.

Needs no torch.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set
from itertools import islice
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from softquery.errors import InputError
from softquery.files.data_frames import Table, column_names, is_table, plain_values, table_columns
from softquery.progress_display import showing
from softquery.runtime.batches import Floats

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Texts = Iterable[str] | Iterable[Mapping[str, str]] | Table
"""Texts as a caller may hand them over; of a table and of mappings the column `text` is read."""
Sentences = Iterable[str | Sequence[str]] | Iterable[Mapping[str, Any]] | Table
"""Likewise, or texts that are cut into words already."""
Pairs = Iterable[Sequence[str]] | Iterable[Mapping[str, str]] | Table
"""Pairs, or what has both columns."""
Advance = Callable[[int], object]
"""Told how many texts are done."""
TEXT_COLUMNS = ("text",)
"""The column of a table that holds texts."""
ONE_COLUMN = 'choose a column yourself, such as frame["NAME"]'
NOT_LISTS = (bytes, bytearray, memoryview, Mapping, Set, PathLike)
HINTS = (
    ((bytes, bytearray, memoryview), "; decode it to a string, and put brackets around that"),
    (Set, ", which has no order; write sorted(…)"),
    (PathLike, "; read the file first, with softquery.files.read_rows"),
    (Mapping, "; hand over its texts in a list"),
    (type(None), "; the call before it may have returned nothing"),
)
EXAMPLES = {"sentences": '["…"]', "pairs": '[("…", "…")]'}
"""What to type instead of one string."""


def given_texts(texts: Texts, *, columns: Sequence[str] = TEXT_COLUMNS) -> Iterator[str]:
    """The strings of a list, a generator, a column, a table or another iterable, one by one.

    Args:
        texts: Strings; or mappings, a data frame, an Arrow table or a data set, of which one column
            is read.
        columns: How that column may be called; the first that is there is read.

    Raises:
        TypeError: It is one string, bytes, nothing iterable, or has no order.
        InputError: An entry is no string; the row is named. Or the table has no such column.

    >>> list(given_texts(text for text in ("a", "b")))
    ['a', 'b']
    >>> list(given_texts({"text": ["a", "b"], "label": [1, 2]}))
    ['a', 'b']
    >>> given_texts("a b")
    Traceback (most recent call last):
    TypeError: expected a list of sentences, got one string; put brackets around it: ["…"]
    """
    return _checked(given_items(texts, "sentences", columns), columns)


def given_items(given: Any, noun: str, columns: Sequence[str]) -> Iterable[Any]:
    """What stands in a list, or in the column of a table that a caller handed over instead.

    Args:
        given: Whatever the caller handed over.
        noun: What is expected, in the plural.
        columns: How the column may be called.

    Raises:
        TypeError: It is no list of anything, with a hint at what to type instead.
        InputError: The table has no such column.
    """
    if isinstance(given, (list, tuple)):  # the others take longer to tell
        return given
    if is_table(given):
        there = set(map(str, column_names(given)))
        name = next((each for each in columns if each in there), columns[0])
        return table_columns(given, [name], instead=ONE_COLUMN)[0]
    return listed_items(given, noun, EXAMPLES[noun])


def listed_items(given: Any, noun: str, example: str) -> Iterable[Any]:
    """The items of a list, a column or another iterable; what merely looks like one is refused.

    >>> listed_items({"b", "a"}, "ids", "[…]")
    Traceback (most recent call last):
    TypeError: expected a list of ids, got set, which has no order; write sorted(…)
    """
    if isinstance(given, str):
        raise TypeError(
            f"expected a list of {noun}, got one string; put brackets around it: {example}"
        )
    if isinstance(given, KeysView):  # in the order of its dict
        return given
    if isinstance(given, NOT_LISTS) or not isinstance(given, Iterable) or _is_scalar(given):
        hint = next((text for kind, text in HINTS if isinstance(given, kind)), "")
        raise TypeError(f"expected a list of {noun}, got {type(given).__name__}{hint}")
    return plain_values(given) if hasattr(given, "to_pylist") else given


def _is_scalar(given: object) -> bool:
    """Whether it is an array of no dimension, which only seems iterable."""
    return getattr(given, "ndim", 1) == 0


def text_of(item: object, columns: Sequence[str]) -> object:
    """What a row holds in the first of the columns that it has; anything else as it is."""
    if isinstance(item, Mapping):
        return next((item[name] for name in columns if name in item), item)
    return item


def _checked(texts: Iterable[object], columns: Sequence[str]) -> Iterator[str]:
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            text = text_of(text, columns)
        if not isinstance(text, str):
            raise InputError(f"expected a string, found {text!r:.40}", source="the texts", row=row)
        yield text if type(text) is str else str(text)  # such as numpy's


def in_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Items in lists of `size`, the last of them shorter.

    >>> list(in_chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    running = iter(items)
    while chunk := list(islice(running, size)):
        yield chunk


def matrix_of(
    texts: Texts,
    vectors_of: Callable[[list[str]], Floats],
    width: int,
    *,
    chunk: int,
    advance: Advance,
    progress: bool = False,
) -> Floats:
    """Vectors [N, D] of texts as they come.

    Args:
        texts: As `given_texts` takes them.
        vectors_of: Computes those of a few texts.
        width: Of a vector.
        chunk: How many texts are computed together.
        advance: Told how many texts are done.
        progress: Whether to show how many.
    """
    parts: list[Floats] = []
    done = 0
    with showing(progress, "texts", texts) as shown:
        for some in in_chunks(given_texts(texts), chunk):
            parts.append(vectors_of(some))
            done += len(some)
            advance(done)
            shown(done)
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0])
    return np.concatenate([np.empty((0, width), dtype=np.float32), *parts])


def in_view(
    items: Sequence[Item],
    answer: Callable[[list[Item]], Sequence[Answer]],
    noun: str,
    *,
    chunk: int,
    progress: bool,
) -> list[Answer]:
    """Answers to items, some at a time, so that their progress can be shown.

    Args:
        items: What is asked.
        answer: Answers some items; its answers depend on nothing outside of them.
        noun: What they are, in the plural.
        chunk: How many are answered together.
        progress: Whether to show how many are done.

    >>> in_view([1, 2, 3], lambda some: [len(some)] * len(some), "items", chunk=2, progress=False)
    [2, 2, 1]
    """
    found: list[Answer] = []
    with showing(progress, noun, items) as shown:
        for start in range(0, len(items), chunk):
            found += answer(list(items[start : start + chunk]))
            shown(len(found))
    return found
