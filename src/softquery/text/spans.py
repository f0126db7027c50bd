"""Where tokens stand in the string as it was given."""

import unicodedata

Span = tuple[int, int]
"""Start and end of a slice, counted in characters."""


def tidy_spans(text: str, spans: list[Span]) -> list[Span]:
    r"""Make spans cover what a reader would mark.

    They never run backwards, drop the space that BPE's tokens carry in front, and take in the
    letters and marks that composition melted into the last character.

    >>> tidy_spans("a cafe\u0301", [(0, 1), (1, 6)])
    [(0, 1), (2, 7)]
    """
    tidy: list[Span] = []
    earliest = 0
    for (start, end), (following, _) in zip(spans, [*spans[1:], (len(text), 0)], strict=False):
        start = _skip_space(text, max(start, earliest), end)
        end = _absorb(text, max(start, end), following)
        tidy.append((start, end))
        earliest = start
    return tidy


def joined_spans(spans: list[Span], words: list[int | None]) -> list[Span]:
    """One span for all pieces of a word.

    Args:
        spans: Of the pieces.
        words: To which word each of them belongs; None for one that stands by itself.

    >>> joined_spans([(0, 2), (2, 4), (5, 6)], [0, 0, 1])
    [(0, 4), (5, 6)]
    """
    found: list[Span] = []
    before: int | None = None
    for span, word in zip(spans, words, strict=True):
        if found and word is not None and word == before:
            found[-1] = (found[-1][0], span[1])
        else:
            found.append(span)
        before = word
    return found


def _skip_space(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _absorb(text: str, end: int, following: int) -> int:
    # What lies between two tokens is space, invisible, or part of a composed character.
    while end < following and unicodedata.category(text[end])[0] in "LM":
        end += 1
    return end
