"""One direction as a heat map: rows ask, columns are asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.explain.colours import NUM_LEVELS, Side, level_class, level_of
from softquery.explain.lettering import (
    escaped,
    fitted,
    isolated,
    shortened,
    text_width,
    visible_token,
)
from softquery.language import localised

TitleParts = tuple[str, str, str, str]
LEGEND_WIDTH = 120.0
LEGEND_TICKS = (0.0, 0.1, 0.25, 0.5, 1.0)

_LARGEST_CELL, _SMALLEST_CELL = 34.0, 14.0
_ROOM = 400.0
"""The longest side of a map whose cells can still shrink."""
_LONGEST_LABEL = 7.5
"""The most width of a label, in multiples of its font size."""
_NUMBER_FROM = 25.0
"""The smallest cell that shows a number."""
_LEAST_NUMBER = 0.045
"""The smallest weight that is shown as a number."""
_EVERY_CELL_UP_TO = 2500
"""Larger maps omit cells without visible weight, which would take megabytes."""


def cell_size(num_tokens: int) -> float:
    """The side of a cell in a map whose longer sentence has this many tokens.

    >>> cell_size(3), cell_size(20), cell_size(400)
    (34.0, 20.0, 14.0)
    """
    return float(min(_LARGEST_CELL, max(_SMALLEST_CELL, _ROOM / max(num_tokens, 1))))


def split_title(text: str) -> tuple[str, str, str]:
    """What stands before, between and after the two names in the title of a map.

    >>> split_title("Each {own} asks the {other}")
    ('Each ', ' asks the ', '')
    """
    before, rest = text.split("{own}")
    between, after = rest.split("{other}")
    return before, between, after


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """The measures of one map, and its markup."""

    side: Side
    """Which sentence asks."""
    askers: Sequence[str]
    asked: Sequence[str]
    weights: NDArray[np.float32]
    cell: float
    title: TitleParts | None = None
    """Where the texts are not two sentences of a pair."""
    found_rows: range = range(0)
    """The rows of an answer that is a part of the text that asks."""
    found_columns: range = range(0)
    """Likewise in the text that is asked."""

    @property
    def title_parts(self) -> TitleParts:
        """The title in four parts; the second and the fourth name the sentences."""
        if self.title:
            return self.title
        before, between, _ = split_title(localised("Each word of the {own} asks the {other}"))
        own = localised("first sentence" if self.side == "first" else "second sentence")
        return (before, own, between, localised("first" if self.other == "first" else "second"))

    @property
    def nothing(self) -> str:
        """The text shown in place of a map without cells."""
        if self.askers:
            return localised("there is no word that is asked")
        return localised("there is no word that asks")

    @property
    def other(self) -> Side:
        """The sentence that is asked."""
        return "second" if self.side == "first" else "first"

    @property
    def font_size(self) -> float:
        """The font size of the labels, as large as the rows allow."""
        return min(14.0, max(10.5, self.cell * 0.6))

    @property
    def row_labels(self) -> list[str]:
        """The tokens that ask, cut to the room there is."""
        return [self._label(each) for each in self.askers]

    @property
    def column_labels(self) -> list[str]:
        """The tokens that are asked, cut to the room there is."""
        return [self._label(each) for each in self.asked]

    @property
    def angle(self) -> int:
        """The rotation of column labels in degrees; 0 where each fits over its column."""
        if all(self._length(label) <= self.cell - 1 for label in self.column_labels):
            return 0
        return 45 if self.cell >= 24 else 60

    @property
    def left(self) -> float:
        """The width of the row labels."""
        return max(map(self._length, self.row_labels), default=0.0) + 10

    @property
    def top(self) -> float:
        """The height that the column labels need."""
        if self.angle == 0:
            return self.font_size + 10
        longest = max(map(self._length, self.column_labels))
        return longest * float(np.sin(np.radians(self.angle))) + 18

    @property
    def width(self) -> float:
        """The width of labels and cells, and of rotated labels beyond the last column."""
        angle = self.angle
        lean = float(np.cos(np.radians(angle))) if angle else 0.0
        ends = [
            (column + 0.5) * self.cell + self._length(label) * lean + 8
            for column, label in enumerate(self.column_labels)
        ]
        return self.left + max(len(self.asked) * self.cell, *ends, 0.0)

    def height(self, top: float) -> float:
        """The height of labels and cells, given the height of the column labels."""
        return top + max(len(self.askers), 1) * self.cell

    @property
    def has_number(self) -> NDArray[np.bool_]:
        """Which cells show their weight as a number: those large and heavy enough."""
        shown: NDArray[np.bool_] = np.vectorize(self._shows_number, otypes=[bool])(self.weights)
        return shown

    def number(self, row: int, column: int) -> str:
        """A weight in two decimals, without the leading zero."""
        text = f"{float(self.weights[row, column]):.2f}"
        return text[1:] if text[0] == "0" else "1"

    def markup(self, top: float) -> str:
        """Labels and cells as SVG, with their upper left corner at the origin."""
        body = self._nothing()
        if self.weights.size:
            body = self._columns() + self._rows() + self._frame()
        return f'<g transform="translate({_n(self.left)} {_n(top)})">\n{body}</g>\n'

    def legend(self) -> str:
        """The colour ramp with ticks; each weight stands below its colour."""
        step = LEGEND_WIDTH / (NUM_LEVELS + 1)
        prefix = level_class(self.side, 0)[0]
        steps = "".join(
            f'<rect class="{prefix}{level}" x="{_n(level * step)}" y="0"'
            f' width="{_n(step + 0.3)}" height="8"/>'
            for level in range(NUM_LEVELS + 1)
        )
        ticks = "".join(
            f'<text class="tick" x="{_n((level_of(weight) + 0.5) * step)}" y="18"'
            f' text-anchor="middle">{weight:g}</text>'
            for weight in LEGEND_TICKS
        )
        return f"{steps}{ticks}\n"

    def _columns(self) -> str:
        parts, angle = [], self.angle
        for column, (token, label) in enumerate(zip(self.asked, self.column_labels, strict=True)):
            x = (column + 0.5) * self.cell
            place = (
                f'transform="translate({_n(x + 3)} -8) rotate(-{angle})"'
                if angle
                else f'x="{_n(x)}" y="-8" text-anchor="middle"'
            )
            strong = " strong" if column in self.found_columns else ""
            parts.append(self._word(token, label, f"column {self.other}{strong}", place))
        return "\n".join(parts) + "\n"

    def _rows(self) -> str:
        y = self.cell / 2 + self.font_size * 0.35
        place = f'x="-9" y="{_n(y)}" text-anchor="end"'
        asked = [_named(each) for each in self.asked]
        parts = []
        for row, (token, label) in enumerate(zip(self.askers, self.row_labels, strict=True)):
            strong = " strong" if row in self.found_rows else ""
            parts.append(
                f'<g class="row" data-side="{self.side}" data-index="{row}"'
                f' transform="translate(0 {_n(row * self.cell)})">'
                f"{self._word(token, label, f'{self.side}{strong}', place)}"
                f"{self._cells(row, asked)}</g>\n"
            )
        return "".join(parts)

    @property
    def frame(self) -> tuple[float, float, float, float] | None:
        """The box around the answer within the cells: x, y, width and height; None without one."""
        height, width = len(self.askers) * self.cell, len(self.asked) * self.cell
        if len(self.found_rows):
            found = self.found_rows
            return (0.0, found.start * self.cell, width, len(found) * self.cell)
        if len(self.found_columns):
            found = self.found_columns
            return (found.start * self.cell, 0.0, len(found) * self.cell, height)
        return None

    def _frame(self) -> str:
        if self.frame is None:
            return ""
        x, y, width, height = map(_n, self.frame)
        return f'<rect class="found" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>\n'

    def _word(self, token: str, label: str, classes: str, place: str) -> str:
        full = shortened(visible_token(token))
        title = f"<title>{escaped(full)}</title>" if label != full else ""
        size = f'font-size="{_n(self.font_size)}"'
        return f'<text class="{classes}" {place} {size}>{title}{escaped(label)}</text>'

    def _cells(self, row: int, asked: Sequence[str]) -> str:
        sparse = self.weights.size > _EVERY_CELL_UP_TO
        asker = _named(self.askers[row])
        parts = [self._ground()] if sparse else []
        for column, weight in enumerate(self.weights[row].tolist()):
            if sparse and level_of(weight) == 0:
                continue
            title = f"{asker} → {asked[column]}: {weight:.2f}"
            parts.append(self._cell(column, weight, title))
            if self._shows_number(weight):
                parts.append(self._number(row, column, weight))
        return "".join(parts)

    def _cell(self, column: int, weight: float, title: str) -> str:
        gap, corner = (2.0, 4.0) if self.cell >= 20 else (1.0, 2.0)
        x, side = _n(column * self.cell + gap / 2), _n(self.cell - gap)
        return (
            f'<rect class="{level_class(self.side, weight)}" x="{x}" y="{_n(gap / 2)}"'
            f' width="{side}" height="{side}" rx="{_n(corner)}"><title>{title}</title></rect>'
        )

    def _ground(self) -> str:
        """The background of a row whose empty cells are omitted."""
        width, height = _n(len(self.asked) * self.cell - 1), _n(self.cell - 1)
        return (
            f'<rect class="{level_class(self.side, 0.0)}" x="0.5" y="0.5" width="{width}"'
            f' height="{height}" rx="2"/>'
        )

    def _shows_number(self, weight: float) -> bool:
        return self.cell >= _NUMBER_FROM and weight >= _LEAST_NUMBER

    def _number(self, row: int, column: int, weight: float) -> str:
        return (
            f'<text class="number ink-{level_class(self.side, weight)}"'
            f' x="{_n((column + 0.5) * self.cell)}" y="{_n(self.cell / 2 + 4)}"'
            f' text-anchor="middle">{self.number(row, column)}</text>'
        )

    def _nothing(self) -> str:
        return f'<text class="note" y="{_n(self.cell / 2)}">{self.nothing}</text>\n'

    def _label(self, token: str) -> str:
        return fitted(
            shortened(visible_token(token)), self.font_size, _LONGEST_LABEL * self.font_size
        )

    def _length(self, label: str) -> float:
        return text_width(label, self.font_size)


def _named(token: str) -> str:
    return escaped(isolated(shortened(visible_token(token))))


def _n(value: float) -> str:
    """A coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
