"""Long texts as passages: whole sentences together, as many as a model reads well."""

import re
from collections.abc import Iterator

Span = tuple[int, int]
_SENTENCE = re.compile(
    r"[^.!?。！？…\n]*(?:"
    r"[.!?。！？…]+[\"'”’)\]」』]*(?=\s|$|[\u3000-\u9fff])"  # an end, not the point of 3.5
    r"|\n|[.!?。！？…]+|$)"
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+")


def num_words(text: str) -> int:
    """How many words a text has; a Chinese, Japanese or Korean character counts as one.

    >>> num_words("How do I pay?"), num_words("怎么付款？"), num_words("用 PayPal 付款")
    (4, 4, 4)
    """
    return sum(1 for _ in _WORD.finditer(text))


def cut(text: str, size: int) -> list[Span]:
    """Where the passages of a text begin and end; none if it is short enough.

    Sentences stay whole where they are no longer than a passage. Neighbours share nothing.

    Args:
        text: The text.
        size: The most words of a passage.

    >>> text = "One two three. Four five! Six seven eight nine ten eleven."
    >>> [text[start:end] for start, end in cut(text, 5)]
    ['One two three. Four five!', 'Six seven eight nine ten', 'eleven.']
    >>> cut("One two.", 5)
    []
    """
    if num_words(text) <= size:
        return []
    pieces = [piece for sentence in _sentences(text) for piece in _pieces(text, sentence, size)]
    found: list[Span] = []
    held = 0
    for start, end in pieces:
        count = num_words(text[start:end])
        if found and held + count <= size:
            found[-1] = (found[-1][0], end)
            held += count
        else:
            found.append((start, end))
            held = count
    return [_stripped(text, span) for span in found]


def _sentences(text: str) -> Iterator[Span]:
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield match.span()


def _pieces(text: str, span: Span, size: int) -> Iterator[Span]:
    """A sentence, in parts if it is longer than a passage."""
    start, end = span
    places = [match.start() for match in _WORD.finditer(text, start, end)]
    if len(places) <= size:
        yield span
        return
    edges = [start, *places[size::size], end]
    yield from zip(edges, edges[1:], strict=False)


def _stripped(text: str, span: Span) -> Span:
    start, end = span
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
