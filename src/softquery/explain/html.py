"""Pages that stand alone: a pair to explore, the words of a text, every head of a model.

Styles and the one script are inside the page, and its security policy allows those, by their
hashes, and nothing else. Users' text only ever becomes text or JSON in it.
"""

import base64
import hashlib
import math
from string import Template

import numpy as np
from numpy.typing import NDArray

from softquery.explain.alignment import PairAlignment
from softquery.explain.colours import EXPONENT, NUM_LEVELS, Side, level_class
from softquery.explain.generation import GenerationAlignment
from softquery.explain.heat_map import LEGEND_WIDTH, HeatMap
from softquery.explain.layout import (
    NOTE,
    TITLE,
    Chance,
    HasAnswer,
    answer_kind,
    chances,
    headline,
    heat_maps,
    percent,
)
from softquery.explain.lettering import (
    direction,
    escaped,
    isolated,
    json_for_script,
    language,
    shortened,
    visible,
    visible_token,
)
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import generation_svg, picture_css, read_resource, self_svg
from softquery.explain.text_weights import TextWeights

_GENERATION_STYLE = (
    "body{margin:0;font-family:system-ui,sans-serif;background:#f4f4f8}"
    "main{padding:24px;overflow-x:auto}"
    "@media (prefers-color-scheme:dark){body{background:#15141f}}"
)


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
    panels = Template(read_resource("pair_panels.html")).substitute(
        first=_sentence("first", alignment.first, alignment.first_tokens),
        second=_sentence("second", alignment.second, alignment.second_tokens),
        maps=_maps(alignment),
    )
    return _page(
        alignment,
        question="who asked whom?",
        style=read_resource("page.css") + picture_css(),
        panels=panels,
        script=read_resource("page.js"),
        data=_data(alignment),
    )


def _page(
    shown: PairAlignment | TextWeights,
    *,
    question: str,
    style: str,
    panels: str,
    script: str = "",
    data: str = "",
) -> str:
    """Answer, panels (markup) and footer in one frame; `data` is JSON for the script."""
    scripts = (
        f'<script type="application/json" id="weights">{data}</script>\n<script>{script}</script>\n'
    )
    # What was substituted is not scanned again, so that a sentence with "$maps" stays a sentence.
    return Template(read_resource("page.html")).substitute(
        policy=policy(style, script),
        title=f"{escaped(isolated(visible(headline(shown))))} · {question}",
        style=style,
        kind=answer_kind(shown),
        headline=escaped(headline(shown)),
        chances=chances_markup(shown),
        panels=panels.rstrip("\n"),
        footer=escaped(" · ".join(filter(None, ("softquery", shown.model)))),
        scripts=scripts if script else "",
    )


def policy(style: str, script: str = "") -> str:
    """A content security policy that allows this style and this script and nothing else."""
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
    """The sentence as a row of chips, in its own writing direction."""
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
    panels = Template(read_resource("text_panels.html")).substitute(
        question=TITLE,
        attributes=f' lang="{spoken}"' if spoken else "",
        direction=direction(shown.text),
        body=_body(shown),
        key=_key(shown),
    )
    style = read_resource("page.css") + read_resource("text_page.css") + picture_css()
    return _page(shown, question=TITLE.lower(), style=style, panels=panels)


def _body(shown: TextWeights) -> str:
    rows = zip(shown.sentences, shown.word_weights, shown.strengths(), strict=True)
    parts = []
    for place, (tokens, weights, strengths) in enumerate(rows):
        words = "\n".join(
            _word(token, float(weight), float(strength))
            for token, weight, strength in zip(tokens, weights, strengths, strict=True)
        )
        parts.append(f'<div class="said">{_share(shown, place)}<p>{words}</p></div>')
    return "\n".join(parts) if any(shown.sentences) else '<p class="quiet">there is no word</p>'


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
    words = "The darker a word, the more of the answer was read off it"
    if shown.sentence_weights is None:
        return f"{words}; point at it for its weight."
    return f"{words}; the numbers are the weights of the sentences, a word's is told on pointing."


def generation_html(alignment: GenerationAlignment) -> str:
    """The drawing of `generation_svg` as a page without a script."""
    return _page_of_maps(generation_svg(alignment), alignment.text)


def self_html(shown: SelfAttention) -> str:
    """The drawing of `self_svg` as a page without a script."""
    return _page_of_maps(self_svg(shown), shown.text)


def _page_of_maps(svg: str, text: str) -> str:
    inner = svg[svg.index("<style>") + 7 : svg.index("</style>")]
    hashes = " ".join(f"'{_hash(style)}'" for style in (_GENERATION_STYLE, inner))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src {hashes}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(isolated(visible(text)))} · who asked whom?</title>\n"
        f"<style>{_GENERATION_STYLE}</style>\n</head>\n<body>\n<main>\n{svg}</main>\n</body>\n</html>\n"
    )
