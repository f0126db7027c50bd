"""What an answer owes to each word, on the canvas of a PNG; part of pairs and texts."""

from softquery.explain import reason_layout as measures
from softquery.explain.canvas import INK, QUIET, Canvas
from softquery.explain.colours import NUM_LEVELS, Hue, ink_on, level_of, ramp, reason_hue
from softquery.explain.reason_layout import ReasonLayout
from softquery.explain.reasons import signed


def reason_texts(layout: ReasonLayout) -> list[str]:
    """All text for which a font must be chosen."""
    return [layout.title, *(word.text for word in layout.words)]


def draw_reasons(canvas: Canvas, layout: ReasonLayout) -> None:
    """Draw heading, legend and words; the canvas has its origin at their upper left corner."""
    canvas.text(0, measures.TITLE_AT, layout.title, size=measures.TITLE_SIZE, weight="bold")
    canvas.text(0, measures.NOTE_AT, layout.note, size=measures.NOTE_SIZE, colour=QUIET)
    _draw_legend(canvas.moved(layout.legend_at, 26), layout.scale)
    for dot in layout.dots:
        canvas.text(0, dot.y + 18, "●", size=measures.WORD_SIZE, colour=INK[dot.side])
    if not layout.words:
        canvas.text(0, 60, "there is no word", size=measures.NOTE_SIZE, colour=QUIET)
    for word in layout.words:
        hue = reason_hue(word.strength)
        colour = ramp(hue, "light")[level_of(abs(word.strength))]
        canvas.box(word.x, word.y, word.width, measures.WORD_HEIGHT, colour)
        middle = word.x + word.width / 2
        canvas.text(
            middle,
            word.y + measures.WORD_TEXT_AT,
            word.text,
            size=measures.WORD_SIZE,
            colour=ink_on(colour),
            anchor="center",
        )
        if word.number:
            canvas.text(
                middle,
                word.y + measures.NUMBER_AT,
                word.number,
                size=measures.NUMBER_SIZE,
                colour=QUIET,
                anchor="center",
            )


def _draw_legend(corner: Canvas, scale: float) -> None:
    step = measures.LEGEND_WIDTH / (2 * NUM_LEVELS)
    for place in range(2 * NUM_LEVELS):
        level = place - NUM_LEVELS
        hue: Hue = "against" if level < 0 else "for"
        colour = ramp(hue, "light")[-level if level < 0 else level + 1]
        corner.box(place * step, 0, step + 0.3, 8, colour)
    for x, value, anchor in (
        (0.0, -scale, "left"),
        (measures.LEGEND_WIDTH / 2, 0.0, "center"),
        (measures.LEGEND_WIDTH, scale, "right"),
    ):
        corner.text(x, 18, signed(value), size=9.5, colour=QUIET, anchor=anchor)
