"""What callers hand to a model from Python, checked where it comes in.

A wrong container is a `TypeError`, as Python has it; a wrong item is an `InputError` that names the
item by its number, counted from 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError
from softquery.runtime.given_texts import given_texts

TEXTS, PAIRS, ENCODINGS = "the texts", "the pairs", "the encodings"
"""What is named in errors."""


def listed_texts(texts: Iterable[str]) -> list[str]:
    """Texts as a list; each must be a string."""
    return list(given_texts(texts))


def listed_sentences(texts: Iterable[str | Sequence[str]]) -> list[str | list[str]]:
    """Texts as a list; each must be a string, or a list of words."""
    found: list[str | list[str]] = []
    for row, text in enumerate(_listed(texts, "sentences"), 1):
        found.append(text if isinstance(text, str) else _words(text, row))
    return found


def listed_words(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Sentences as lists of words; each must be one."""
    found = []
    for row, sentence in enumerate(_listed(sentences, "sentences"), 1):
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


def listed_pairs(pairs: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs as a list; each must be two strings."""
    found: list[tuple[str, str]] = []
    for row, pair in enumerate(_listed(pairs, "pairs"), 1):
        sides = _sides(pair)
        if sides is None:
            raise _odd("two texts", pair, PAIRS, row)
        for side in sides:
            if not isinstance(side, str):
                raise _odd("two texts", side, PAIRS, row)
        found.append((sides[0], sides[1]))
    return found


def _sides(pair: Any) -> list[Any] | None:
    if isinstance(pair, (str, bytes, bytearray, Mapping)) or not isinstance(pair, Iterable):
        return None
    sides = list(pair)
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
    for row, encoding in enumerate(_listed(encodings, "encodings"), 1):
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


def _listed(given: Any, noun: str) -> list[Any]:
    if isinstance(given, str):
        raise TypeError(f"expected a list of {noun}, got one string")
    if isinstance(given, (bytes, bytearray, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"expected a list of {noun}, got {type(given).__name__}")
    return list(given)


def _odd(expected: str, found: object, source: str, row: int) -> InputError:
    return InputError(f"expected {expected}, found {found!r:.40}", source=source, row=row)
