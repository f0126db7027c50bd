"""Leave out one word after the other, and see what becomes of the answer; needs no torch.

Words are taken out of what the model read, so that all others keep their tokens. All variants are
answered in one call, which backends batch by length.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.explain import Reasons
from softquery.text import TextPipeline
from softquery.text.text_config import SUBWORDS

MOST_PARTS = 64
"""The most parts into which a sentence is cut; in a longer one neighbouring words are one part."""
Read = Sequence[Sequence[Any]]
"""Sentences as a model reads them: ids, or words where it spells them."""
Probabilities = NDArray[np.float64]


class Part(NamedTuple):
    """A word, or several neighbouring ones, and where its tokens stand in what was read."""

    text: str
    sentence: int
    first: int
    last: int
    """The place of its last token."""


def word_parts(words: Sequence[str], sentence: int = 0, *, most: int = MOST_PARTS) -> list[Part]:
    """The parts of a sentence of words, each of them one token.

    >>> [part.text for part in word_parts(["a", "man", "eats"], most=2)]
    ['a man', 'eats']
    """
    size = _together(len(words), most)
    return [
        Part(" ".join(some), sentence, start, start + len(some) - 1)
        for start in range(0, len(words), size)
        for some in [words[start : start + size]]
    ]


def token_parts(
    text: str, pipeline: TextPipeline, sentence: int = 0, *, most: int = MOST_PARTS
) -> list[Part]:
    """The words of a text as it is encoded; the pieces of a word are one part, marks are none.

    >>> from softquery.text import TextConfig, build_pipeline
    >>> pipeline = build_pipeline(["a man"], TextConfig(boundaries=True))
    >>> token_parts("A man", pipeline)[-1]
    Part(text='man', sentence=0, first=2, last=2)
    """
    (encoded,) = pipeline.encode([text])
    has_marks, has_pieces = pipeline.config.boundaries, pipeline.config.unit in SUBWORDS
    words: list[tuple[int, int, int, int]] = []  # where each stands in the text and in the tokens
    for place, (start, end) in enumerate(encoded.offsets):
        if has_marks and place in (0, len(encoded.offsets) - 1):
            continue
        if has_pieces and words and _goes_on(text, words[-1][1], start):
            words[-1] = (words[-1][0], end, words[-1][2], place)
        else:
            words.append((start, end, place, place))
    size = _together(len(words), most)
    return [
        Part(text[some[0][0] : some[-1][1]], sentence, some[0][2], some[-1][3])
        for start in range(0, len(words), size)
        for some in [words[start : start + size]]
    ]


def _together(num_words: int, most: int) -> int:
    """How many neighbouring words are one part."""
    return max(1, -(-num_words // most))


def _goes_on(text: str, end: int, start: int) -> bool:
    """Whether a piece that starts here is of the same word as the piece that ends there.

    >>> _goes_on("playing", 4, 4), _goes_on("play it", 4, 5), _goes_on("公园", 1, 1)
    (True, False, False)
    """
    if not 0 < end == start < len(text):
        return False
    beside = text[end - 1], text[start]
    return all(each.isalnum() and not "\u2e80" <= each <= "\u9fff" for each in beside)


def without(read: Read, part: Part) -> list[Sequence[Any]]:
    """What was read, but for one part.

    >>> without([[2, 7, 8, 3]], Part("b", 0, 2, 2))
    [[2, 7, 3]]
    """
    sentences = list(read)
    kept = sentences[part.sentence]
    sentences[part.sentence] = [*kept[: part.first], *kept[part.last + 1 :]]
    return sentences


def leave_out(
    read: Read,
    parts: Sequence[Part],
    probabilities_of: Callable[[list[list[Sequence[Any]]]], Probabilities],
    column: int,
    answer: str,
) -> Reasons:
    """What an answer owes to every part of what was read.

    Args:
        read: The sentences that led to the answer.
        parts: What is left out in turn.
        probabilities_of: From variants of what was read to rows of probabilities.
        column: Of the answer.
        answer: Its label; empty for a grade.
    """
    found = probabilities_of([list(read), *(without(read, part) for part in parts)])
    odds = answer_log_odds(found, column)
    rows: list[list[int]] = [[] for _ in read]
    for place, part in enumerate(parts):
        rows[part.sentence].append(place)
    return Reasons(
        answer=answer,
        method="left out",
        score=float(odds[0]),
        probability=float(found[0, column]),
        words=tuple(tuple(parts[place].text for place in some) for some in rows),
        changes=tuple(odds[0] - odds[[place + 1 for place in some]] for some in rows),
        probabilities=tuple(found[[place + 1 for place in some], column] for some in rows),
    )


def answer_log_odds(probabilities: Probabilities, column: int) -> Probabilities:
    """The log-odds of one column of rows of probabilities; a lone column is a share of a scale.

    >>> answer_log_odds(np.array([[0.25, 0.75], [0.5, 0.5]]), 1).round(2).tolist()
    [1.1, 0.0]
    """
    chosen = probabilities[:, column]
    others = np.delete(probabilities, column, axis=1)
    rest = others.sum(axis=1) if others.shape[1] else 1 - chosen
    tiny = np.finfo(np.float64).tiny
    odds: Probabilities = np.log(np.maximum(chosen, tiny)) - np.log(np.maximum(rest, tiny))
    return odds
