"""Where everything lies in the pictures of a pair and of a text, whatever draws them.

Lengths are in CSS pixels (96 to the inch), from the upper left corner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from softquery.explain.alignment import SENTENCES, PairAlignment
from softquery.explain.colours import Side
from softquery.explain.heat_map import HeatMap, TitleParts, cell_size, split_title
from softquery.explain.lettering import (
    LABEL_ROOM,
    HasLabels,
    LabelNames,
    fitted,
    shortened,
    spoken_label,
    text_width,
    visible,
    visible_token,
    wrapped,
)
from softquery.explain.reason_layout import ReasonLayout, arrange_reasons
from softquery.explain.reasons import Reasons
from softquery.explain.text_weights import TextWeights
from softquery.language import localised

_MOST_LABELS = 5


class HasAnswer(Protocol):
    """An explanation that is drawn with its answer on top."""

    @property
    def label(self) -> str | None:
        """The answer; None for a grade, or where the model abstains."""

    @property
    def score(self) -> float:
        """The probability of the label, or the grade."""

    @property
    def probabilities(self) -> dict[str, float]:
        """One per label; empty for a grade."""

    @property
    def label_names(self) -> LabelNames:
        """What pictures call the labels, by language."""


class Chance(NamedTuple):
    """One label with its probability."""

    label: str
    probability: float
    chosen: bool


def answer_kind(alignment: HasAnswer) -> str:
    """What the headline shows: `answer`, or `grade` where the model has no labels."""
    return "answer" if alignment.label is not None or alignment.probabilities else "grade"


def headline(alignment: HasAnswer) -> str:
    """The answer in short: the label's name, the grade, or that there is no answer."""
    if alignment.label is not None:
        return spoken_label(alignment, alignment.label)
    return localised("no answer") if alignment.probabilities else f"{alignment.score:.2f}"


def chances(alignment: HasAnswer) -> list[Chance]:
    """The labels with their probabilities, as the model orders them.

    Of more than five labels only the five likeliest are given, likeliest first.
    """
    named = [
        Chance(spoken_label(alignment, label), probability, label == alignment.label)
        for label, probability in alignment.probabilities.items()
    ]
    if len(named) <= _MOST_LABELS:
        return named
    return sorted(named, key=lambda each: -each.probability)[:_MOST_LABELS]


def percent(probability: float) -> str:
    """A probability as a percentage; only 0 and 1 are shown as 0% and 100%.

    >>> percent(0.937), percent(0.99999), percent(0.0002), percent(1.0)
    ('93.7%', '>99.9%', '<0.1%', '100%')
    """
    if 0 < probability < 0.001:
        return "<0.1%"
    if 0.999 < probability < 1:
        return ">99.9%"
    return f"{probability:.1%}" if 0 < probability < 1 else f"{min(probability, 1):.0%}"


PADDING = 30.0
SENTENCE_SIZE = 16.0
ANSWER_WIDTH = 270.0
TITLE_SIZE, NOTE_SIZE = 14.0, 12.0
TITLE_AT, NOTE_AT, LEGEND_AT = 14.0, 34.0, (196.0, 26.0)
"""Heights of the texts above a map, and the corner of its legend."""
NOTE = "rows ask, columns are asked"
BAR_AT, BAR_WIDTH = LABEL_ROOM + 14, 86.0
"""Where the bars begin within the answer, and the length of a bar for probability 1."""

_GAP = 44.0
HEADING = 50.0
"""The height of title and legend above a map."""
REASONS_GAP = 22.0
"""The room above and below the words of reasons."""
_SMALLEST_WIDTH = 720.0
_FIRST_LINE, _LINE, _BETWEEN = 40.0, 22.0, 8.0
_FIRST_BAR, _BAR_LINE = 64.0, 20.0


class SentenceLine(NamedTuple):
    """One line of a sentence; the first line of each sentence is marked with a dot."""

    side: Side
    text: str
    y: float
    is_first: bool


class PlacedReasons(NamedTuple):
    """Reasons, the height of their upper end, and that of the line below them."""

    layout: ReasonLayout
    y: float
    rule_at: float


