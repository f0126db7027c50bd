"""Pages that stand alone: a pair to explore, and the words of a text; each with its reasons.

Styles and the one script are inside the page, and its security policy allows those, by their
hashes, and nothing else. Users' text only ever becomes text or JSON in it.
"""

import math
from collections.abc import Sequence
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
    names = alignment.sides
    panels = thread_panels(
        chips("first", names[0], alignment.first, alignment.first_tokens),
        chips("second", names[1], alignment.second, alignment.second_tokens, alignment.found),
        _maps(alignment),
        about=localised("Heat maps of both directions"),
    )
    return page(
        headline(alignment),
        kind=localised(answer_kind(alignment)),
        question=localised("who asked whom?"),
        model=alignment.model,
        aside=chances_markup(alignment),
        style=read_resource("page.css") + picture_css() + reasons_css(alignment.reasons),
        panels=reasons_panel(alignment.reasons, alignment, is_pair=True) + panels,
        script=read_resource("page.js"),
        data=thread_data(alignment.first_to_second, alignment.second_to_first),
    )


def thread_panels(first: str, second: str, maps: str, *, about: str, one_way: bool = False) -> str:
    """Both texts with threads between their words, and maps below them.

    Args:
        first: The chips of the text above.
        second: Likewise of the one below.
        maps: Markup.
        about: What the maps show.
        one_way: Whether one of the texts asks nothing, so that there is nothing to switch.
    """
    return Template(localised_template(read_resource("pair_panels.html"))).substitute(
        first=first,
        second=second,
        maps=maps,
        words=localised("Words of both sentences"),
        about=escaped(about),
        one_way=" hidden" if one_way else "",
    )


def chips(
    side: Side, name: str, sentence: str, tokens: Sequence[str], found: range = range(0)
) -> str:
    """A text as a row of chips, in its own writing direction.

    Args:
        side: Whether it stands above or below.
        name: What it is called.
        sentence: The text as given.
        tokens: Its words, as the model read them.
        found: Which of them are the answer.
    """
    own = localised(name)
    spoken = language("".join(tokens))
    attributes = f' lang="{spoken}"' if spoken else ""
    nothing = f'<span class="quiet">{localised("no words")}</span>'
    row = "\n".join(
        f'<button type="button" class="chip{" found" if index in found else ""}"'
        f' data-side="{side}" data-index="{index}"{" hidden" if _is_mark(tokens, index) else ""}>'
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
        f"{row or nothing}\n</div>\n</div>"
    )


_MARKS = frozenset(("<bos>", "<eos>", "<s>", "</s>", "<cls>", "<sep>", "[cls]", "[sep]"))


def _is_mark(tokens: Sequence[str], index: int) -> bool:
    """Whether a token stands for the beginning or the end of a sentence, and for no word of it."""
    return index in (0, len(tokens) - 1) and tokens[index].lower() in _MARKS


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


def thread_data(first: NDArray[np.float32] | None, second: NDArray[np.float32] | None) -> str:
    """What each word of both texts asks, for the script; None for a text that asks nothing."""
    return json_for_script(
        {
            "first": None if first is None else _rounded(first),
            "second": None if second is None else _rounded(second),
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
        panels="".join(reasons_panel(each, shown, is_pair=False) for each in reasons) + panels,
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
