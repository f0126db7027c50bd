"""What callers hand to a model from Python, checked where it comes in.

A wrong container is a `TypeError`, as Python has it; a wrong item is an `InputError` that names the
item by its number, counted from 1.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from math import isfinite
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.files.data_frames import is_table, plain_values, table_columns
from softquery.runtime.given_texts import (
    EXAMPLES,
    TEXT_COLUMNS,
    Pairs,
    Sentences,
    Texts,
    given_items,
    given_texts,
    listed_items,
    text_of,
)

TEXTS, PAIRS, ENCODINGS, VECTORS = "the texts", "the pairs", "the encodings", "the vectors"
"""What is named in errors."""
PAIR_COLUMNS = ("sentence1", "sentence2")
QUESTION_COLUMNS = ("question", "context")
SENTENCE_COLUMNS = ("text", "tokens")
SOURCE_COLUMNS = ("source", "text")
"""Columns of tables, and keys of mappings, by what is read off them."""


def listed_texts(texts: Texts, *, columns: Sequence[str] = TEXT_COLUMNS) -> list[str]:
    """Texts as a list; each must be a string. A table gives the first of the columns it has."""
    return list(given_texts(texts, columns=columns))


def one_text(text: str, name: str) -> str:
    """A single text, as `name` in messages.

    >>> one_text(["a man eats"], "the query")
    Traceback (most recent call last):
    softquery.errors.InputError: the query: expected a string, found ['a man eats']
    """
    if not isinstance(text, str):
        raise InputError(f"expected a string, found {text!r:.40}", source=name)
    return text


def listed_sentences(texts: Sentences) -> list[str | list[str]]:
    """Texts as a list; each must be a string, or a list of words."""
    found: list[str | list[str]] = []
    for row, item in enumerate(given_items(texts, "sentences", SENTENCE_COLUMNS), 1):
        text = text_of(item, SENTENCE_COLUMNS)
        found.append(text if isinstance(text, str) else _words(text, row))
    return found


def listed_words(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Sentences as lists of words; each must be one."""
    found = []
    for row, sentence in enumerate(listed_items(sentences, "sentences", EXAMPLES["sentences"]), 1):
        if isinstance(sentence, str):
            raise _odd("a list of words", sentence, TEXTS, row)
        found.append(_words(sentence, row))
    return found


def _words(words: Any, row: int) -> list[str]:
    if isinstance(words, (bytes, bytearray, Mapping)) or not isinstance(words, Iterable):
        raise _odd("a string or a list of words", words, TEXTS, row)
    found = list(words)
    for word in found:
        if not isinstance(word, str):
            raise _odd("words", word, TEXTS, row)
    return found


def listed_pairs(pairs: Pairs, *, columns: Sequence[str] = PAIR_COLUMNS) -> list[tuple[str, str]]:
    """Pairs as a list; each must be two strings.

    Args:
        pairs: Pairs; or mappings, a data frame, an Arrow table or a data set with both columns.
        columns: What the two sides are called there.

    >>> listed_pairs({"sentence1": ["a man eats"], "sentence2": ["someone eats"]})
    [('a man eats', 'someone eats')]
    """
    if isinstance(pairs, (list, tuple)):  # the others take longer to tell
        _refuse_one_pair(pairs)
        items: Iterable[Any] = pairs
    elif is_table(pairs):
        instead = 'write list(zip(frame["NAME"], frame["NAME"]))'
        items = zip(*table_columns(pairs, columns, instead=instead), strict=True)
    else:
        items = listed_items(pairs, "pairs", EXAMPLES["pairs"])
    found: list[tuple[str, str]] = []
    for row, pair in enumerate(items, 1):
        sides = _sides(pair, columns)
        if sides is None:
            raise _odd("two texts", pair, PAIRS, row)
        for side in sides:
            if not isinstance(side, str):
                raise _odd("two texts", side, PAIRS, row)
        found.append((sides[0], sides[1]))
    return found


def _refuse_one_pair(pairs: Sequence[object]) -> None:
    if len(pairs) == 2 and all(isinstance(each, str) for each in pairs):
        example = EXAMPLES["pairs"]
        raise TypeError(
            f"expected a list of pairs, got one pair; put brackets around it: {example}"
        )


def _sides(pair: Any, columns: Sequence[str]) -> list[Any] | None:
    if isinstance(pair, (list, tuple)):  # the others take longer to tell
        return list(pair) if len(pair) == 2 else None
    if isinstance(pair, Mapping) and all(name in pair for name in columns):
        return [pair[name] for name in columns]
    if isinstance(pair, (str, bytes, bytearray, Mapping, Set)) or not isinstance(pair, Iterable):
        return None
    sides = plain_values(pair)
    return sides if len(sides) == 2 else None


