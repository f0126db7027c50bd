"""Contexts of any length as pages that a model can read: sliding windows, each with its question.

T words of a context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.text import TextPipeline

Spans = list[tuple[int, int]]
CHUNK = 512
"""Texts that are cut into words at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paging:
    """How long a page is, and how far the next one lies from it."""

    size: int
    """Words of a context that are read together."""
    step: int
    """Words from the beginning of a page to that of the next one."""
    max_question: int
    """Words of a question; longer ones are cut."""

    def __post_init__(self) -> None:
        if min(self.size, self.step, self.max_question) < 1 or self.step > self.size:
            raise ValueError(
                f"pages need 1 <= step <= size and a question of words, got size {self.size}, "
                f"step {self.step}, max_question {self.max_question}"
            )

    def starts(self, length: int) -> list[int]:
        """Where the pages of so many words begin; the last one ends where they end.

        >>> Paging(size=4, step=3, max_question=9).starts(9)
        [0, 3, 5]
        """
        last = max(0, length - self.size)
        return [*range(0, last, self.step), last]


@dataclass(frozen=True, slots=True)
class WindowedContext:
    """A context, and where its words stand in it."""

    text: str
    spans: NDArray[np.int32]
    """Start and end of each word in characters: [T, 2]."""

    def words_at(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last word of which a slice of the text holds something.

        >>> Passage("Ada slept", np.array([[0, 3], [4, 9]])).words_at(2, 5)
        (0, 1)
        """
        inside = (self.spans[:, 1] > start) & (self.spans[:, 0] < end)
        touched = np.flatnonzero(inside & (self.spans[:, 1] > self.spans[:, 0]))
        return (int(touched[0]), int(touched[-1])) if len(touched) else None

    def slice_of(self, first: int, last: int) -> tuple[int, int]:
        """Where the words from `first` to `last` stand, in characters.

        >>> Passage("Ada slept", np.array([[0, 3], [4, 9]])).slice_of(1, 1)
        (4, 9)
        """
        some = self.spans[first : last + 1]
        return int(some[:, 0].min()), int(some[:, 1].max())


class ContextWindow(NamedTuple):
    """Words of a question, and of the part of a context that is read for it."""

    question: list[str]
    words: list[str]


class TokenSpan(NamedTuple):
    """Of which pair a page is, and which of its words it begins with."""

    pair: int
    first: int


@dataclass(frozen=True, slots=True)
class ContextWindows:
    """Questions and contexts, laid out as pages."""

    passages: list[WindowedContext]
    """The context of each pair; equal ones are one object."""
    pages: list[ContextWindow]
    places: list[TokenSpan]
    """Of each page."""
    num_long: int
    """Distinct contexts that take several pages."""
    num_cut: int
    """Questions that lost words."""

    @property
    def num_asked(self) -> int:
        """Pairs that have a page."""
        return len({place.pair for place in self.places})

    def without_pages(self) -> "ContextWindows":
        """What is needed to make answers of what a model says about the pages."""
        return ContextWindows(self.passages, [], self.places, self.num_long, self.num_cut)


def lay_out(
    pairs: Sequence[tuple[str, str]], pipeline: TextPipeline, paging: Paging
) -> ContextWindows:
    """Cut questions and contexts into words, and contexts into pages.

    A context without any word has no page. The words of equal contexts are one list.

    Args:
        pairs: A question and a context each.
        pipeline: Cuts words.
        paging: How long pages are.

    >>> from softquery.text import TextConfig, pipeline_from_words
    >>> pipeline = pipeline_from_words([], TextConfig())
    >>> sheet = lay_out([("Who?", "Ada slept.")], pipeline, Paging(size=2, step=1, max_question=9))
    >>> [page.words for page in sheet.pages]
    [['Ada', 'slept'], ['slept', '.']]
    """
    questions = _cut([question for question, _ in pairs], pipeline)
    contexts = _cut([context for _, context in pairs], pipeline)
    parts = {text: _parts(words, paging) for text, (_, words) in contexts.items()}
    pages, places = [], []
    for pair, (question, context) in enumerate(pairs):
        asked = questions[question][1][: paging.max_question]
        for first, words in parts[context]:
            pages.append(ContextWindow(asked, words))
            places.append(TokenSpan(pair, first))
    return ContextWindows(
        [contexts[context][0] for _, context in pairs],
        pages,
        places,
        num_long=sum(len(some) > 1 for some in parts.values()),
        num_cut=sum(len(questions[asked][1]) > paging.max_question for asked, _ in pairs),
    )


def _parts(words: list[str], paging: Paging) -> list[tuple[int, list[str]]]:
    """The pages of a context, each with the number of its first word."""
    if len(words) <= paging.size:
        return [(0, words)] if words else []
    return [(first, words[first : first + paging.size]) for first in paging.starts(len(words))]


def _cut(
    texts: Sequence[str], pipeline: TextPipeline
) -> dict[str, tuple[WindowedContext, list[str]]]:
    """Every distinct text with its words."""
    distinct = list(dict.fromkeys(texts))
    found: dict[str, tuple[WindowedContext, list[str]]] = {}
    for start in range(0, len(distinct), CHUNK):
        chunk = distinct[start : start + CHUNK]
        for text, words, spans in _words(chunk, pipeline):
            places = np.array(spans, dtype=np.int32).reshape(-1, 2)
            found[text] = (WindowedContext(text, places), words)
    return found


def _words(texts: Sequence[str], pipeline: TextPipeline) -> Iterator[tuple[str, list[str], Spans]]:
    """Words as they stand in the text; pieces by their names, for a slice would not say which."""
    if pipeline.config.unit == "bert":
        for text, pieces in zip(texts, pipeline.pieces(texts), strict=True):
            yield text, [name for name, _ in pieces], [span for _, span in pieces]
        return
    for text, spans in zip(texts, pipeline.word_spans(texts), strict=True):
        yield text, [text[first:last] for first, last in spans], spans
