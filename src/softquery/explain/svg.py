"""SVG drawings: a pair in both directions, the words of a text, and every head of a model.

They follow the viewer's light or dark scheme and show text in the viewer's own fonts.
"""

from functools import lru_cache

from softquery.explain import layout as measures
from softquery.explain.alignment import PairAlignment
from softquery.explain.colours import level_class, ramp_css
from softquery.explain.generation import GenerationAlignment, Weights
from softquery.explain.heat_map import HeatMap, cell_size
from softquery.explain.layout import (
    Chance,
    HasAnswer,
    PairLayout,
    PlacedWord,
    SentenceLine,
    Share,
    TextLayout,
    answer_kind,
    arrange,
    arrange_text,
    bar_at,
    chances,
    heading_at,
    headline,
    line_at,
    percent,
)
from softquery.explain.lettering import escaped, fitted, isolated, visible
from softquery.explain.self_attention import SelfAttention
from softquery.explain.text_weights import TextWeights

_MAPS_GAP, _MAPS_HEADING, _MAP_TITLE = 30.0, 96.0, 40.0
_SMALL_CELL = 14.0
"""The cell of the maps of single heads."""


@lru_cache(maxsize=8)
def read_resource(name: str) -> str:
    """The text of a style sheet, script or template of this folder, read once."""
    from importlib.resources import files  # imported late because it is slow

    return (files("softquery.explain") / name).read_text(encoding="utf-8")


def to_svg(alignment: PairAlignment) -> str:
    """Draw the attention between two sentences, in both directions, as one SVG.

    Cells shrink for long sentences, down to a size that can still be read; beyond that, the picture
    grows.

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
    first, second = (isolated(visible(each)) for each in (alignment.first, alignment.second))
    maps = "".join(
        moved(*heading_at(corner), _heading(each)) + moved(*corner, each.markup(layout.top))
        for each, corner in zip(layout.maps, layout.maps_at, strict=True)
    )
    return (
        _opening(
            round(layout.width),
            round(layout.height),
            title=f"Who asked whom: {escaped(headline(alignment))}",
            description=f"Attention weights between “{escaped(first)}” and “{escaped(second)}”"
            " in both directions.",
        )
        + moved(measures.PADDING, measures.PADDING, _sentences(alignment, layout))
        + moved(layout.answer_at, measures.PADDING, answer_markup(alignment))
        + f'<line class="line" x1="{measures.PADDING:g}" x2="{layout.width - measures.PADDING:.1f}"'
        f' y1="{layout.rule_at:.1f}" y2="{layout.rule_at:.1f}"/>\n{maps}</svg>\n'
    )


def picture_css() -> str:
    """The CSS classes that drawings use, for both colour schemes."""
    return read_resource("picture.css") + ramp_css()


def _opening(width: float, height: float, *, title: str, description: str) -> str:
    """The start of a drawing, its styles and the card behind it; both texts are escaped already."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="what why">\n'
        f'<title id="what">{title}</title>\n<desc id="why">{description}</desc>\n'
        f"<style>\n{picture_css()}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}"'
        ' rx="14"/>\n'
    )


def moved(x: float, y: float, markup: str) -> str:
    """Markup moved so that its upper left corner is at (x, y)."""
    return f'<g transform="translate({x:.1f} {y:.1f})">\n{markup}</g>\n'


def _sentences(alignment: PairAlignment, layout: PairLayout) -> str:
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    note = escaped(
        fitted(f"Who asked whom?{model}", 12.0, layout.answer_at - measures.PADDING - 40)
    )
    return f'<text class="note" y="11">{note}</text>\n' + "".join(map(_line, layout.lines))


def _line(line: SentenceLine) -> str:
    mark = f'<circle class="{line.side}" cx="5" cy="{line.y - 5.5:g}" r="5"/>'
    return (
        f'{mark if line.is_first else ""}<text class="{line.side}" x="20" y="{line.y:g}"'
        f' font-size="{measures.SENTENCE_SIZE:g}">{escaped(line.text)}</text>\n'
    )


def _heading(drawing: HeatMap) -> str:
    before, own, between, other = drawing.title_parts
    return (
        f'<text class="title" y="{measures.TITLE_AT:g}">'
        f'{before}<tspan class="{drawing.side}">{own}</tspan>'
        f'{between}<tspan class="{drawing.other}">{other}</tspan></text>\n'
        f'<text class="note" y="{measures.NOTE_AT:g}">{measures.NOTE}</text>\n'
        f"{moved(*measures.LEGEND_AT, drawing.legend())}"
    )


def answer_markup(alignment: HasAnswer) -> str:
    """The answer and a bar per label, with the upper left corner at the origin."""
    word = escaped(fitted(visible(headline(alignment)), 22.0, measures.ANSWER_WIDTH))
    bars = (_bar(each, bar_at(row)) for row, each in enumerate(chances(alignment)))
    return (
        f'<text class="note" y="11">{answer_kind(alignment)}</text>\n'
        f'<text class="text strong" y="37" font-size="22">{word}</text>\n{"".join(bars)}'
    )


