"""PNG drawings by matplotlib (extra `[plot]`), laid out like those in SVG."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from softquery.atomic import write_bytes
from softquery.errors import MissingExtra
from softquery.explain import layout as measures
from softquery.explain.alignment import PairAlignment
from softquery.explain.colours import NUM_LEVELS, Side, ink_on, level_of, ramp
from softquery.explain.fonts import Fonts, choose_fonts
from softquery.explain.generation import GenerationAlignment, Weights
from softquery.explain.heat_map import LEGEND_TICKS, LEGEND_WIDTH, HeatMap
from softquery.explain.lettering import fitted, visible, visible_token
from softquery.explain.self_attention import SelfAttention
from softquery.explain.text_weights import TextWeights

_UNITS_PER_INCH, _POINTS_PER_INCH = 96, 72
_DOTS_PER_INCH = 192
_MOST_DOTS = 40e6
"""A larger picture gets fewer dots per inch: 400 words per side would take gigabytes."""
_TEXT, _QUIET, _CHOSEN, _BAR, _TRACK = "#1b1a2b", "#6a6a80", "#1f8a5b", "#a9abc0", "#eeeff6"
_INK: dict[Side, str] = {"first": "#4038b4", "second": "#a14b10"}


def to_png(alignment: PairAlignment, path: str | PathLike[str]) -> Path:
    """Draw the attention between two sentences as a PNG on white, written atomically.

    Warns about characters that no installed font has; SVG and HTML use the reader's fonts.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InputError: If the file cannot be written.
    """
    require_matplotlib()
    layout = measures.arrange(alignment)
    canvas = new_canvas(layout.width, layout.height, _texts(alignment, layout))
    _draw_sentences(canvas, alignment, layout)
    draw_answer(canvas.moved(layout.answer_at, measures.PADDING), alignment)
    for each, corner in zip(layout.maps, layout.maps_at, strict=True):
        _draw_heading(canvas.moved(*measures.heading_at(corner)), each)
        _draw_map(canvas.moved(corner[0] + each.left, corner[1] + layout.top), each)
    return write_canvas(canvas, path)


def require_matplotlib() -> None:
    """Raise `MissingExtra` where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("plot", needed_for="drawing a PNG") from error


