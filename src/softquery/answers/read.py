"""What an answer may be, and how contexts are cut for it: it travels with a reader."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from softquery.answers.windows import ContextWindows, Paging, WindowedContext

NoAnswer = Literal["never", "learnt"]
Counting = Literal["squad", "cmrc"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingRules:
    """How questions about a context are answered and compared."""

    no_answer: NoAnswer = "never"
    """`"learnt"` where the context may hold no answer; rows without one in training make it so."""
    max_words: int = 20
    """The most words of an answer."""
    step: int = 256
    """Words from the beginning of a page to that of the next one, where a context is long."""
    max_question: int = 40
    """Words of a question that are read."""
    counting: Counting = "squad"
    """How answers are compared: by words as SQuAD does, or by Chinese characters as CMRC does."""

    def __post_init__(self) -> None:
        for name, kind in (("no_answer", NoAnswer), ("counting", Counting)):
            if getattr(self, name) not in get_args(kind):
                known = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r:.40}")
        for name in ("max_words", "step", "max_question"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r:.40}")

    def paging(self, size: int) -> Paging:
        """Pages of so many words.

        Every span of `max_words` words lies whole on one of them, if a page has that many more
        than a step.
        """
        return Paging(size=size, step=min(self.step, size), max_question=self.max_question)

    @property
    def abstain_below(self) -> float:
        """The score under which there is no answer, where a bundle's calibration says no other.

        Where it is learnt that there may be none, a half: below it none is likelier.
        """
        return 0.5 if self.no_answer == "learnt" else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As they stand in a bundle's config."""
        return asdict(self)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "ReadingRules":
        """Read strictly what `to_dict` gave; a `ValueError` names what does not fit.

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
    """How well each word of a page would begin and end the answer, before any softmax."""

    start: Floats
    end: Floats
    none: tuple[float, float] | None = None
    """Scores of no beginning and no end, where a model has learnt that there may be no answer."""


class SpanChoice(NamedTuple):
    """Words from `first` to `last`, and the sum of both scores."""

    first: int
    last: int
    score: float


def best_spans(start: Floats, end: Floats, *, max_words: int, top: int = 1) -> list[SpanChoice]:
    """The spans with the highest sums, best first; none ends before it begins or is too long.

    Of equal ones the earlier comes first, and of two that begin together the shorter.

    Args:
        start: [T]; minus infinity where no answer may begin.
        end: [T]; likewise.
        max_words: The most words of a span.
        top: How many are asked for.

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
    """A part of the context, or that it holds no answer."""

    text: str | None
    """`context[start:end]`; None for no answer."""
    start: int | None
    end: int | None
    score: float
    """How sure that span is, from 0 to 1; without an answer, the best span that was not sure
    enough. Of a model that has learnt that there may be no answer, it is the span's share against
    none; of another, the product of the probabilities of its beginning and its end."""

    def if_sure(self, limit: float) -> "Answer":
        """The answer, or none where its score is under a limit."""
        return self if self.score >= limit else Answer(None, None, None, self.score)

    def record(self, question: str, context: str) -> dict[str, Any]:
        """The answer as JSON gives it: repeating its input, numbers to six digits.

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
"""What a context without any word answers."""


def settle(
    sheet: ContextWindows,
    scores: Sequence[SpanScores],
    *,
    max_words: int,
    abstain_below: float = 0.0,
) -> list[Answer]:
    """One answer a pair: the best span of all its pages, or none where it is not sure enough.

    Args:
        sheet: The pairs.
        scores: Of each page.
        max_words: The most words of an answer.
        abstain_below: The score under which there is no answer.
    """
    found = candidates(sheet, scores, max_words=max_words)
    return [spans[0].if_sure(abstain_below) if spans else NO_WORDS for spans in found]


def candidates(
    sheet: ContextWindows, scores: Sequence[SpanScores], *, max_words: int, top: int = 1
) -> list[list[Answer]]:
    """The best spans of each pair over all its pages, best first.

    Args:
        sheet: The pairs.
        scores: Of each page.
        max_words: The most words of an answer.
        top: How many are asked for.
    """
    of_pair: list[list[tuple[int, SpanScores]]] = [[] for _ in sheet.passages]
    for place, each in zip(sheet.places, scores, strict=True):
        of_pair[place.pair].append((place.first, each))
    return [
        _of_passage(passage, pages, max_words, top)
        for passage, pages in zip(sheet.passages, of_pair, strict=True)
    ]


def _of_passage(
    passage: WindowedContext, pages: list[tuple[int, SpanScores]], max_words: int, top: int
) -> list[Answer]:
    spans: dict[tuple[int, int], float] = {}
    for first, scores in pages:
        for each in best_spans(scores.start, scores.end, max_words=max_words, top=top):
            key = (first + each.first, first + each.last)
            spans[key] = max(each.score, spans.get(key, -np.inf))
    best = sorted((SpanChoice(*key, score) for key, score in spans.items()), key=_order)[:top]
    return [_answer(passage, each, _share(each.score, pages, len(passage.spans))) for each in best]


def _order(each: SpanChoice) -> tuple[float, int, int]:
    return -each.score, each.first, each.last


def _share(score: float, pages: list[tuple[int, SpanScores]], length: int) -> float:
    # Where pages differ, there is none only if all of them say so.
    nones = [sum(each.none) for _, each in pages if each.none is not None]
    if nones:
        return float(1 / (1 + np.exp(np.clip(min(nones) - score, -500, 500))))
    total = sum(_log_sum([(first, each[side]) for first, each in pages], length) for side in (0, 1))
    return min(1.0, float(np.exp(score - total)))


def _log_sum(parts: list[tuple[int, Any]], length: int) -> float:
    """Over all words of a context, each counted once, by the page that scores it highest."""
    whole: NDArray[np.float64] = np.full(length, -np.inf)
    for first, values in parts:
        here = whole[first : first + len(values)]
        np.maximum(here, values, out=here)
    highest = whole.max()
    return float(highest + np.log(np.exp(whole - highest).sum()))


def _answer(passage: WindowedContext, span: SpanChoice, score: float) -> Answer:
    start, end = passage.slice_of(span.first, span.last)
    return Answer(passage.text[start:end], start, end, score)