def _bar(chance: Chance, y: float) -> str:
    chosen, strong = (" chosen", " strong") if chance.chosen else ("", "")
    length = max(measures.BAR_WIDTH * min(chance.probability, 1.0), 2.0)
    label = escaped(fitted(visible(chance.label), 12.5, measures.BAR_AT - 8))
    return (
        f'<text class="text{strong}" y="{y:g}" font-size="12.5">{label}</text>'
        f'<rect class="track" x="{measures.BAR_AT:g}" y="{y - 9:g}"'
        f' width="{measures.BAR_WIDTH:g}" height="9"'
        f' rx="4.5"/><rect class="bar{chosen}" x="{measures.BAR_AT:g}" y="{y - 9:g}"'
        f' width="{length:.1f}" height="9" rx="{min(4.5, length / 2):.2f}"/>'
        f'<text class="text{strong}" x="{measures.ANSWER_WIDTH:g}" y="{y:g}" font-size="12.5"'
        f' text-anchor="end">{escaped(percent(chance.probability))}</text>\n'
    )


def text_to_svg(shown: TextWeights) -> str:
    """Draw the weights of a text's words, and those of its sentences where it has any.

    >>> import numpy as np
    >>> svg = text_to_svg(TextWeights(
    ...     text="so good", sentences=(("so", "good"),), word_weights=(np.array([0.2, 0.8]),),
    ...     label="positive", score=0.9, probabilities={"negative": 0.1, "positive": 0.9},
    ... ))
    >>> "<title>good: 0.80</title>" in svg
    True
    """
    layout = arrange_text(shown)
    text = escaped(isolated(visible(shown.text[:400])))
    body = "".join(map(_share, layout.shares)) + "".join(map(_word, layout.words))
    if not layout.words:
        body = moved(
            measures.PADDING, layout.rule_at + 40, '<text class="note">there is no word</text>\n'
        )
    return (
        _opening(
            round(layout.width),
            round(layout.height),
            title=f"{measures.TITLE} {escaped(headline(shown))}",
            description=f"Attention weights of the words of “{text}”.",
        )
        + moved(measures.PADDING, measures.PADDING, _text(shown, layout))
        + moved(layout.answer_at, measures.PADDING, answer_markup(shown))
        + f'<line class="line" x1="{measures.PADDING:g}" x2="{layout.width - measures.PADDING:g}"'
        f' y1="{layout.rule_at:g}" y2="{layout.rule_at:g}"/>\n{body}</svg>\n'
    )


def _text(shown: TextWeights, layout: TextLayout) -> str:
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = escaped(
        fitted(f"{measures.TITLE}{model}", 12.0, layout.answer_at - 2 * measures.PADDING)
    )
    lines = "".join(
        f'<text class="text" y="{line_at(place):g}" font-size="{measures.WORD_SIZE:g}">'
        f"{escaped(line)}</text>\n"
        for place, line in enumerate(layout.lines)
    )
    return f'<text class="note" y="11">{note}</text>\n{lines}'


def _word(word: PlacedWord) -> str:
    level = level_class("first", word.strength)
    label = escaped(isolated(word.text))
    return (
        f'<g><title>{label}: {word.weight:.2f}</title><rect class="{level}" x="{word.x:.1f}"'
        f' y="{word.y:.1f}" width="{word.width:.1f}" height="{measures.WORD_HEIGHT:g}" rx="5"/>'
        f'<text class="ink-{level}" x="{word.x + measures.WORD_PAD:.1f}" y="{word.y + 18:.1f}"'
        f' font-size="{measures.WORD_SIZE:g}">{label}</text></g>\n'
    )


def _share(share: Share) -> str:
    level = level_class("second", share.weight)
    return (
        f"<g><title>sentence: {share.weight:.2f}</title>"
        f'<rect class="{level}" x="{measures.PADDING:g}" y="{share.y:.1f}"'
        f' width="{measures.SHARE_WIDTH - 12:g}" height="{share.height:.1f}" rx="5"/>'
        f'<text class="ink-{level}" x="{measures.PADDING + (measures.SHARE_WIDTH - 12) / 2:.1f}"'
        f' y="{share.y + 17:.1f}" font-size="{measures.SHARE_SIZE:g}" text-anchor="middle">'
        f"{share.weight:.2f}</text></g>\n"
    )