def placed_reasons(
    reasons: Reasons | None, rule_at: float, width: float, explained: HasLabels, *, is_pair: bool
) -> PlacedReasons | None:
    """The place of reasons below a line, in a picture of this width; none without reasons."""
    if reasons is None:
        return None
    arranged = arrange_reasons(reasons, width - 2 * PADDING, explained, is_pair=is_pair)
    y = rule_at + REASONS_GAP
    return PlacedReasons(arranged, y, y + arranged.height + REASONS_GAP - 6)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairLayout:
    """The places of sentences, answer and maps."""

    width: float
    height: float
    lines: tuple[SentenceLine, ...]
    answer_at: float
    """Where the answer begins, to the right of the sentences."""
    rule_at: float
    """The height of the line below sentences and answer."""
    maps: tuple[HeatMap, HeatMap]
    maps_at: tuple[tuple[float, float], tuple[float, float]]
    """The upper left corner of each map; its title and legend stand above it."""
    top: float
    """The height that both maps give to column labels, so that their cells begin in line."""
    reasons: PlacedReasons | None


def arrange(alignment: PairAlignment) -> PairLayout:
    """Lay out a pair: sentences and answer above, the two maps side by side below."""
    left, right = heat_maps(alignment)
    top = max(left.top, right.top)
    left_width, right_width = map_width(left), map_width(right)
    width = max(2 * PADDING + left_width + _GAP + right_width, _SMALLEST_WIDTH)
    answer_at = width - PADDING - ANSWER_WIDTH
    lines = _lines(alignment, answer_at - PADDING - 62)
    rule_at = PADDING + max(lines[-1].y, bar_at(len(chances(alignment)) - 1)) + 26
    reasons = placed_reasons(alignment.reasons, rule_at, width, alignment, is_pair=True)
    maps_y = (reasons.rule_at if reasons else rule_at) + 24 + HEADING
    # In the right half where there is room, close to the first map where there is none.
    right_x = max(PADDING + left_width + _GAP, min(width / 2, width - PADDING - right_width))
    return PairLayout(
        width=width,
        height=maps_y + max(left.height(top), right.height(top)) + PADDING,
        lines=tuple(lines),
        answer_at=answer_at,
        rule_at=rule_at,
        maps=(left, right),
        maps_at=((PADDING, maps_y), (right_x, maps_y)),
        top=top,
        reasons=reasons,
    )


def heat_maps(alignment: PairAlignment) -> tuple[HeatMap, HeatMap]:
    """The map of each direction, in cells of one size."""
    first, second = alignment.first_tokens, alignment.second_tokens
    cell = cell_size(max(len(first), len(second)))
    names = alignment.sides
    forth = HeatMap(
        side="first",
        askers=first,
        asked=second,
        weights=alignment.first_to_second,
        cell=cell,
        title=pair_title(names[0], names[1]),
        found_columns=alignment.found,
    )
    back = HeatMap(
        side="second",
        askers=second,
        asked=first,
        weights=alignment.second_to_first,
        cell=cell,
        title=pair_title(names[1], names[0]),
        found_rows=alignment.found,
    )
    return forth, back


def pair_title(own: str, other: str) -> TitleParts | None:
    """The title of a map of two texts that are called so; None for the sentences of a pair."""
    if own in SENTENCES:
        return None
    before, between, _ = split_title(localised("Each word of the {own} asks the {other}"))
    return (before, localised(own), between, localised(other))


def heading_at(corner: tuple[float, float]) -> tuple[float, float]:
    """The upper left corner of the heading above a map."""
    return corner[0], corner[1] - HEADING


def bar_at(row: int) -> float:
    """The baseline of the text beside the bar of a row, counted from 0."""
    return _FIRST_BAR + row * _BAR_LINE


def map_width(each: HeatMap) -> float:
    """The width of a map, or of its title where that is wider."""
    bold = 1.12  # titles are set in bold
    return max(each.width, bold * text_width("".join(each.title_parts), TITLE_SIZE))


def _lines(alignment: PairAlignment, width: float) -> list[SentenceLine]:
    return sentence_lines((("first", alignment.first), ("second", alignment.second)), width)


