"""Where everything lies in the picture of one text, whatever draws it.

Lengths are in pixels of a screen at rest (96 to the inch), from the upper left corner.
"""

from dataclasses import dataclass
from typing import NamedTuple

from softquery.explain.answer import chances
from softquery.explain.layout import ANSWER_WIDTH, PADDING, bar_at
from softquery.explain.lettering import fitted, text_width, wrapped
from softquery.explain.markup import shortened, visible, visible_token
from softquery.explain.text_weights import TextWeights

TITLE = "Which words was the answer read off?"
WORD_SIZE = 15.0
WORD_HEIGHT, WORD_PAD = 26.0, 6.0
SHARE_SIZE = 12.0
SHARE_WIDTH = 56.0
"""Of the column that tells the sentences' weights."""

_WIDTH = 860.0
_GAP, _LINE, _BETWEEN = 3.0, 30.0, 8.0
_TEXT_LINE = 20.0
_LONGEST_WORD = 300.0


class PlacedWord(NamedTuple):
    """One word on its ground."""

    text: str
    x: float
    y: float
    width: float
    weight: float
    """Within its sentence."""
    strength: float
    """By which it is coloured, from 0 to 1."""


class Share(NamedTuple):
    """The weight of a sentence, beside its first line."""

    y: float
    height: float
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TextLayout:
    """The places of text, answer, words and sentences."""

    width: float
    height: float
    lines: tuple[str, ...]
    """The text itself, as much of it as is shown above."""
    answer_at: float
    rule_at: float
    words: tuple[PlacedWord, ...]
    shares: tuple[Share, ...]


def arrange_text(shown: TextWeights) -> TextLayout:
    """Give everything its place: text and answer above, words in lines below."""
    answer_at = _WIDTH - PADDING - ANSWER_WIDTH
    lines = wrapped(visible(shown.text), WORD_SIZE, answer_at - 2 * PADDING, max_lines=4) or ["∅"]
    lowest = max(40 + (len(lines) - 1) * _TEXT_LINE, bar_at(len(chances(shown)) - 1))
    rule_at = PADDING + lowest + 22
    words, shares, bottom = _flow(shown, rule_at + 22)
    return TextLayout(
        width=_WIDTH,
        height=bottom + PADDING,
        lines=tuple(lines),
        answer_at=answer_at,
        rule_at=rule_at,
        words=tuple(words),
        shares=tuple(shares),
    )


def line_at(place: int) -> float:
    """The height of a line of the text itself."""
    return 40 + place * _TEXT_LINE


def _flow(shown: TextWeights, top: float) -> tuple[list[PlacedWord], list[Share], float]:
    """Words one after the other, each sentence on lines of its own where it has a weight."""
    has_shares = shown.sentence_weights is not None
    left = PADDING + (SHARE_WIDTH if has_shares else 0.0)
    words: list[PlacedWord] = []
    shares: list[Share] = []
    y = top
    rows = zip(shown.sentences, shown.word_weights, shown.strengths(), strict=True)
    for place, (tokens, weights, strengths) in enumerate(rows):
        start, x = y, left
        for token, weight, strength in zip(tokens, weights, strengths, strict=True):
            text = fitted(shortened(visible_token(token)), WORD_SIZE, _LONGEST_WORD)
            width = text_width(text, WORD_SIZE) + 2 * WORD_PAD
            if x > left and x + width > _WIDTH - PADDING:
                x, y = left, y + _LINE
            words.append(PlacedWord(text, x, y, width, float(weight), float(strength)))
            x += width + _GAP
        if shown.sentence_weights is not None:
            weight = float(shown.sentence_weights[place])
            shares.append(Share(start, y - start + WORD_HEIGHT, weight))
        y += _LINE + _BETWEEN
    return words, shares, max(y - _BETWEEN, top)