@np.errstate(over="ignore", invalid="ignore")
def listed_encodings(
    encodings: Iterable[NDArray[Any]], like: NDArray[Any]
) -> list[NDArray[np.float32]]:
    """Encodings as a list; each must be such an array as the model makes, of finite numbers.

    Args:
        encodings: What `Matcher.encodings` gave, perhaps stored in between.
        like: That of an empty text by the same model, the shortest there is.
    """
    found = []
    for row, encoding in enumerate(listed_items(encodings, "encodings", "[…]"), 1):
        if not isinstance(encoding, np.ndarray) or encoding.dtype.kind not in "fiu":
            raise _odd("an array of numbers", encoding, ENCODINGS, row)
        if encoding.ndim != like.ndim or encoding.shape[like.ndim - 1 :] != like.shape[-1:]:
            shape = [*("tokens" for _ in like.shape[:-1]), like.shape[-1]]
            expected = f"[{', '.join(map(str, shape))}]"
            message = f"expected an array of shape {expected}, found {list(encoding.shape)}"
            raise InputError(message, source=ENCODINGS, row=row)
        if len(encoding) < len(like):
            message = f"expected at least {len(like)} tokens, found {len(encoding)}"
            raise InputError(message, source=ENCODINGS, row=row)
        numbers = encoding.astype(np.float32, copy=False)
        # A sum is quickly made; of finite numbers, only that of very large ones is not finite.
        if not isfinite(np.add.reduce(numbers.reshape(-1))) and not np.isfinite(numbers).all():
            message = "expected finite numbers, found others among them"
            raise InputError(message, source=ENCODINGS, row=row)
        found.append(numbers)
    return found


def numbers_of(given: Any) -> NDArray[Any] | None:
    """Vectors as an array: of an array, of a tensor, or of lists of numbers; None for texts.

    >>> numbers_of([[0.5, 0.5]]).shape, numbers_of(["a man eats"])
    ((1, 2), None)
    """
    if not isinstance(given, np.ndarray):
        listed = isinstance(given, (list, tuple)) and len(given) > 0
        first = given[0] if listed else given
        if isinstance(first, (str, bytes, Mapping)) or is_table(first):
            return None
        if not hasattr(first, "__array__") and not (listed and isinstance(first, (list, tuple))):
            return None
        try:
            given = np.asarray(given)
        except (ValueError, TypeError):  # rows of several lengths, or a tensor on a GPU
            return None
    return given if given.dtype.kind in "biufc" else None


def listed_vectors(vectors: object, least: int, most: int) -> NDArray[np.float32]:
    """A matrix of finite numbers, a vector per row.

    Args:
        vectors: What `encode` gave, perhaps stored in between.
        least: The fewest numbers that a vector may have.
        most: Width of a vector of the model.

    >>> listed_vectors(np.ones(3), 1, 3)
    Traceback (most recent call last):
    softquery.errors.InputError: the vectors: expected a matrix, a row per text, found shape [3]
    """
    if not isinstance(vectors, np.ndarray) or vectors.dtype.kind not in "fiu":
        message = f"expected what `encode` gives, found {type(vectors).__name__}"
        raise InputError(message, source=VECTORS)
    if vectors.ndim != 2:
        message = f"expected a matrix, a row per text, found shape {list(vectors.shape)}"
        raise InputError(message, source=VECTORS)
    if not least <= vectors.shape[1] <= most:
        width = f"{most}" if least == most else f"{least} to {most}"
        message = f"expected {width} numbers in each, found {vectors.shape[1]}"
        raise InputError(message, source=VECTORS)
    found = vectors.astype(np.float32, copy=False)
    if not np.isfinite(found).all():
        raise InputError("expected finite numbers, found others among them", source=VECTORS)
    return found


def listed_probabilities(given: Any, width: int) -> NDArray[np.float64]:
    """What `probabilities` gave, [N, width].

    >>> listed_probabilities([[0.2, 0.3, 0.5]], 2)
    Traceback (most recent call last):
    softquery.errors.InputError: the probabilities: expected rows of 2 numbers, found shape [1, 3]
    """
    try:
        found = np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError):
        message = f"expected rows of {width} numbers, found {given!r:.40}"
        raise InputError(message, source="the probabilities") from None
    if found.ndim != 2 or found.shape[1] != width:
        message = f"expected rows of {width} numbers, found shape {list(found.shape)}"
        raise InputError(message, source="the probabilities")
    return found


def whole_number(value: SupportsIndex | None, name: str) -> int:
    """A count of at least 1.

    >>> whole_number(3, "top_k")
    3
    >>> whole_number(0, "top_k")
    Traceback (most recent call last):
    ValueError: top_k must be at least 1, got 0
    >>> whole_number("3", "top_k")
    Traceback (most recent call last):
    ValueError: top_k must be a whole number, got '3'
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number, got {value!r:.40}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def _odd(expected: str, found: object, source: str, row: int) -> InputError:
    return InputError(f"expected {expected}, found {found!r:.40}", source=source, row=row)
