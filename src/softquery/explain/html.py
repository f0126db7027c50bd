"""Pages that stand alone: a pair to explore, and the words of a text; each with its reasons.

Styles and the one script are inside the page, and its security policy allows those, by their
hashes, and nothing else. Users' text only ever becomes text or JSON in it.
"""

import math
from string import Template

import numpy as np
from numpy.typing import NDArray

from softquery.explain.alignment import PairAlignment
from softquery.explain.colours import EXPONENT, NUM_LEVELS, Side, level_class
from softquery.explain.frame import chances_markup, page
from softquery.explain.heat_map import LEGEND_WIDTH, HeatMap
from softquery.explain.layout import (
    NOTE,
    TITLE,
    answer_kind,
    headline,
    heat_maps,
    text_question,
)
from softquery.explain.lettering import (
    direction,
    escaped,
    json_for_script,
    language,
    shortened,
    visible_token,
)
from softquery.explain.reason_html import reasons_css, reasons_panel
from softquery.explain.svg import picture_css, read_resource
from softquery.explain.text_weights import TextWeights
from softquery.language import localised
from softquery.language.page_templates import localised_template


def to_html(alignment: PairAlignment) -> str:
    """Draw the attention between two sentences as an interactive page.

    Hovering over, tapping or focusing a word lights up the other sentence in proportion to the
    weights. The heat maps of both directions below also work without scripts.

    >>> import numpy as np
    >>> page = to_html(PairAlignment(
    ...     first="<b>", second="b", first_tokens=("<b>",), second_tokens=("b",),
    ...     first_to_second=np.ones((1, 1)), second_to_first=np.ones((1, 1)),
    ...     label=None, score=4.5,
    ... ))
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    panels = Template(localised_template(read_resource("pair_panels.html"))).substitute(
        first=_sentence("first", alignment.first, alignment.first_tokens),
        second=_sentence("second", alignment.second, alignment.second_tokens),
        maps=_maps(alignment),
    )
    return page(
        headline(alignment),
        kind=localised(answer_kind(alignment)),
        question=localised("who asked whom?"),
        model=alignment.model,
        aside=chances_markup(alignment),
        style=read_resource("page.css") + picture_css() + reasons_css(alignment.reasons),
        panels=reasons_panel(alignment.reasons, is_pair=True) + panels,
        script=read_resource("page.js"),
        data=_data(alignment),
    )


def _sentence(side: Side, sentence: str, tokens: tuple[str, ...]) -> str:
    """The sentence as a row of chips, in its own writing direction."""
    own = localised("first sentence" if side == "first" else "second sentence")
    spoken = language("".join(tokens))
    attributes = f' lang="{spoken}"' if spoken else ""
    nothing = f'<span class="quiet">{localised("no words")}</span>'
    chips = "\n".join(
        f'<button type="button" class="chip" data-side="{side}" data-index="{index}">'
        f'<bdi class="token">{escaped(shortened(visible_token(token)))}</bdi>'
        '<span class="weight" aria-hidden="true"></span></button>'
        for index, token in enumerate(tokens)
    )
    return (
        f'<div class="sentence {side}" role="group" aria-labelledby="{side}-sentence"'
        f' dir="{direction("".join(tokens))}">\n'
        f'<div class="caption" id="{side}-sentence"><h2>{own}</h2>'
        f'<bdi class="quiet"{attributes}>{escaped(sentence)}</bdi></div>\n'
        f'<div class="chips"{attributes}>\n'
        f"{chips or nothing}\n</div>\n</div>"
    )


def _maps(alignment: PairAlignment) -> str:
    forth, back = heat_maps(alignment)
    top = max(forth.top, back.top)
    return f"{figure(forth, top)}\n{figure(back, top)}"


def figure(drawing: HeatMap, top: float) -> str:
    """A map with its title and legend, of a size of its own."""
    before, own, between, other = drawing.title_parts
    title = (
        f'{before}<span class="{drawing.side}-ink">{own}</span>'
        f'{between}<span class="{drawing.other}-ink">{other}</span>'
    )
    name = "".join(drawing.title_parts)
    legend = f'<svg width="{LEGEND_WIDTH + 4:g}" height="20">{drawing.legend()}</svg>'
    note = localised(NOTE)
    width, height = math.ceil(drawing.width), math.ceil(drawing.height(top))
    return (
        f'<figure><figcaption><span>{title}</span><span class="key quiet">{note}{legend}</span>'
        f'</figcaption>\n<div class="scroll" tabindex="0" role="group" aria-label="{name}">'
        f'<svg width="{width}" height="{height}" role="img" aria-label="{name}">\n'
        f"{drawing.markup(top)}</svg></div></figure>"
    )


def _data(alignment: PairAlignment) -> str:
    return json_for_script(
        {
            "first": _rounded(alignment.first_to_second),
            "second": _rounded(alignment.second_to_first),
            "levels": NUM_LEVELS,
            "exponent": EXPONENT,
            "words": {
                "asks": f" {localised('asks')} ",
                "asked": f" {localised('is asked by')} ",
                "nobody": localised("nobody"),
                "more": localised(", and {count} more"),
            },
        }
    )


def _rounded(weights: NDArray[np.float32]) -> list[list[float]]:
    """Weights to four decimals: the page shows two, and draws with the rest."""
    rows: list[list[float]] = np.round(weights.astype(np.float64), 4).tolist()
    return rows


def text_to_html(shown: TextWeights) -> str:
    """Draw the weights of a text's words, and those of its sentences, as a page without a script.

    >>> import numpy as np
    >>> page = text_to_html(TextWeights(
    ...     text="<b>", sentences=(("<b>",),), word_weights=(np.array([1.0]),),
    ...     label="positive", score=0.9, probabilities={"negative": 0.1, "positive": 0.9},
    ... ))
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    spoken = language(shown.text)
    panels = Template(localised_template(read_resource("text_panels.html"))).substitute(
        question=localised(TITLE),
        attributes=f' lang="{spoken}"' if spoken else "",
        direction=direction(shown.text),
        body=_body(shown),
        key=_key(shown),
    )
    style = read_resource("page.css") + read_resource("text_page.css") + picture_css()
    reasons = (shown.reasons, shown.contributions)
    return page(
        headline(shown),
        kind=localised(answer_kind(shown)),
        question=text_question(shown).lower(),
        model=shown.model,
        aside=chances_markup(shown),
        style=style + reasons_css(*reasons),
        panels="".join(reasons_panel(each, is_pair=False) for each in reasons) + panels,
    )