def generation_svg(alignment: GenerationAlignment) -> str:
    """Draw where an answer looked: the mean first, then every layer and head.

    >>> import numpy as np
    >>> svg = generation_svg(GenerationAlignment(
    ...     source="ja", text="yes", source_tokens=("ja",), tokens=("yes",),
    ...     weights=np.ones((1, 1)), score=0.0))
    >>> "<title>yes → ja: 1.00</title>" in svg
    True
    """
    source, text = (isolated(visible(each)) for each in (alignment.source, alignment.text))
    title = f"Where “{escaped(text)}” looked"
    description = f"Attention weights from the answer to “{escaped(source)}”."
    lines = (
        (
            "note",
            11.0,
            12.0,
            f"Who asked whom?{_of_model(alignment)} · score {alignment.score:.2f}",
        ),
        ("first", 38.0, 16.0, visible(alignment.source)),
        ("second", 64.0, 16.0, visible(alignment.text)),
    )
    first = "Each token of the answer asks the source"
    return _drawn_maps(alignment, first, lines, title=title, description=description)


def self_svg(shown: SelfAttention) -> str:
    """Draw whom the tokens of a text asked: the mean first, then every layer and head.

    >>> import numpy as np
    >>> svg = self_svg(SelfAttention(text="ja", tokens=("ja",), weights=np.ones((1, 1, 1, 1))))
    >>> "<title>ja → ja: 1.00</title>" in svg
    True
    """
    text = isolated(visible(shown.text))
    lines = (
        ("note", 11.0, 12.0, f"Who asked whom?{_of_model(shown)} · a row asks, a column is asked"),
        ("second", 38.0, 16.0, visible(shown.text)),
    )
    title = f"Whom the tokens of “{escaped(text)}” asked"
    description = f"Attention weights of every layer and head within “{escaped(text)}”."
    return _drawn_maps(shown, "", lines, title=title, description=description)


_Line = tuple[str, float, float, str]


def _drawn_maps(
    shown: GenerationAlignment | SelfAttention,
    first: str,
    lines: tuple[_Line, ...],
    *,
    title: str,
    description: str,
) -> str:
    panels = _panels(shown, first)
    columns = 1 if shown.weights.ndim == 2 else shown.weights.shape[1]
    places, width, height = _places(panels, columns)
    width = max(width, 720.0)
    body = "".join(
        f'<g transform="translate({x:.1f} {y:.1f})">\n'
        f'<text class="title" y="14">{escaped(title)}</text>\n'
        f'<g transform="translate(0 {_MAP_TITLE - 14:.1f})">{drawing.markup(drawing.top)}</g></g>\n'
        for (title, drawing), (x, y) in zip(panels, places, strict=True)
    )
    opening = _opening(width, height, title=title, description=description)
    return f"{opening}{_maps_heading(lines, width)}{body}</svg>\n"


def _panels(
    alignment: GenerationAlignment | SelfAttention, first: str
) -> list[tuple[str, HeatMap]]:
    longest = max(alignment.weights.shape[-2:])
    heads = alignment.heads()
    first = "Mean of all layers and heads" if heads else first
    found = [(first, _map(alignment, alignment.mean, cell_size(longest)))]
    return [*found, *((name, _map(alignment, each, _SMALL_CELL)) for name, each in heads)]


def _map(alignment: GenerationAlignment | SelfAttention, weights: Weights, cell: float) -> HeatMap:
    return HeatMap(
        side="second",
        askers=alignment.tokens,
        asked=alignment.source_tokens,
        weights=weights,
        cell=cell,
    )


def _places(
    panels: list[tuple[str, HeatMap]], columns: int
) -> tuple[list[tuple[float, float]], float, float]:
    """Corners of the maps, and the size of the whole: the first map alone, the others in a grid."""
    sizes = [(each.width, each.height(each.top) + _MAP_TITLE) for _, each in panels]
    places = [(measures.PADDING, measures.PADDING + _MAPS_HEADING)]
    y = measures.PADDING + _MAPS_HEADING + sizes[0][1] + _MAPS_GAP
    width = sizes[0][0]
    for start in range(1, len(panels), columns):
        x, row = measures.PADDING, sizes[start : start + columns]
        for wide, _ in row:
            places.append((x, y))
            x += wide + _MAPS_GAP
        width, y = (
            max(width, x - _MAPS_GAP - measures.PADDING),
            y + max(high for _, high in row) + _MAPS_GAP,
        )
    return places, width + 2 * measures.PADDING, y - _MAPS_GAP + measures.PADDING


def _of_model(shown: GenerationAlignment | SelfAttention) -> str:
    return f" · {visible(shown.model)}" if shown.model else ""


def _maps_heading(lines: tuple[_Line, ...], width: float) -> str:
    room = width - 2 * measures.PADDING
    drawn = "".join(
        f'<text class="{kind}" y="{y:g}" font-size="{size:g}">'
        f"{escaped(fitted(text, size, room))}</text>\n"
        for kind, y, size, text in lines
    )
    return f'<g transform="translate({measures.PADDING:g} {measures.PADDING:g})">\n{drawn}</g>\n'