def sentence_lines(texts: Sequence[tuple[Side, str]], width: float) -> list[SentenceLine]:
    """The lines of texts below each other, each of at most three lines."""
    lines: list[SentenceLine] = []
    y = _FIRST_LINE
    for side, sentence in texts:
        shown = wrapped(visible(sentence), SENTENCE_SIZE, width, max_lines=3) or ["∅"]
        for place, text in enumerate(shown):
            lines.append(SentenceLine(side, text, y + place * _LINE, place == 0))
        y += len(shown) * _LINE + _BETWEEN
    return lines


TITLE = "Which words was the answer read off?"
WHY = "Why this answer?"
"""Stands above texts whose reasons are shown, too."""
WORD_SIZE = 15.0
WORD_HEIGHT, WORD_PAD = 26.0, 6.0
SHARE_SIZE = 12.0
SHARE_WIDTH = 56.0
"""The width of the column with the weights of the sentences."""

_WIDTH = 860.0
_WORD_GAP, _WORD_LINE, _SENTENCE_GAP = 3.0, 30.0, 8.0
_TEXT_LINE, _TEXT_HEADING = 20.0, 28.0
_LONGEST_WORD = 300.0


class PlacedWord(NamedTuple):
    """One word and the coloured box behind it."""

    text: str
    x: float
    y: float
    width: float
    weight: float
    """Its weight within its sentence."""
    strength: float
    """What its colour shows, from 0 to 1."""


class Share(NamedTuple):
    """The weight of a sentence, beside its first line."""

    y: float
    height: float
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TextLayout:
    """The places of text, answer, words and sentences; see `PairLayout` for what both have."""

    words: tuple[PlacedWord, ...]
    shares: tuple[Share, ...]
    lines: tuple[str, ...]
    """The lines of the text that are shown above; long texts are cut."""
    reasons: tuple[PlacedReasons, ...]
    """What was left out, and what adds up, as far as they are known."""
    title_at: float | None
    """Of the title above the weights, where reasons stand above it."""
    width: float
    height: float
    answer_at: float
    rule_at: float


def arrange_text(shown: TextWeights) -> TextLayout:
    """Lay out a text: the text and the answer above, its words in lines below."""
    answer_at = _WIDTH - PADDING - ANSWER_WIDTH
    lines = wrapped(visible(shown.text), WORD_SIZE, answer_at - 2 * PADDING, max_lines=4) or ["∅"]
    lowest = max(40 + (len(lines) - 1) * _TEXT_LINE, bar_at(len(chances(shown)) - 1))
    rule_at = PADDING + lowest + 22
    reasons: list[PlacedReasons] = []
    below = rule_at
    for each in (shown.reasons, shown.contributions):
        placed = placed_reasons(each, below, _WIDTH, shown, is_pair=False)
        if placed is not None:
            reasons.append(placed)
            below = placed.rule_at
    title_at = below + REASONS_GAP + TITLE_AT if reasons else None
    words, shares, bottom = _flow(shown, below + 22 + (_TEXT_HEADING if reasons else 0.0))
    return TextLayout(
        words=tuple(words),
        shares=tuple(shares),
        lines=tuple(lines),
        reasons=tuple(reasons),
        title_at=title_at,
        width=_WIDTH,
        height=bottom + PADDING,
        answer_at=answer_at,
        rule_at=rule_at,
    )


def text_question(shown: TextWeights) -> str:
    """What a picture of a text answers."""
    return localised(TITLE if shown.reasons is None else WHY)


def line_at(place: int) -> float:
    """The baseline of a line of the text above."""
    return 40 + place * _TEXT_LINE


def _flow(shown: TextWeights, top: float) -> tuple[list[PlacedWord], list[Share], float]:
    """Place words one after the other; each sentence begins a new line."""
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
                x, y = left, y + _WORD_LINE
            words.append(PlacedWord(text, x, y, width, float(weight), float(strength)))
            x += width + _WORD_GAP
        if shown.sentence_weights is not None:
            weight = float(shown.sentence_weights[place])
            shares.append(Share(start, y - start + WORD_HEIGHT, weight))
        y += _WORD_LINE + _SENTENCE_GAP
    return words, shares, max(y - _SENTENCE_GAP, top)
