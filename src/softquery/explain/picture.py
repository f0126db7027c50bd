"""Both directions of a pair as one SVG, with the answer on top."""

from softquery.explain.alignment import PairAlignment
from softquery.explain.answer import Chance, HasAnswer, answer_kind, chances, headline, percent
from softquery.explain.colours import ramp_css
from softquery.explain.heat_map import HeatMap
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
    PairLayout,
    SentenceLine,
    arrange,
    bar_at,
    heading_at,
)
from softquery.explain.lettering import fitted
from softquery.explain.markup import escaped, isolated, visible
from softquery.explain.resources import read_resource


def to_svg(alignment: PairAlignment) -> str:
    """Draw who asked whom, in both directions, as an SVG that needs nothing but a viewer.

    It follows the viewer's light or dark scheme and shows text in the viewer's own fonts. Cells
    shrink for long sentences, down to a size that can still be read; from there the picture grows.

    >>> import numpy as np
    >>> svg = to_svg(PairAlignment(
    ...     first="I eat", second="eat", first_tokens=("i", "eat"), second_tokens=("eat",),
    ...     first_to_second=np.ones((2, 1)), second_to_first=np.array([[0.25, 0.75]]),
    ...     label=None, score=4.5,
    ... ))
    >>> "<title>eat → i: 0.25</title>" in svg
    True
    """
    layout = arrange(alignment)
    maps = "".join(
        moved(*heading_at(corner), _heading(each)) + moved(*corner, each.markup(layout.top))
        for each, corner in zip(layout.maps, layout.maps_at, strict=True)
    )
    return (
        _opening(alignment, layout)
        + moved(PADDING, PADDING, _sentences(alignment, layout))
        + moved(layout.answer_at, PADDING, answer_markup(alignment))
        + f'<line class="line" x1="{PADDING:g}" x2="{layout.width - PADDING:.1f}"'
        f' y1="{layout.rule_at:.1f}" y2="{layout.rule_at:.1f}"/>\n{maps}</svg>\n'
    )


def picture_css() -> str:
    """The classes that drawings use, for both schemes."""
    return read_resource("picture.css") + ramp_css()


def _opening(alignment: PairAlignment, layout: PairLayout) -> str:
    first, second = (isolated(visible(each)) for each in (alignment.first, alignment.second))
    width, height = round(layout.width), round(layout.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="what why">\n'
        f'<title id="what">Who asked whom: {escaped(headline(alignment))}</title>\n'
        f'<desc id="why">Attention weights between “{escaped(first)}” and “{escaped(second)}”'
        f" in both directions.</desc>\n<style>\n{picture_css()}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="14"/>\n'
    )


def moved(x: float, y: float, markup: str) -> str:
    """Markup whose corner lies there."""
    return f'<g transform="translate({x:.1f} {y:.1f})">\n{markup}</g>\n'


def _sentences(alignment: PairAlignment, layout: PairLayout) -> str:
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    note = escaped(fitted(f"Who asked whom?{model}", 12.0, layout.answer_at - PADDING - 40))
    return f'<text class="note" y="11">{note}</text>\n' + "".join(map(_line, layout.lines))


def _line(line: SentenceLine) -> str:
    mark = f'<circle class="{line.side}" cx="5" cy="{line.y - 5.5:g}" r="5"/>'
    return (
        f'{mark if line.is_first else ""}<text class="{line.side}" x="20" y="{line.y:g}"'
        f' font-size="{SENTENCE_SIZE:g}">{escaped(line.text)}</text>\n'
    )


def _heading(drawing: HeatMap) -> str:
    before, own, between, other = drawing.title_parts
    return (
        f'<text class="title" y="{TITLE_AT:g}">{before}<tspan class="{drawing.side}">{own}</tspan>'
        f'{between}<tspan class="{drawing.other}">{other}</tspan></text>\n'
        f'<text class="note" y="{NOTE_AT:g}">{NOTE}</text>\n{moved(*LEGEND_AT, drawing.legend())}'
    )


def answer_markup(alignment: HasAnswer) -> str:
    """The answer and the bars of its labels, from the upper left corner."""
    word = escaped(fitted(visible(headline(alignment)), 22.0, ANSWER_WIDTH))
    bars = (_bar(each, bar_at(row)) for row, each in enumerate(chances(alignment)))
    return (
        f'<text class="note" y="11">{answer_kind(alignment)}</text>\n'
        f'<text class="text strong" y="37" font-size="22">{word}</text>\n{"".join(bars)}'
    )


def _bar(chance: Chance, y: float) -> str:
    chosen, strong = (" chosen", " strong") if chance.chosen else ("", "")
    length = max(BAR_WIDTH * min(chance.probability, 1.0), 2.0)
    label = escaped(fitted(visible(chance.label), 12.5, BAR_AT - 8))
    return (
        f'<text class="text{strong}" y="{y:g}" font-size="12.5">{label}</text>'
        f'<rect class="track" x="{BAR_AT:g}" y="{y - 9:g}" width="{BAR_WIDTH:g}" height="9"'
        f' rx="4.5"/><rect class="bar{chosen}" x="{BAR_AT:g}" y="{y - 9:g}"'
        f' width="{length:.1f}" height="9" rx="{min(4.5, length / 2):.2f}"/>'
        f'<text class="text{strong}" x="{ANSWER_WIDTH:g}" y="{y:g}" font-size="12.5"'
        f' text-anchor="end">{escaped(percent(chance.probability))}</text>\n'
    )
