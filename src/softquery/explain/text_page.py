"""One text and the weights of its words as a page that stands alone, without a script."""

from string import Template

from softquery.explain.answer import answer_kind, headline
from softquery.explain.colours import level_class
from softquery.explain.markup import (
    direction,
    escaped,
    isolated,
    language,
    shortened,
    visible,
    visible_token,
)
from softquery.explain.page import chances_markup, policy
from softquery.explain.picture import picture_css
from softquery.explain.resources import read_resource
from softquery.explain.text_layout import TITLE
from softquery.explain.text_weights import TextWeights


def text_to_html(shown: TextWeights) -> str:
    """Draw the weights of words, and of sentences, as a page; it follows light or dark.

    >>> import numpy as np
    >>> page = text_to_html(TextWeights(
    ...     text="<b>", sentences=(("<b>",),), word_weights=(np.array([1.0]),),
    ...     label="positive", score=0.9, probabilities={"negative": 0.1, "positive": 0.9},
    ... ))
    >>> "<b>" in page, "&lt;b&gt;" in page
    (False, True)
    """
    style = read_resource("page.css") + read_resource("text_page.css") + picture_css()
    spoken = language(shown.text)
    # Filled in one pass, so that a text that holds "$body" stays a text.
    return Template(read_resource("text_page.html")).substitute(
        policy=policy(style),
        title=f"{escaped(isolated(visible(headline(shown))))} · {TITLE.lower()}",
        style=style,
        kind=answer_kind(shown),
        headline=escaped(headline(shown)),
        chances=chances_markup(shown),
        question=TITLE,
        attributes=f' lang="{spoken}"' if spoken else "",
        direction=direction(shown.text),
        body=_body(shown),
        key=_key(shown),
        footer=escaped(" · ".join(filter(None, ("softquery", shown.model)))),
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
