"""Pages of one text that asks another, or itself: the mean first, then every head."""

import math

from softquery.explain.frame import page
from softquery.explain.generation import GenerationAlignment
from softquery.explain.heat_map import HeatMap
from softquery.explain.html import figure
from softquery.explain.lettering import direction, escaped, language
from softquery.explain.maps.maps_layout import Maps, drawings, fact_of, title_of
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import picture_css, read_resource
from softquery.language import localised


def generation_html(alignment: GenerationAlignment) -> str:
    """Where an answer looked, as a page without a script."""
    fact = _fact(alignment)
    source = alignment.source
    aside = (
        f'<div><p class="quiet">{localised("source")}</p><p class="first-ink"{_spoken(source)}>'
        f"<bdi>{escaped(source)}</bdi></p>{fact}</div>"
    )
    return _page(alignment, localised("generated text"), aside)


def self_html(shown: SelfAttention) -> str:
    """Whom the tokens of a text asked, as a page without a script."""
    return _page(shown, localised("text"), f"<div>{_fact(shown)}</div>")


def _page(shown: Maps, kind: str, aside: str) -> str:
    (_, first), *heads = drawings(shown)
    panels = f'<section class="panel maps" aria-label="{escaped(title_of(shown))}">\n'
    panels += f"{figure(first, first.top)}\n</section>\n"
    if heads:
        every = localised("Every layer and head")
        figures = "\n".join(_small(name, drawing) for name, drawing in heads)
        panels += (
            f'<section class="panel" aria-label="{every}">\n'
            f'<h2>{every}</h2>\n<div class="maps heads">\n'
            f"{figures}\n</div>\n</section>\n"
        )
    return page(
        shown.text,
        kind=kind,
        question=localised("who asked whom?"),
        model=shown.model,
        aside=aside,
        style=read_resource("page.css") + read_resource("maps_page.css") + picture_css(),
        panels=panels,
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
        f'<svg width="{width}" height="{height}" role="img" aria-label="{escaped(name)}">\n'
        f"{drawing.markup(drawing.top)}</svg></div></figure>"
    )
