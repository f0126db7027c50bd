"""Where everything lies in the picture of one pair, whatever draws it.

Lengths are in pixels of a screen at rest (96 to the inch), from the upper left corner.
"""

from dataclasses import dataclass
from typing import NamedTuple

from softquery.explain.alignment import PairAlignment
from softquery.explain.answer import chances
from softquery.explain.colours import Side
from softquery.explain.heat_map import HeatMap, cell_size
from softquery.explain.lettering import text_width, wrapped
from softquery.explain.markup import visible

PADDING = 30.0
SENTENCE_SIZE = 16.0
ANSWER_WIDTH = 270.0
TITLE_SIZE, NOTE_SIZE = 14.0, 12.0
TITLE_AT, NOTE_AT, LEGEND_AT = 14.0, 34.0, (196.0, 26.0)
"""Heights of the texts above a map, and the corner of its legend."""
NOTE = "rows ask, columns are asked"
BAR_AT, BAR_WIDTH = 96.0, 118.0
"""Where the bars begin within the answer, and how long a certain one is."""

_GAP = 44.0
_HEADING = 50.0
"""What title and legend take above a map."""
_SMALLEST_WIDTH = 720.0
_FIRST_LINE, _LINE, _BETWEEN = 40.0, 22.0, 8.0
_FIRST_BAR, _BAR_LINE = 64.0, 20.0


class SentenceLine(NamedTuple):
    """One line of a sentence; the first of each sentence carries its mark."""

    side: Side
    text: str
    y: float
    is_first: bool


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


def arrange(alignment: PairAlignment) -> PairLayout:
    """Give everything its place: sentences and answer above, the two maps side by side below."""
    left, right = heat_maps(alignment)
    top = max(left.top, right.top)
    left_width, right_width = _map_width(left), _map_width(right)
    width = max(2 * PADDING + left_width + _GAP + right_width, _SMALLEST_WIDTH)
    answer_at = width - PADDING - ANSWER_WIDTH
    lines = _lines(alignment, answer_at - PADDING - 62)
    rule_at = PADDING + max(lines[-1].y, bar_at(len(chances(alignment)) - 1)) + 26
    maps_y = rule_at + 24 + _HEADING
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
    )


def heat_maps(alignment: PairAlignment) -> tuple[HeatMap, HeatMap]:
    """The map of each direction, in cells of one size."""
    first, second = alignment.first_tokens, alignment.second_tokens
    cell = cell_size(max(len(first), len(second)))
    forth = HeatMap(
        side="first", askers=first, asked=second, weights=alignment.first_to_second, cell=cell
    )
    back = HeatMap(
        side="second", askers=second, asked=first, weights=alignment.second_to_first, cell=cell
    )
    return forth, back


def heading_at(corner: tuple[float, float]) -> tuple[float, float]:
    """The upper left corner of what stands above a map."""
    return corner[0], corner[1] - _HEADING


def bar_at(row: int) -> float:
    """The height of the text beside a bar; the first row is 0."""
    return _FIRST_BAR + row * _BAR_LINE


def _map_width(each: HeatMap) -> float:
    bold = 1.12  # letters of titles are broader
    return max(each.width, bold * text_width("".join(each.title_parts), TITLE_SIZE))


def _lines(alignment: PairAlignment, width: float) -> list[SentenceLine]:
    sides: tuple[tuple[Side, str], ...] = (
        ("first", alignment.first),
        ("second", alignment.second),
    )
    lines: list[SentenceLine] = []
    y = _FIRST_LINE
    for side, sentence in sides:
        texts = wrapped(visible(sentence), SENTENCE_SIZE, width, max_lines=3) or ["∅"]
        for place, text in enumerate(texts):
            lines.append(SentenceLine(side, text, y + place * _LINE, place == 0))
        y += len(texts) * _LINE + _BETWEEN
    return lines
