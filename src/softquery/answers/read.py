"""Answers to questions about a context: rules, the best span, and the answer of all windows.

T words of a window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from softquery.answers.context_windows import ContextWindows, SlidingWindow, WindowedContext

NoAnswer = Literal["never", "learnt"]
Counting = Literal["squad", "cmrc"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingRules:
    """How questions about a context are answered and scored; stored in a bundle's config."""

    no_answer: NoAnswer = "never"
    """`"learnt"` where the context may hold no answer, as training rows without one imply."""
    max_words: int = 20
    """The most words of an answer."""
    step: int = 256
    """The stride of the windows of a long context, in words."""
    max_question: int = 40
    """The most words of a question; longer ones are cut."""
    counting: Counting = "squad"
    """How answers are scored: by words as in SQuAD, or by Chinese characters as in CMRC 2018."""

    def __post_init__(self) -> None:
        for name, kind in (("no_answer", NoAnswer), ("counting", Counting)):
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r:.40}")
        for name in ("max_words", "step", "max_question"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r:.40}")

    def sliding_window(self, size: int) -> SlidingWindow:
        """The sliding window of `size` words.

        Every span of `max_words` words lies within one window if `size` exceeds the stride by at
        least `max_words`.
        """
        return SlidingWindow(size=size, stride=min(self.step, size), max_question=self.max_question)

    @property
    def abstain_below(self) -> float:
        """The default score below which no answer is given; a bundle's calibration overrides it.

        It is 0.5 where "no answer" is learnt: below that, no answer is likelier than the span.
        """
        return 0.5 if self.no_answer == "learnt" else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a bundle's config."""
        return asdict(self)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "ReadingRules":
        """Parse strictly what `to_dict` returned; a `ValueError` names what does not fit.

        >>> ReadingRules.from_dict({"name": "read", "max_words": 9}).max_words
        9
        """
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in config.items() if name != "name"}
        if unknown := sorted(set(given) - known):
            raise ValueError(f"task has no setting {unknown[0]!r:.40}")
        return cls(**given)


Floats = NDArray[np.float32]


class SpanScores(NamedTuple):
    """Logits of each word of a window to begin and to end the answer."""

    start: Floats
    end: Floats
    none: tuple[float, float] | None = None
    """The logits of "no answer" for beginning and end, of a model that has learnt it."""


class SpanChoice(NamedTuple):
    """A span from word `first` to word `last`, and the sum of its two scores."""

    first: int
    last: int
    score: float


