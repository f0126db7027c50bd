"""PNG drawings by matplotlib (extra `[plot]`), laid out like those in SVG."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from softquery.explain import layout as measures
from softquery.explain.alignment import PairAlignment
from softquery.explain.canvas import (
    BAR,
    CHOSEN,
    INK,
    QUIET,
    TEXT,
    TRACK,
    Canvas,
    new_canvas,
    require_matplotlib,
    write_canvas,
)
from softquery.explain.colours import NUM_LEVELS, Side, ink_on, level_of, ramp
from softquery.explain.heat_map import LEGEND_TICKS, LEGEND_WIDTH, HeatMap
from softquery.explain.lettering import LABEL_ROOM, fitted, visible
from softquery.explain.reason_png import draw_reasons, reason_texts
from softquery.explain.text_weights import TextWeights


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
    if layout.reasons is not None:
        _draw_reasons(canvas, layout.reasons, layout.width)
    for each, corner in zip(layout.maps, layout.maps_at, strict=True):
        draw_heading(canvas.moved(*measures.heading_at(corner)), each)
        draw_map(canvas.moved(corner[0] + each.left, corner[1] + layout.top), each)
    return write_canvas(canvas, path)


def _texts(alignment: PairAlignment, layout: measures.PairLayout) -> list[str]:
    """All text of the picture for which a font must be chosen."""
    labels = [label for each in layout.maps for label in each.row_labels]
    named = [visible(each) for each in (alignment.model, *alignment.probabilities)]
    return (
        [line.text for line in layout.lines]
        + labels
        + named
        + ([] if layout.reasons is None else reason_texts(layout.reasons.layout))
        + [visible(measures.headline(alignment))]
    )


def _draw_sentences(canvas: Canvas, alignment: PairAlignment, layout: measures.PairLayout) -> None:
    corner = canvas.moved(measures.PADDING, measures.PADDING)
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    note = fitted(f"Who asked whom?{model}", 12.0, layout.answer_at - measures.PADDING - 40)
    corner.text(0, 11, note, size=12, colour=QUIET)
    draw_lines(corner, layout.lines)
    draw_rule(canvas, layout.rule_at, layout.width)


def draw_lines(corner: Canvas, lines: Sequence[measures.SentenceLine]) -> None:
    """Draw sentences, each with its mark."""
    for line in lines:
        if line.is_first:
            corner.text(0, line.y, "●", size=measures.SENTENCE_SIZE, colour=INK[line.side])
        corner.text(20, line.y, line.text, size=measures.SENTENCE_SIZE, colour=INK[line.side])


def draw_rule(canvas: Canvas, y: float, width: float) -> None:
    """Draw a line across a picture of this width."""
    canvas.box(measures.PADDING, y, width - 2 * measures.PADDING, 1, TRACK)


def _draw_reasons(canvas: Canvas, placed: measures.PlacedReasons, width: float) -> None:
    draw_reasons(canvas.moved(measures.PADDING, placed.y), placed.layout)
    draw_rule(canvas, placed.rule_at, width)


def draw_answer(corner: Canvas, alignment: measures.HasAnswer) -> None:
    """Draw the answer and a bar per label."""
    corner.text(0, 11, measures.answer_kind(alignment), size=12, colour=QUIET)
    word = fitted(visible(measures.headline(alignment)), 22.0, measures.ANSWER_WIDTH)
    corner.text(0, 37, word, size=22, weight="bold")
    for row, chance in enumerate(measures.chances(alignment)):
        y, weight = measures.bar_at(row), "bold" if chance.chosen else "normal"
        label = fitted(visible(chance.label), 12.5, LABEL_ROOM)
        length = max(measures.BAR_WIDTH * min(chance.probability, 1.0), 2.0)
        corner.text(0, y, label, size=12, weight=weight)
        corner.box(measures.BAR_AT, y - 9, measures.BAR_WIDTH, 9, TRACK)
        corner.box(measures.BAR_AT, y - 9, length, 9, CHOSEN if chance.chosen else BAR)
        chance_text = measures.percent(chance.probability)
        corner.text(measures.ANSWER_WIDTH, y, chance_text, size=12, anchor="right", weight=weight)


def draw_heading(canvas: Canvas, drawing: HeatMap) -> None:
    """Draw the title of a map, and its legend."""
    before, own, between, other = drawing.title_parts
    named = (before, TEXT), (own, INK[drawing.side]), (between, TEXT), (other, INK[drawing.other])
    canvas.run(0, measures.TITLE_AT, named, size=measures.TITLE_SIZE)
    canvas.text(0, measures.NOTE_AT, measures.NOTE, size=12, colour=QUIET)
    legend = canvas.moved(*measures.LEGEND_AT)
    step = LEGEND_WIDTH / (NUM_LEVELS + 1)
    for level, colour in enumerate(ramp(drawing.side, "light")):
        legend.box(level * step, 0, step + 0.3, 8, colour)
    for weight in LEGEND_TICKS:
        x = (level_of(weight) + 0.5) * step
        legend.text(x, 18, f"{weight:g}", size=9.5, colour=QUIET, anchor="center")


def draw_map(grid: Canvas, drawing: HeatMap) -> None:
    """Draw labels and cells; the origin of `grid` is the corner of the first cell."""
    if drawing.weights.size == 0:
        grid.text(0, drawing.cell / 2, drawing.nothing, size=12, colour=QUIET)
        return
    _draw_labels(grid, drawing)
    _draw_cells(grid, drawing)
    if drawing.frame is not None:
        grid.frame(*drawing.frame, CHOSEN)


def _draw_labels(grid: Canvas, drawing: HeatMap) -> None:
    other: Side = "second" if drawing.side == "first" else "first"
    size = drawing.font_size
    for row, label in enumerate(drawing.row_labels):
        y = (row + 0.5) * drawing.cell + size * 0.35
        weight = "bold" if row in drawing.found_rows else "normal"
        grid.text(-9, y, label, size=size, colour=INK[drawing.side], anchor="right", weight=weight)
    turned = drawing.angle > 0
    for column, label in enumerate(drawing.column_labels):
        x = (column + 0.5) * drawing.cell + (3 if turned else 0)
        anchor = "left" if turned else "center"
        angle = float(drawing.angle)
        weight = "bold" if column in drawing.found_columns else "normal"
        grid.text(
            x, -8, label, size=size, colour=INK[other], anchor=anchor, angle=angle, weight=weight
        )


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
    reasons = [text for placed in layout.reasons for text in reason_texts(placed.layout)]
    texts = [*layout.lines, *(word.text for word in layout.words), *named, *reasons]
    canvas = new_canvas(layout.width, layout.height, texts)
    _draw_text(canvas, shown, layout)
    draw_answer(canvas.moved(layout.answer_at, measures.PADDING), shown)
    for placed in layout.reasons:
        _draw_reasons(canvas, placed, layout.width)
    if layout.title_at is not None:
        place = (measures.PADDING, layout.title_at)
        canvas.text(*place, measures.TITLE, size=measures.TITLE_SIZE, weight="bold")
    _draw_words(canvas, layout)
    return write_canvas(canvas, path)


def _draw_text(canvas: Canvas, shown: TextWeights, layout: measures.TextLayout) -> None:
    corner = canvas.moved(measures.PADDING, measures.PADDING)
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = fitted(
        f"{measures.text_question(shown)}{model}", 12.0, layout.answer_at - 2 * measures.PADDING
    )
    corner.text(0, 11, note, size=12, colour=QUIET)
    for place, line in enumerate(layout.lines):
        corner.text(0, measures.line_at(place), line, size=measures.WORD_SIZE)
    draw_rule(canvas, layout.rule_at, layout.width)


def _draw_words(canvas: Canvas, layout: measures.TextLayout) -> None:
    colours: dict[Side, list[str]] = {
        "first": ramp("first", "light"),
        "second": ramp("second", "light"),
    }
    if not layout.words:
        below = layout.rule_at if layout.title_at is None else layout.title_at
        canvas.text(measures.PADDING, below + 40, "there is no word", size=12, colour=QUIET)
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
