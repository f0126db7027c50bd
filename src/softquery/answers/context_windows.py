"""Contexts of any length as sliding windows that a model can read, each with its question.

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
"""How many texts are tokenised at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlidingWindow:
    """How long a window is, and how far apart windows begin."""

    size: int
    """Words of a context per window."""
    stride: int
    """Words from the beginning of one window to that of the next."""
    max_question: int
    """The most words of a question; longer ones are cut."""

    def __post_init__(self) -> None:
        if min(self.size, self.stride, self.max_question) < 1 or self.stride > self.size:
            raise ValueError(
                f"windows need 1 <= stride <= size and a question of words, got size {self.size}, "
                f"stride {self.stride}, max_question {self.max_question}"
            )

    def starts(self, length: int) -> list[int]:
        """Where the windows of a context of `length` words begin; the last ends with the context.

        >>> SlidingWindow(size=4, stride=3, max_question=9).starts(9)
        [0, 3, 5]
        """
        last = max(0, length - self.size)
        return [*range(0, last, self.stride), last]


@dataclass(frozen=True, slots=True)
class WindowedContext:
    """A context and the offsets of its words."""

    text: str
    spans: NDArray[np.int32]
    """Start and end of each word, in characters: [T, 2]."""

    def words_at(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last word that overlap `text[start:end]`; None where none does.

        >>> WindowedContext("Ada slept", np.array([[0, 3], [4, 9]])).words_at(2, 5)
        (0, 1)
        """
        inside = (self.spans[:, 1] > start) & (self.spans[:, 0] < end)
        touched = np.flatnonzero(inside & (self.spans[:, 1] > self.spans[:, 0]))
        return (int(touched[0]), int(touched[-1])) if len(touched) else None

    def slice_of(self, first: int, last: int) -> tuple[int, int]:
        """The slice of the text from word `first` to word `last`, in characters.

        >>> WindowedContext("Ada slept", np.array([[0, 3], [4, 9]])).slice_of(1, 1)
        (4, 9)
        """
        some = self.spans[first : last + 1]
        return int(some[:, 0].min()), int(some[:, 1].max())


class ContextWindow(NamedTuple):
    """The words of a question, and of one window of its context."""

    question: list[str]
    words: list[str]


class WindowPlace(NamedTuple):
    """Which pair a window belongs to, and the index of its first word in the context."""

    pair: int
    first: int


@dataclass(frozen=True, slots=True)
class ContextWindows:
    """Questions and contexts, cut into windows."""

    contexts: list[WindowedContext]
    """The context of each pair; pairs with equal contexts share one object."""
    windows: list[ContextWindow]
    places: list[WindowPlace]
    """The place of each window."""
    num_long: int
    """Distinct contexts that are longer than one window."""
    num_cut: int
    """Questions that were cut."""

    @property
    def num_asked(self) -> int:
        """How many pairs have at least one window."""
        return len({place.pair for place in self.places})

    def without_windows(self) -> "ContextWindows":
        """A copy without the words of the windows, which is all that `choose_answers` needs."""
        return ContextWindows(self.contexts, [], self.places, self.num_long, self.num_cut)


def make_windows(
    pairs: Sequence[tuple[str, str]], pipeline: TextPipeline, window: SlidingWindow
) -> ContextWindows:
    """Tokenise questions and contexts, and cut contexts into windows.

    A context without any word has no window. Windows of equal contexts share their lists of words.

    Args:
        pairs: Questions with their contexts.
        pipeline: Tokenises both.
        window: Size and stride of the windows.

    >>> from softquery.text import TextConfig, pipeline_from_words
    >>> pipeline = pipeline_from_words([], TextConfig())
    >>> size = SlidingWindow(size=2, stride=1, max_question=9)
    >>> windowed = make_windows([("Who?", "Ada slept.")], pipeline, size)
    >>> [window.words for window in windowed.windows]
    [['Ada', 'slept'], ['slept', '.']]
    """
    questions = _cut([question for question, _ in pairs], pipeline)
    contexts = _cut([context for _, context in pairs], pipeline)
    parts = {text: _parts(words, window) for text, (_, words) in contexts.items()}
    windows, places = [], []
    for pair, (question, context) in enumerate(pairs):
        asked = questions[question][1][: window.max_question]
        for first, words in parts[context]:
            windows.append(ContextWindow(asked, words))
            places.append(WindowPlace(pair, first))
    return ContextWindows(
        [contexts[context][0] for _, context in pairs],
        windows,
        places,
        num_long=sum(len(some) > 1 for some in parts.values()),
        num_cut=sum(len(questions[asked][1]) > window.max_question for asked, _ in pairs),
    )


def _parts(words: list[str], window: SlidingWindow) -> list[tuple[int, list[str]]]:
    """The windows of a context, each with the index of its first word."""
    if len(words) <= window.size:
        return [(0, words)] if words else []
    return [(first, words[first : first + window.size]) for first in window.starts(len(words))]


def _cut(
    texts: Sequence[str], pipeline: TextPipeline
) -> dict[str, tuple[WindowedContext, list[str]]]:
    """The offsets and words of every distinct text."""
    distinct = list(dict.fromkeys(texts))
    found: dict[str, tuple[WindowedContext, list[str]]] = {}
    for start in range(0, len(distinct), CHUNK):
        chunk = distinct[start : start + CHUNK]
        for text, words, spans in _words(chunk, pipeline):
            places = np.array(spans, dtype=np.int32).reshape(-1, 2)
            found[text] = (WindowedContext(text, places), words)
    return found


def _words(texts: Sequence[str], pipeline: TextPipeline) -> Iterator[tuple[str, list[str], Spans]]:
    """Words as written in the text; for BERT the names of pieces, which a slice does not give."""
    if pipeline.config.unit == "bert":
        for text, pieces in zip(texts, pipeline.pieces(texts), strict=True):
            yield text, [name for name, _ in pieces], [span for _, span in pieces]
        return
    for text, spans in zip(texts, pipeline.word_spans(texts), strict=True):
        yield text, [text[first:last] for first, last in spans], spans
