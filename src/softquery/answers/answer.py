"""Answers to questions about a context, made of what a model says about its pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers.pages import ContextWindows, WindowedContext
from softquery.answers.span_choice import SpanChoice, SpanScores, best_spans


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
