"""The picture as a PNG, drawn by matplotlib (extra `[plot]`), laid out as the SVG is."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from softquery.atomic import write_bytes
from softquery.errors import MissingExtra
from softquery.explain.alignment import PairAlignment
from softquery.explain.answer import HasAnswer, answer_kind, chances, headline, percent
from softquery.explain.colours import NUM_LEVELS, Side, ink_on, level_of, ramp
from softquery.explain.fonts import Fonts, choose_fonts
from softquery.explain.heat_map import LEGEND_TICKS, LEGEND_WIDTH, HeatMap
from softquery.explain.layout import (
    ANSWER_WIDTH,
    BAR_AT,
    BAR_WIDTH,
    LEGEND_AT,
    NOTE,
    NOTE_AT,
    PADDING,
    SENTENCE_SIZE,
    TITLE_AT,
    TITLE_SIZE,
    PairLayout,
    arrange,
    bar_at,
    heading_at,
)
from softquery.explain.lettering import fitted
from softquery.explain.markup import visible

_UNITS_PER_INCH, _POINTS_PER_INCH = 96, 72
_DOTS_PER_INCH = 192
_MOST_DOTS = 40e6
"""Beyond it the picture gets coarser: at 400 words a side it would take gigabytes."""
_TEXT, _QUIET, _CHOSEN, _BAR, _TRACK = "#1b1a2b", "#6a6a80", "#1f8a5b", "#a9abc0", "#eeeff6"
_INK: dict[Side, str] = {"first": "#4038b4", "second": "#a14b10"}


def to_png(alignment: PairAlignment, path: str | PathLike[str]) -> Path:
    """Draw who asked whom as a PNG, on white, written whole.

    Warns where no installed font has the characters; SVG and HTML leave fonts to the reader.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InputError: If the disk refuses.
    """
    require_matplotlib()
    layout = arrange(alignment)
    canvas = new_canvas(layout.width, layout.height, _texts(alignment, layout))
    _draw_sentences(canvas, alignment, layout)
    draw_answer(canvas.moved(layout.answer_at, PADDING), alignment)
    for each, corner in zip(layout.maps, layout.maps_at, strict=True):
        _draw_heading(canvas.moved(*heading_at(corner)), each)
        _draw_map(canvas.moved(corner[0] + each.left, corner[1] + layout.top), each)
    return write_canvas(canvas, path)


def require_matplotlib() -> None:
    """Say which extra draws PNGs, where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("plot", needed_for="drawing a PNG") from error


def new_canvas(width: float, height: float, texts: Iterable[str]) -> "Canvas":
    """White paper of this size, with fonts that can write the texts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / _UNITS_PER_INCH, height / _UNITS_PER_INCH), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return Canvas(axes=axes, fonts=choose_fonts(texts))


def write_canvas(canvas: "Canvas", path: str | PathLike[str]) -> Path:
    """Write what was drawn, whole or not at all."""
    figure = canvas.axes.figure
    width, height = figure.get_size_inches()
    contents = BytesIO()
    dots = min(_DOTS_PER_INCH, (_MOST_DOTS / (width * height)) ** 0.5)
    figure.savefig(contents, format="png", dpi=dots)
    write_bytes(path, contents.getvalue())
    return Path(path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Canvas:
    """matplotlib's axes in the units of the layout, from a corner of one's own."""

    axes: Any
    fonts: Fonts
    x: float = 0.0
    y: float = 0.0

    def moved(self, x: float, y: float) -> "Canvas":
        """The same paper from another corner."""
        return Canvas(axes=self.axes, fonts=self.fonts, x=self.x + x, y=self.y + y)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        colour: str = _TEXT,
        anchor: str = "left",
        weight: str = "normal",
        angle: float = 0.0,
    ) -> None:
        """Write on a baseline, as SVG does; dollar signs are no formulas here."""
        drawable = self.fonts.drawable(text)
        families = self.fonts.families_for(drawable)
        self.axes.text(
            self.x + x,
            self.y + y,
            drawable,
            fontsize=size * _POINTS_PER_INCH / _UNITS_PER_INCH,
            color=colour,
            ha=anchor,
            va="baseline",
            weight=weight if len(families) == 1 else "normal",  # few others have a bold face
            rotation=angle,
            rotation_mode="anchor",
            family=families,
            parse_math=False,
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled area."""
        from matplotlib.patches import Rectangle

        corner = (self.x + x, self.y + y)
        self.axes.add_patch(Rectangle(corner, width, height, color=colour, linewidth=0))


def _texts(alignment: PairAlignment, layout: PairLayout) -> list[str]:
    """Everything that will be written and that a font may not know."""
    labels = [label for each in layout.maps for label in each.row_labels]
    named = [visible(each) for each in (alignment.model, *alignment.probabilities)]
    return [line.text for line in layout.lines] + labels + named + [visible(headline(alignment))]


