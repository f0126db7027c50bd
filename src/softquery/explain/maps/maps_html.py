"""Pages of one text that asks another, or itself: the mean first, then every head."""

import math

from softquery.explain.frame import page
from softquery.explain.generation import GenerationAlignment
from softquery.explain.heat_map import HeatMap
from softquery.explain.html import chips, figure, thread_data, thread_panels
from softquery.explain.lettering import direction, escaped, language
from softquery.explain.maps.maps_layout import Maps, drawings, fact_of, shown_pieces, title_of
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import picture_css, read_resource
from softquery.language import localised

MOST_IN_ROW = 6
"""Heads of a layer that stand side by side, smaller where they must; of more, lines are broken."""


def generation_html(alignment: GenerationAlignment) -> str:
    """Where an answer looked, as a page: threads between both texts, then the maps."""
    fact = _fact(alignment)
    source = alignment.source
    aside = (
        f'<div><p class="quiet">{localised("source")}</p><p class="first-ink"{_spoken(source)}>'
        f"<bdi>{escaped(source)}</bdi></p>{fact}</div>"
    )
    (_, first), *_ = drawings(alignment)
    panels = thread_panels(
        chips("first", "source", source, shown_pieces(alignment.source_tokens)),
        chips("second", "generated text", alignment.text, shown_pieces(alignment.tokens)),
        figure(first, first.top),
        about=title_of(alignment),
        one_way=True,
    )
    return _page(
        alignment,
        localised("generated text"),
        aside,
        panels,
        script=read_resource("page.js"),
        data=thread_data(None, alignment.mean),
    )


def self_html(shown: SelfAttention) -> str:
    """Whom the tokens of a text asked, as a page without a script."""
    (_, first), *_ = drawings(shown)
    panels = f'<section class="panel maps" aria-label="{escaped(title_of(shown))}">\n'
    panels += f"{figure(first, first.top)}\n</section>\n"
    return _page(shown, localised("text"), f"<div>{_fact(shown)}</div>", panels)


def _page(
    shown: Maps, kind: str, aside: str, panels: str, *, script: str = "", data: str = ""
) -> str:
    """The page: its first panels, then the maps of all heads, each layer on lines of its own."""
    _, *heads = drawings(shown)
    if heads:
        every = localised("Every layer and head")
        per_layer = shown.weights.shape[1]
        in_row = " in-row" if per_layer <= MOST_IN_ROW else ""
        layers = "".join(
            f'<div class="maps heads{in_row}">\n'
            + "\n".join(_small(*each) for each in heads[start : start + per_layer])
            + "\n</div>\n"
            for start in range(0, len(heads), per_layer)
        )
        panels += (
            f'<section class="panel" aria-label="{every}">\n<h2>{every}</h2>\n{layers}</section>\n'
        )
    return page(
        shown.text,
        kind=kind,
        question=localised("who asked whom?"),
        model=shown.model,
        aside=aside,
        style=read_resource("page.css") + read_resource("maps_page.css") + picture_css(),
        panels=panels,
        script=script,
        data=data,
    )


def _fact(shown: Maps) -> str:
    name, value = fact_of(shown)
    return f'<p class="quiet">{name} {value}</p>'


def _spoken(text: str) -> str:
    spoken = language(text)
    return f' dir="{direction(text)}"' + (f' lang="{spoken}"' if spoken else "")


def _small(name: str, drawing: HeatMap) -> str:
    """The map of a single head."""
    width, height = math.ceil(drawing.width), math.ceil(drawing.height(drawing.top))
    return (
        f'<figure><figcaption class="quiet">{escaped(name)}</figcaption>\n'
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escaped(name)}">'
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escaped(name)}">\n'
        f"{drawing.markup(drawing.top)}</svg></div></figure>"
    )
