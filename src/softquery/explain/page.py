"""A page to explore one pair: point at a word, and the words it asked light up.

The page stands alone: its styles and its one script are inside, and its security policy allows
those two, by their hashes, and nothing else. Text of users is only ever text or JSON in it.
"""

import base64
import hashlib
import math
from string import Template

import numpy as np
from numpy.typing import NDArray

from softquery.explain.alignment import PairAlignment
from softquery.explain.answer import Chance, HasAnswer, answer_kind, chances, headline, percent
from softquery.explain.colours import EXPONENT, NUM_LEVELS, Side
from softquery.explain.heat_map import LEGEND_WIDTH, HeatMap
from softquery.explain.layout import NOTE, heat_maps
from softquery.explain.markup import (
    direction,
    escaped,
    isolated,
    json_for_script,
    language,
    shortened,
    visible,
    visible_token,
)
from softquery.explain.picture import picture_css
from softquery.explain.resources import read_resource


def to_html(alignment: PairAlignment) -> str:
    """Draw who asked whom as a page that needs no network and follows light or dark.

    Hovering over, tapping or focusing a word lights up the other sentence in proportion to the
    weights; the heat maps of both directions stand below, and work without scripts as well.

    >>> import numpy as np
    >>> page = to_html(PairAlignment(
    ...     first="<b>", second="b", first_tokens=("<b>",), second_tokens=("b",),
    ...     first_to_second=np.ones((1, 1)), second_to_first=np.ones((1, 1)),
    ...     label=None, score=4.5,
    ... ))
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    style, script = read_resource("page.css") + picture_css(), read_resource("page.js")
    answer = isolated(visible(headline(alignment)))
    # Filled in one pass, so that a sentence that holds "$maps" stays a sentence.
    return Template(read_resource("page.html")).substitute(
        policy=policy(style, script),
        title=f"{escaped(answer)} · who asked whom?",
        style=style,
        kind=answer_kind(alignment),
        headline=escaped(headline(alignment)),
        chances=chances_markup(alignment),
        first=_sentence("first", alignment.first, alignment.first_tokens),
        second=_sentence("second", alignment.second, alignment.second_tokens),
        maps=_maps(alignment),
        footer=escaped(" · ".join(filter(None, ("softquery", alignment.model)))),
        data=_data(alignment),
        script=script,
    )


def policy(style: str, script: str = "") -> str:
    """Nothing but this style and this script; not even an image, a form or another base."""
    scripts = f"'{_hash(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def chances_markup(alignment: HasAnswer) -> str:
    """The labels with their probabilities as a list of bars."""
    rows = "\n".join(_chance(each) for each in chances(alignment))
    return f'<ul class="chances" aria-label="Probabilities">\n{rows}\n</ul>' if rows else ""


def _chance(chance: Chance) -> str:
    chosen = " chosen" if chance.chosen else ""
    length = max(100 * min(chance.probability, 1.0), 1.0)
    return (
        f'<li class="{chosen.strip()}"><bdi>{escaped(chance.label)}</bdi>'
        '<svg aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">'
        f'<rect class="track" width="100" height="10"/>'
        f'<rect class="bar{chosen}" width="{length:.2f}" height="10"/></svg>'
        f'<span class="value">{escaped(percent(chance.probability))}</span></li>'
    )


def _sentence(side: Side, sentence: str, tokens: tuple[str, ...]) -> str:
    """The sentence as chips, in a group that runs the way the sentence does."""
    spoken = language("".join(tokens))
    attributes = f' lang="{spoken}"' if spoken else ""
    nothing = '<span class="quiet">no words</span>'
    chips = "\n".join(
        f'<button type="button" class="chip" data-side="{side}" data-index="{index}">'
        f'<bdi class="token">{escaped(shortened(visible_token(token)))}</bdi>'
        '<span class="weight" aria-hidden="true"></span></button>'
        for index, token in enumerate(tokens)
    )
    return (
        f'<div class="sentence {side}" role="group" aria-labelledby="{side}-sentence"'
        f' dir="{direction("".join(tokens))}">\n'
        f'<div class="caption" id="{side}-sentence"><h2>{side} sentence</h2>'
        f'<bdi class="quiet"{attributes}>{escaped(sentence)}</bdi></div>\n'
        f'<div class="chips"{attributes}>\n'
        f"{chips or nothing}\n</div>\n</div>"
    )


def _maps(alignment: PairAlignment) -> str:
    forth, back = heat_maps(alignment)
    top = max(forth.top, back.top)
    return f"{_figure(forth, top)}\n{_figure(back, top)}"


def _figure(drawing: HeatMap, top: float) -> str:
    before, own, between, other = drawing.title_parts
    title = (
        f'{before}<span class="{drawing.side}-ink">{own}</span>'
        f'{between}<span class="{drawing.other}-ink">{other}</span>'
    )
    name = "".join(drawing.title_parts)
    legend = f'<svg width="{LEGEND_WIDTH + 4:g}" height="20">{drawing.legend()}</svg>'
    width, height = math.ceil(drawing.width), math.ceil(drawing.height(top))
    return (
        f'<figure><figcaption><span>{title}</span><span class="key quiet">{NOTE}{legend}</span>'
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
        }
    )


def _rounded(weights: NDArray[np.float32]) -> list[list[float]]:
    """What the page shows has two digits; four are enough to draw it."""
    rows: list[list[float]] = np.round(weights.astype(np.float64), 4).tolist()
    return rows
