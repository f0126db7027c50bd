"""PNG drawings of one text that asks another, or itself, laid out like those in SVG."""

from pathlib import Path

from softquery.explain import layout as measures
from softquery.explain.canvas import QUIET, Canvas, new_canvas, require_matplotlib, write_canvas
from softquery.explain.generation import GenerationAlignment
from softquery.explain.lettering import fitted, visible
from softquery.explain.maps.maps_layout import (
    SMALL_TITLE_AT,
    MapPanel,
    Maps,
    arrange_maps,
    small_map_at,
)
from softquery.explain.png import draw_heading, draw_lines, draw_map, draw_rule
from softquery.explain.self_attention import SelfAttention


def generation_png(alignment: GenerationAlignment, path: Path) -> None:
    """Draw where an answer looked as a PNG: the mean first, then every layer and head."""
    _draw(alignment, path)


def self_png(shown: SelfAttention, path: Path) -> None:
    """Draw whom the tokens of a text asked as a PNG: the mean first, then every head."""
    _draw(shown, path)


def _draw(shown: Maps, path: Path) -> None:
    require_matplotlib()
    layout = arrange_maps(shown)
    first = layout.panels[0].drawing
    labels = [*first.row_labels, *first.column_labels, visible(shown.model)]
    canvas = new_canvas(layout.width, layout.height, [line.text for line in layout.lines] + labels)
    corner = canvas.moved(measures.PADDING, measures.PADDING)
    note = fitted(layout.note, measures.NOTE_SIZE, layout.answer_at - measures.PADDING - 40)
    corner.text(0, 11, note, size=measures.NOTE_SIZE, colour=QUIET)
    draw_lines(corner, layout.lines)
    name, value = layout.fact
    fact = canvas.moved(layout.answer_at, measures.PADDING)
    fact.text(0, 11, name, size=measures.NOTE_SIZE, colour=QUIET)
    fact.text(0, 37, value, size=22, weight="bold")
    draw_rule(canvas, layout.rule_at, layout.width)
    for panel in layout.panels:
        _draw_panel(canvas, panel)
    write_canvas(canvas, path)


def _draw_panel(canvas: Canvas, panel: MapPanel) -> None:
    drawing, corner = panel.drawing, canvas.moved(panel.x, panel.y)
    if panel.name:
        corner.text(0, SMALL_TITLE_AT, panel.name, size=measures.NOTE_SIZE, colour=QUIET)
        x, y = small_map_at(panel)
    else:
        draw_heading(corner, drawing)
        x, y = panel.x, panel.y + measures.HEADING
    draw_map(canvas.moved(x + drawing.left, y + drawing.top), drawing)