def _body(shown: TextWeights) -> str:
    rows = zip(shown.sentences, shown.word_weights, shown.strengths(), strict=True)
    parts = []
    for place, (tokens, weights, strengths) in enumerate(rows):
        words = "\n".join(
            _word(token, float(weight), float(strength))
            for token, weight, strength in zip(tokens, weights, strengths, strict=True)
        )
        parts.append(f'<div class="said">{_share(shown, place)}<p>{words}</p></div>')
    return (
        "\n".join(parts)
        if any(shown.sentences)
        else f'<p class="quiet">{localised("there is no word")}</p>'
    )


def _word(token: str, weight: float, strength: float) -> str:
    level = level_class("first", strength)
    text = escaped(shortened(visible_token(token)))
    return f'<bdi class="word {level} ink-{level}" title="{weight:.4f}">{text}</bdi>'


def _share(shown: TextWeights, place: int) -> str:
    if shown.sentence_weights is None:
        return ""
    weight = float(shown.sentence_weights[place])
    level = level_class("second", weight)
    return f'<span class="share {level} ink-{level}">{weight:.2f}</span>'


def _key(shown: TextWeights) -> str:
    if shown.sentence_weights is None:
        return localised(
            "The darker a word, the more of the answer was read off it; point at it for its weight."
        )
    return localised(
        "The darker a word, the more of the answer was read off it; the numbers are the weights of "
        "the sentences, a word's is told on pointing."
    )
