"""One text and the weights of its words as a PNG (extra `[plot]`), laid out as the SVG is."""

from os import PathLike
from pathlib import Path

from softquery.explain.answer import headline
from softquery.explain.colours import Side, ink_on, level_of, ramp
from softquery.explain.layout import PADDING
from softquery.explain.lettering import fitted
from softquery.explain.markup import visible
from softquery.explain.png import (
    Canvas,
    draw_answer,
    new_canvas,
    require_matplotlib,
    write_canvas,
)
from softquery.explain.text_layout import (
    SHARE_SIZE,
    SHARE_WIDTH,
    TITLE,
    WORD_HEIGHT,
    WORD_PAD,
    WORD_SIZE,
    TextLayout,
    arrange_text,
    line_at,
)
from softquery.explain.text_weights import TextWeights

_QUIET, _RULE = "#6a6a80", "#eeeff6"


def text_to_png(shown: TextWeights, path: str | PathLike[str]) -> Path:
    """Draw the weights of words, and of sentences, as a PNG, on white, written whole.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InputError: If the disk refuses.
    """
    require_matplotlib()
    layout = arrange_text(shown)
    named = [visible(each) for each in (shown.model, headline(shown), *shown.probabilities)]
    texts = [*layout.lines, *(word.text for word in layout.words), *named]
    canvas = new_canvas(layout.width, layout.height, texts)
    _draw_text(canvas, shown, layout)
    draw_answer(canvas.moved(layout.answer_at, PADDING), shown)
    _draw_words(canvas, layout)
    return write_canvas(canvas, path)


def _draw_text(canvas: Canvas, shown: TextWeights, layout: TextLayout) -> None:
    corner = canvas.moved(PADDING, PADDING)
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = fitted(f"{TITLE}{model}", 12.0, layout.answer_at - 2 * PADDING)
    corner.text(0, 11, note, size=12, colour=_QUIET)
    for place, line in enumerate(layout.lines):
        corner.text(0, line_at(place), line, size=WORD_SIZE)
    canvas.box(PADDING, layout.rule_at, layout.width - 2 * PADDING, 1, _RULE)


def _draw_words(canvas: Canvas, layout: TextLayout) -> None:
    colours: dict[Side, list[str]] = {
        "first": ramp("first", "light"),
        "second": ramp("second", "light"),
    }
    if not layout.words:
        canvas.text(PADDING, layout.rule_at + 40, "there is no word", size=12, colour=_QUIET)
    for word in layout.words:
        colour = colours["first"][level_of(word.strength)]
        canvas.box(word.x, word.y, word.width, WORD_HEIGHT, colour)
        place = (word.x + WORD_PAD, word.y + 18)
        canvas.text(*place, word.text, size=WORD_SIZE, colour=ink_on(colour))
    for share in layout.shares:
        colour = colours["second"][level_of(share.weight)]
        canvas.box(PADDING, share.y, SHARE_WIDTH - 12, share.height, colour)
        middle = PADDING + (SHARE_WIDTH - 12) / 2
        number, ink = f"{share.weight:.2f}", ink_on(colour)
        canvas.text(middle, share.y + 17, number, size=SHARE_SIZE, colour=ink, anchor="center")
