"""Where the words of reasons lie in a picture, whatever draws them; lengths as in `layout`."""

from dataclasses import dataclass
from typing import NamedTuple

from softquery.explain.colours import Side
from softquery.explain.lettering import (
    HasLabels,
    fitted,
    shortened,
    spoken_label,
    text_width,
    visible,
    visible_token,
)
from softquery.explain.reasons import Reasons, WordReason, signed
from softquery.language import filled_in, localised

TITLE_SIZE, NOTE_SIZE, WORD_SIZE, NUMBER_SIZE = 14.0, 12.0, 15.0, 10.5
WORD_HEIGHT, WORD_PAD = 26.0, 6.0
TITLE_AT, NOTE_AT = 14.0, 34.0
WORD_TEXT_AT, NUMBER_AT = 18.0, 39.0
"""Heights of baselines: of the heading below its corner, of a word below its box's corner."""
DOT_WIDTH = 20.0
LEGEND_WIDTH = 120.0
LEAST_NUMBER = 0.05
"""The smallest change that has a number below its word."""

_HEADING = 52.0
_WORD_GAP, _WORD_LINE, _SENTENCE_GAP = 3.0, 47.0, 6.0
_LONGEST_WORD = 300.0
_LEGEND_ROOM = LEGEND_WIDTH + 40.0


class ReasonWord(NamedTuple):
    """One word, the coloured box behind it, and what is told below it and on pointing at it."""

    text: str
    number: str
    told: str
    x: float
    y: float
    width: float
    strength: float
    """What its colour shows: from -1, against the answer, to 1, for it."""


class Dot(NamedTuple):
    """The mark of a sentence of a pair, beside its first line."""

    side: Side
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasonLayout:
    """Title and note above, then the words of each sentence; from an upper left corner at 0."""

    title: str
    note: str
    scale: float
    """The change at both ends of the legend."""
    legend_at: float
    words: tuple[ReasonWord, ...]
    dots: tuple[Dot, ...]
    height: float


def reason_title(reasons: Reasons, explained: HasLabels) -> str:
    """What is shown, as a question."""
    named = localised("the grade")
    if reasons.answer:
        named = f"“{shortened(visible(spoken_label(explained, reasons.answer)))}”"
    if reasons.method == "left out":
        return filled_in("What does {answer} owe to each word?", {"answer": named})
    return filled_in("What does the state of each word add to {answer}?", {"answer": named})


def reason_note(reasons: Reasons) -> str:
    """What the numbers mean, in one line."""
    if reasons.method == "left out":
        return localised(
            "by how much its log-odds fall without the word; a word below 0 speaks against it"
        )
    base, score = signed(reasons.base or 0.0), signed(reasons.score)
    return filled_in(
        "the numbers and the bias, {base}, add up to the logit, {score} above the others' mean",
        {"base": base, "score": score},
    )


def told(reason: WordReason) -> str:
    """What is told of a word on pointing at it.

    >>> told(WordReason("not", 0, 1, 1.5, 0.25))
    '+1.50; 25.0% without it'
    """
    from softquery.explain.layout import percent  # which places this layout

    if reason.probability is None:
        return signed(reason.change)
    without = filled_in("{share} without it", {"share": percent(reason.probability)})
    return f"{signed(reason.change)}; {without}"


def arrange_reasons(
    reasons: Reasons, width: float, explained: HasLabels, *, is_pair: bool
) -> ReasonLayout:
    """Lay out words one after the other; each sentence begins a new line.

    Args:
        reasons: What is shown.
        width: Of the room that there is.
        explained: What has them, and names for its labels.
        is_pair: Whether the sentences are two texts, which are marked as such.
    """
    sides: tuple[Side, Side] = ("first", "second")
    left = DOT_WIDTH if is_pair else 0.0
    words: list[ReasonWord] = []
    dots: list[Dot] = []
    strengths, y = reasons.strengths(), _HEADING
    rows: list[list[WordReason]] = [[] for _ in reasons.words]
    for each in reasons.listed():
        rows[each.sentence].append(each)
    for place, row in enumerate(rows):
        x = left
        if is_pair:
            dots.append(Dot(sides[place], y))
        for each in row:
            text = fitted(shortened(visible_token(each.word)), WORD_SIZE, _LONGEST_WORD)
            number = signed(each.change) if abs(each.change) >= LEAST_NUMBER else ""
            room = max(text_width(text, WORD_SIZE), text_width(number, NUMBER_SIZE))
            wide = room + 2 * WORD_PAD
            if x > left and x + wide > width:
                x, y = left, y + _WORD_LINE
            strength = float(strengths[each.sentence][each.position])
            words.append(ReasonWord(text, number, told(each), x, y, wide, strength))
            x += wide + _WORD_GAP
        y += _WORD_LINE + _SENTENCE_GAP
    room = width - _LEGEND_ROOM
    return ReasonLayout(
        title=fitted(reason_title(reasons, explained), TITLE_SIZE * 1.12, width),
        note=fitted(reason_note(reasons), NOTE_SIZE, room),
        scale=reasons.scale,
        legend_at=width - LEGEND_WIDTH,
        words=tuple(words),
        dots=tuple(dots),
        height=max(y - _SENTENCE_GAP, _HEADING) if words else _HEADING,
    )
