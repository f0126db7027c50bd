"""What an answer owes to each word, as SVG; part of the drawings of pairs and texts."""

from softquery.explain import reason_layout as measures
from softquery.explain.colours import NUM_LEVELS, Hue, level_class, reason_hue
from softquery.explain.lettering import escaped, isolated
from softquery.explain.reason_layout import ReasonLayout, ReasonWord
from softquery.explain.reasons import signed
from softquery.language import localised


def reasons_markup(layout: ReasonLayout) -> str:
    """Heading, legend and words, with the upper left corner at the origin."""
    dots = "".join(
        f'<circle class="{dot.side}" cx="5" cy="{dot.y + 13:.1f}" r="5"/>' for dot in layout.dots
    )
    nothing = f'<text class="note" y="60">{localised("there is no word")}</text>\n'
    return (
        f'<text class="title" y="{measures.TITLE_AT:g}">{escaped(layout.title)}</text>\n'
        f'<text class="note" y="{measures.NOTE_AT:g}">{escaped(layout.note)}</text>\n'
        f"{legend_markup(layout)}{dots}\n"
        f"{''.join(map(_word, layout.words)) if layout.words else nothing}"
    )


def legend_markup(layout: ReasonLayout) -> str:
    """Both ramps in one: against the answer on the left, for it on the right."""
    step = measures.LEGEND_WIDTH / (2 * NUM_LEVELS)
    cells = []
    for place in range(2 * NUM_LEVELS):
        level = place - NUM_LEVELS
        hue: Hue = "against" if level < 0 else "for"
        prefix, x = level_class(hue, 0)[0], layout.legend_at + place * step
        cells.append(
            f'<rect class="{prefix}{-level if level < 0 else level + 1}"'
            f' x="{x:.2f}" y="26" width="{step + 0.3:.2f}" height="8"/>'
        )
    ticks = "".join(
        f'<text class="tick" x="{layout.legend_at + x:.1f}" y="44" text-anchor="{anchor}">'
        f"{signed(value)}</text>"
        for x, value, anchor in (
            (0.0, -layout.scale, "start"),
            (measures.LEGEND_WIDTH / 2, 0.0, "middle"),
            (measures.LEGEND_WIDTH, layout.scale, "end"),
        )
    )
    return f"{''.join(cells)}{ticks}\n"


def _word(word: ReasonWord) -> str:
    level = level_class(reason_hue(word.strength), abs(word.strength))
    label, middle = escaped(isolated(word.text)), word.x + word.width / 2
    number = (
        f'<text class="tick" x="{middle:.1f}" y="{word.y + measures.NUMBER_AT:.1f}"'
        f' text-anchor="middle" font-size="{measures.NUMBER_SIZE:g}">{word.number}</text>'
        if word.number
        else ""
    )
    return (
        f'<g><title>{label}: {escaped(word.told)}</title><rect class="{level}" x="{word.x:.1f}"'
        f' y="{word.y:.1f}" width="{word.width:.1f}" height="{measures.WORD_HEIGHT:g}" rx="5"/>'
        f'<text class="ink-{level}" x="{middle:.1f}"'
        f' y="{word.y + measures.WORD_TEXT_AT:.1f}" text-anchor="middle"'
        f' font-size="{measures.WORD_SIZE:g}">{label}</text>{number}</g>\n'
    )