def _draw_sentences(canvas: Canvas, alignment: PairAlignment, layout: PairLayout) -> None:
    corner = canvas.moved(PADDING, PADDING)
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    note = fitted(f"Who asked whom?{model}", 12.0, layout.answer_at - PADDING - 40)
    corner.text(0, 11, note, size=12, colour=_QUIET)
    for line in layout.lines:
        if line.is_first:
            corner.text(0, line.y, "●", size=SENTENCE_SIZE, colour=_INK[line.side])
        corner.text(20, line.y, line.text, size=SENTENCE_SIZE, colour=_INK[line.side])
    rule = canvas.moved(PADDING, layout.rule_at)
    rule.box(0, 0, layout.width - 2 * PADDING, 1, _TRACK)


def draw_answer(corner: Canvas, alignment: HasAnswer) -> None:
    """The answer and the bars of its labels."""
    corner.text(0, 11, answer_kind(alignment), size=12, colour=_QUIET)
    word = fitted(visible(headline(alignment)), 22.0, ANSWER_WIDTH)
    corner.text(0, 37, word, size=22, weight="bold")
    for row, chance in enumerate(chances(alignment)):
        y, weight = bar_at(row), "bold" if chance.chosen else "normal"
        label = fitted(visible(chance.label), 12.5, BAR_AT - 8)
        length = max(BAR_WIDTH * min(chance.probability, 1.0), 2.0)
        corner.text(0, y, label, size=12, weight=weight)
        corner.box(BAR_AT, y - 9, BAR_WIDTH, 9, _TRACK)
        corner.box(BAR_AT, y - 9, length, 9, _CHOSEN if chance.chosen else _BAR)
        chance_text = percent(chance.probability)
        corner.text(ANSWER_WIDTH, y, chance_text, size=12, anchor="right", weight=weight)


def _draw_heading(canvas: Canvas, drawing: HeatMap) -> None:
    title = "".join(drawing.title_parts)
    canvas.text(0, TITLE_AT, title, size=TITLE_SIZE, colour=_INK[drawing.side])
    canvas.text(0, NOTE_AT, NOTE, size=12, colour=_QUIET)
    legend = canvas.moved(*LEGEND_AT)
    step = LEGEND_WIDTH / (NUM_LEVELS + 1)
    for level, colour in enumerate(ramp(drawing.side, "light")):
        legend.box(level * step, 0, step + 0.3, 8, colour)
    for weight in LEGEND_TICKS:
        x = (level_of(weight) + 0.5) * step
        legend.text(x, 18, f"{weight:g}", size=9.5, colour=_QUIET, anchor="center")


def _draw_map(grid: Canvas, drawing: HeatMap) -> None:
    """Draw labels and cells; the corner is that of the first cell."""
    if drawing.weights.size == 0:
        grid.text(0, drawing.cell / 2, drawing.nothing, size=12, colour=_QUIET)
        return
    _draw_labels(grid, drawing)
    _draw_cells(grid, drawing)


def _draw_labels(grid: Canvas, drawing: HeatMap) -> None:
    other: Side = "second" if drawing.side == "first" else "first"
    size = drawing.font_size
    for row, label in enumerate(drawing.row_labels):
        y = (row + 0.5) * drawing.cell + size * 0.35
        grid.text(-9, y, label, size=size, colour=_INK[drawing.side], anchor="right")
    turned = drawing.angle > 0
    for column, label in enumerate(drawing.column_labels):
        x = (column + 0.5) * drawing.cell + (3 if turned else 0)
        anchor = "left" if turned else "center"
        angle = float(drawing.angle)
        grid.text(x, -8, label, size=size, colour=_INK[other], anchor=anchor, angle=angle)


def _draw_cells(grid: Canvas, drawing: HeatMap) -> None:
    from matplotlib.colors import ListedColormap

    colours = ramp(drawing.side, "light")
    levels = np.vectorize(level_of, otypes=[np.int64])(drawing.weights)
    num_rows, num_columns = levels.shape
    grid.axes.pcolormesh(
        grid.x + np.arange(num_columns + 1) * drawing.cell,
        grid.y + np.arange(num_rows + 1) * drawing.cell,
        levels,
        cmap=ListedColormap(colours),
        vmin=0,
        vmax=NUM_LEVELS,
        edgecolors="white",
        linewidth=1.5 if drawing.cell >= 20 else 0.75,
    )
    for row, column in zip(*np.nonzero(drawing.has_number), strict=True):
        x, y = (column + 0.5) * drawing.cell, (row + 0.5) * drawing.cell + 4
        text, ink = drawing.number(row, column), ink_on(colours[levels[row, column]])
        grid.text(float(x), float(y), text, size=10.5, colour=ink, anchor="center")