def best_spans(start: Floats, end: Floats, *, max_words: int, top: int = 1) -> list[SpanChoice]:
    """The spans with the highest sums, best first; none ends before it begins or is too long.

    Of equal scores the earlier span comes first, and of two that begin together the shorter.

    Args:
        start: [T]; minus infinity where no answer may begin.
        end: [T]; minus infinity where no answer may end.
        max_words: The most words of a span.
        top: How many spans to return at most.

    >>> scores = np.array([0.0, 3.0, 1.0]), np.array([9.0, 0.0, 2.0])
    >>> [tuple(each) for each in best_spans(*scores, max_words=3, top=2)]
    [(0, 0, 9.0), (1, 2, 5.0)]
    >>> best_spans(*scores, max_words=1)[0].first
    0
    """
    if max_words < 1 or top < 1:
        raise ValueError(f"max_words and top must be at least 1, got {max_words} and {top}")
    if len(start) != len(end):
        raise ValueError(f"{len(start)} starts and {len(end)} ends")
    wide = [np.asarray(each, dtype=np.float64) for each in (start, end)]
    width = min(max_words, len(start))
    totals = np.full((len(start), width), -np.inf)
    for more in range(width):
        totals[: len(start) - more, more] = wide[0][: len(start) - more] + wide[1][more:]
    flat = totals.ravel()
    if top == 1:
        order: Sequence[int] = [int(flat.argmax())] if len(flat) else []
    else:
        order = np.argsort(-flat, kind="stable")[:top].tolist()
    return [
        SpanChoice(place // width, place // width + place % width, float(flat[place]))
        for place in order
        if flat[place] > -np.inf
    ]


@dataclass(frozen=True, slots=True)
class Answer:
    """A span of the context, or no answer."""

    text: str | None
    """`context[start:end]`; None for no answer."""
    start: int | None
    end: int | None
    score: float
    """The confidence in the span, from 0 to 1; where no answer is given, that of the best span.
    Of a model that has learnt "no answer", it is the probability of the span against no answer;
    of any other, the product of the probabilities of its beginning and its end."""

    def if_sure(self, limit: float) -> "Answer":
        """This answer, or no answer where its score is below the limit."""
        return self if self.score >= limit else Answer(None, None, None, self.score)

    def record(self, question: str, context: str) -> dict[str, Any]:
        """The answer as a JSON record that repeats its input, numbers to six decimals.

        >>> Answer("Ada", 0, 3, 0.9).record("Who slept?", "Ada slept.")["answer"]
        'Ada'
        """
        return {
            "question": question,
            "context": context,
            "answer": self.text,
            "start": self.start,
            "end": self.end,
            "score": round(self.score, 6),
        }


NO_WORDS = Answer(None, None, None, 0.0)
"""The answer of a context without any word."""


def choose_answers(
    windowed: ContextWindows,
    scores: Sequence[SpanScores],
    *,
    max_words: int,
    abstain_below: float = 0.0,
) -> list[Answer]:
    """One answer per pair: the best span of all its windows, or none where it is not sure enough.

    Args:
        windowed: The pairs and their windows.
        scores: The scores of each window.
        max_words: The most words of an answer.
        abstain_below: The score below which no answer is given.
    """
    found = candidates(windowed, scores, max_words=max_words)
    return [spans[0].if_sure(abstain_below) if spans else NO_WORDS for spans in found]


def candidates(
    windowed: ContextWindows, scores: Sequence[SpanScores], *, max_words: int, top: int = 1
) -> list[list[Answer]]:
    """The best spans of each pair over all its windows, best first.

    Args:
        windowed: The pairs and their windows.
        scores: The scores of each window.
        max_words: The most words of an answer.
        top: How many spans to return at most.
    """
    of_pair: list[list[tuple[int, SpanScores]]] = [[] for _ in windowed.contexts]
    for place, each in zip(windowed.places, scores, strict=True):
        of_pair[place.pair].append((place.first, each))
    return [
        _of_context(context, windows, max_words, top)
        for context, windows in zip(windowed.contexts, of_pair, strict=True)
    ]


def _of_context(
    context: WindowedContext, windows: list[tuple[int, SpanScores]], max_words: int, top: int
) -> list[Answer]:
    spans: dict[tuple[int, int], float] = {}
    for first, scores in windows:
        for each in best_spans(scores.start, scores.end, max_words=max_words, top=top):
            key = (first + each.first, first + each.last)
            spans[key] = max(each.score, spans.get(key, -np.inf))
    best = sorted((SpanChoice(*key, score) for key, score in spans.items()), key=_order)[:top]
    return [
        _answer(context, each, _share(each.score, windows, len(context.spans))) for each in best
    ]


def _order(each: SpanChoice) -> tuple[float, int, int]:
    return -each.score, each.first, each.last


def _share(score: float, windows: list[tuple[int, SpanScores]], length: int) -> float:
    # There is no answer only if no window holds one.
    nones = [sum(each.none) for _, each in windows if each.none is not None]
    if nones:
        return float(1 / (1 + np.exp(np.clip(min(nones) - score, -500, 500))))
    total = sum(
        _log_sum([(first, each[side]) for first, each in windows], length) for side in (0, 1)
    )
    return min(1.0, float(np.exp(score - total)))


def _log_sum(parts: list[tuple[int, Any]], length: int) -> float:
    """Log-sum-exp over the words of a context, each with its highest score of all windows."""
    highest_scores: NDArray[np.float64] = np.full(length, -np.inf)
    for first, values in parts:
        here = highest_scores[first : first + len(values)]
        np.maximum(here, values, out=here)
    highest = highest_scores.max()
    return float(highest + np.log(np.exp(highest_scores - highest).sum()))


def _answer(context: WindowedContext, span: SpanChoice, score: float) -> Answer:
    start, end = context.slice_of(span.first, span.last)
    return Answer(context.text[start:end], start, end, score)