def new_canvas(width: float, height: float, texts: Iterable[str]) -> "Canvas":
    """A white canvas of this size, with fonts that can draw the texts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / _UNITS_PER_INCH, height / _UNITS_PER_INCH), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return Canvas(axes=axes, fonts=choose_fonts(texts))


def write_canvas(canvas: "Canvas", path: str | PathLike[str]) -> Path:
    """Write the drawing to a file, atomically."""
    figure = canvas.axes.figure
    width, height = figure.get_size_inches()
    contents = BytesIO()
    dots = min(_DOTS_PER_INCH, (_MOST_DOTS / (width * height)) ** 0.5)
    figure.savefig(contents, format="png", dpi=dots)
    write_bytes(path, contents.getvalue())
    return Path(path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Canvas:
    """matplotlib's axes in the units of the layout, with an origin that can be moved."""

    axes: Any
    fonts: Fonts
    x: float = 0.0
    y: float = 0.0

    def moved(self, x: float, y: float) -> "Canvas":
        """The same canvas with its origin moved by (x, y)."""
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
        """Draw text on a baseline, as SVG does; dollar signs do not start formulas."""
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
            weight=weight if len(families) == 1 else "normal",  # few other fonts have a bold face
            rotation=angle,
            rotation_mode="anchor",
            family=families,
            parse_math=False,
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled rectangle."""
        from matplotlib.patches import Rectangle

        corner = (self.x + x, self.y + y)
        self.axes.add_patch(Rectangle(corner, width, height, color=colour, linewidth=0))


def _texts(alignment: PairAlignment, layout: measures.PairLayout) -> list[str]:
    """All text of the picture for which a font must be chosen."""
    labels = [label for each in layout.maps for label in each.row_labels]
    named = [visible(each) for each in (alignment.model, *alignment.probabilities)]
    return (
        [line.text for line in layout.lines]
        + labels
        + named
        + [visible(measures.headline(alignment))]
    )


def _draw_sentences(canvas: Canvas, alignment: PairAlignment, layout: measures.PairLayout) -> None:
    corner = canvas.moved(measures.PADDING, measures.PADDING)
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    note = fitted(f"Who asked whom?{model}", 12.0, layout.answer_at - measures.PADDING - 40)
    corner.text(0, 11, note, size=12, colour=_QUIET)
    for line in layout.lines:
        if line.is_first:
            corner.text(0, line.y, "●", size=measures.SENTENCE_SIZE, colour=_INK[line.side])
        corner.text(20, line.y, line.text, size=measures.SENTENCE_SIZE, colour=_INK[line.side])
    rule = canvas.moved(measures.PADDING, layout.rule_at)
    rule.box(0, 0, layout.width - 2 * measures.PADDING, 1, _TRACK)


def draw_answer(corner: Canvas, alignment: measures.HasAnswer) -> None:
    """Draw the answer and a bar per label."""
    corner.text(0, 11, measures.answer_kind(alignment), size=12, colour=_QUIET)
    word = fitted(visible(measures.headline(alignment)), 22.0, measures.ANSWER_WIDTH)
    corner.text(0, 37, word, size=22, weight="bold")
    for row, chance in enumerate(measures.chances(alignment)):
        y, weight = measures.bar_at(row), "bold" if chance.chosen else "normal"
        label = fitted(visible(chance.label), 12.5, measures.BAR_AT - 8)
        length = max(measures.BAR_WIDTH * min(chance.probability, 1.0), 2.0)
        corner.text(0, y, label, size=12, weight=weight)
        corner.box(measures.BAR_AT, y - 9, measures.BAR_WIDTH, 9, _TRACK)
        corner.box(measures.BAR_AT, y - 9, length, 9, _CHOSEN if chance.chosen else _BAR)
        chance_text = measures.percent(chance.probability)
        corner.text(measures.ANSWER_WIDTH, y, chance_text, size=12, anchor="right", weight=weight)


def _draw_heading(canvas: Canvas, drawing: HeatMap) -> None:
    title = "".join(drawing.title_parts)
    canvas.text(0, measures.TITLE_AT, title, size=measures.TITLE_SIZE, colour=_INK[drawing.side])
    canvas.text(0, measures.NOTE_AT, measures.NOTE, size=12, colour=_QUIET)
    legend = canvas.moved(*measures.LEGEND_AT)
    step = LEGEND_WIDTH / (NUM_LEVELS + 1)
    for level, colour in enumerate(ramp(drawing.side, "light")):
        legend.box(level * step, 0, step + 0.3, 8, colour)
    for weight in LEGEND_TICKS:
        x = (level_of(weight) + 0.5) * step
        legend.text(x, 18, f"{weight:g}", size=9.5, colour=_QUIET, anchor="center")


def _draw_map(grid: Canvas, drawing: HeatMap) -> None:
    """Draw labels and cells; the origin of `grid` is the corner of the first cell."""
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


def text_to_png(shown: TextWeights, path: str | PathLike[str]) -> Path:
    """Draw the weights of a text's words and sentences as a PNG on white, written atomically.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InputError: If the file cannot be written.
    """
    require_matplotlib()
    layout = measures.arrange_text(shown)
    named = [
        visible(each) for each in (shown.model, measures.headline(shown), *shown.probabilities)
    ]
    texts = [*layout.lines, *(word.text for word in layout.words), *named]
    canvas = new_canvas(layout.width, layout.height, texts)
    _draw_text(canvas, shown, layout)
    draw_answer(canvas.moved(layout.answer_at, measures.PADDING), shown)
    _draw_words(canvas, layout)
    return write_canvas(canvas, path)


def _draw_text(canvas: Canvas, shown: TextWeights, layout: measures.TextLayout) -> None:
    corner = canvas.moved(measures.PADDING, measures.PADDING)
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = fitted(f"{measures.TITLE}{model}", 12.0, layout.answer_at - 2 * measures.PADDING)
    corner.text(0, 11, note, size=12, colour=_QUIET)
    for place, line in enumerate(layout.lines):
        corner.text(0, measures.line_at(place), line, size=measures.WORD_SIZE)
    canvas.box(measures.PADDING, layout.rule_at, layout.width - 2 * measures.PADDING, 1, _TRACK)


def _draw_words(canvas: Canvas, layout: measures.TextLayout) -> None:
    colours: dict[Side, list[str]] = {
        "first": ramp("first", "light"),
        "second": ramp("second", "light"),
    }
    if not layout.words:
        canvas.text(
            measures.PADDING, layout.rule_at + 40, "there is no word", size=12, colour=_QUIET
        )
    for word in layout.words:
        colour = colours["first"][level_of(word.strength)]
        canvas.box(word.x, word.y, word.width, measures.WORD_HEIGHT, colour)
        place = (word.x + measures.WORD_PAD, word.y + 18)
        canvas.text(*place, word.text, size=measures.WORD_SIZE, colour=ink_on(colour))
    for share in layout.shares:
        colour = colours["second"][level_of(share.weight)]
        canvas.box(measures.PADDING, share.y, measures.SHARE_WIDTH - 12, share.height, colour)
        middle = measures.PADDING + (measures.SHARE_WIDTH - 12) / 2
        number, ink = f"{share.weight:.2f}", ink_on(colour)
        canvas.text(
            middle, share.y + 17, number, size=measures.SHARE_SIZE, colour=ink, anchor="center"
        )


def generation_png(alignment: GenerationAlignment, path: Path) -> None:
    """Draw where an answer looked as a PNG: the mean first, then every layer and head."""
    _maps_png(alignment, [alignment.source, alignment.text], path)


def self_png(shown: SelfAttention, path: Path) -> None:
    """Draw whom the tokens of a text asked as a PNG: the mean first, then every head."""
    _maps_png(shown, [shown.text], path)


def _maps_png(alignment: GenerationAlignment | SelfAttention, texts: list[str], path: Path) -> None:
    require_matplotlib()
    from matplotlib.figure import Figure

    heads = alignment.heads()
    maps: list[tuple[str, Weights]] = [("mean", alignment.mean), *heads] if heads else [
        ("", alignment.mean)
    ]  # fmt: skip
    columns = 1 if not heads else alignment.weights.shape[1]
    rows = 1 if not heads else 1 + alignment.weights.shape[0]
    size = max(3.0, 0.28 * max(alignment.weights.shape[-2:]))
    figure = Figure(figsize=(size * columns + 1, size * rows + 0.6), layout="constrained")
    fonts = choose_fonts(texts)
    for place, (title, weights) in enumerate(maps):
        at = 1 if place == 0 else columns + place
        axes = figure.add_subplot(rows, columns, at)
        axes.imshow(weights, vmin=0, vmax=1, cmap="Purples", aspect="auto")
        axes.set_title(title, fontsize=8)
        asked = [visible_token(each) for each in alignment.source_tokens]
        askers = [visible_token(each) for each in alignment.tokens]
        axes.set_xticks(range(len(asked)), asked, rotation=60, fontsize=7, family=fonts.families)
        axes.set_yticks(range(len(askers)), askers, fontsize=7, family=fonts.families)
    made = BytesIO()
    figure.savefig(made, format="png", dpi=120)
    write_bytes(path, made.getvalue())
