"""SVG drawings of one text that asks another, or itself: the mean first, then every head."""

from softquery.explain import layout as measures
from softquery.explain.generation import GenerationAlignment
from softquery.explain.lettering import escaped, fitted, isolated, visible
from softquery.explain.maps.maps_layout import (
    SMALL_TITLE_AT,
    MapPanel,
    Maps,
    MapsLayout,
    arrange_maps,
    small_map_at,
)
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import line_markup, map_heading, moved, opening, rule
from softquery.language import filled_in


def generation_svg(alignment: GenerationAlignment) -> str:
    """Draw where an answer looked: the mean first, then every layer and head.

    >>> import numpy as np
    >>> svg = generation_svg(GenerationAlignment(
    ...     source="ja", text="yes", source_tokens=("ja",), tokens=("yes",),
    ...     weights=np.ones((1, 1)), score=0.0))
    >>> "<title>yes → ja: 1.00</title>" in svg
    True
    """
    source = escaped(isolated(visible(alignment.source)))
    return _drawn(
        alignment, filled_in("Attention weights from the answer to “{source}”.", {"source": source})
    )


def self_svg(shown: SelfAttention) -> str:
    """Draw whom the tokens of a text asked: the mean first, then every layer and head.

    >>> import numpy as np
    >>> svg = self_svg(SelfAttention(text="ja", tokens=("ja",), weights=np.ones((1, 1, 1, 1))))
    >>> "<title>ja → ja: 1.00</title>" in svg
    True
    """
    text = escaped(isolated(visible(shown.text)))
    description = "Attention weights of every layer and head within “{text}”."
    return _drawn(shown, filled_in(description, {"text": text}))


def _drawn(shown: Maps, description: str) -> str:
    layout = arrange_maps(shown)
    return (
        opening(
            round(layout.width),
            round(layout.height),
            title=escaped(isolated(layout.title)),
            description=description,
        )
        + moved(measures.PADDING, measures.PADDING, _texts(layout))
        + moved(layout.answer_at, measures.PADDING, _fact(layout))
        + rule(layout.rule_at, layout.width)
        + "".join(map(_panel, layout.panels))
        + "</svg>\n"
    )


def _texts(layout: MapsLayout) -> str:
    note = escaped(fitted(layout.note, 12.0, layout.answer_at - measures.PADDING - 40))
    return f'<text class="note" y="11">{note}</text>\n' + "".join(map(line_markup, layout.lines))


def _fact(layout: MapsLayout) -> str:
    name, value = layout.fact
    return (
        f'<text class="note" y="11">{name}</text>\n'
        f'<text class="text strong" y="37" font-size="22">{value}</text>\n'
    )


def _panel(panel: MapPanel) -> str:
    drawing = panel.drawing
    if not panel.name:
        below = moved(panel.x, panel.y + measures.HEADING, drawing.markup(drawing.top))
        return moved(panel.x, panel.y, map_heading(drawing)) + below
    title = f'<text class="note" y="{SMALL_TITLE_AT:g}">{escaped(panel.name)}</text>\n'
    below = moved(*small_map_at(panel), drawing.markup(drawing.top))
    return moved(panel.x, panel.y, title) + below
