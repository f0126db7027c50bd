"""One text and the weights of its words as an SVG, with the answer on top."""

from softquery.explain.answer import headline
from softquery.explain.colours import level_class
from softquery.explain.layout import PADDING
from softquery.explain.lettering import fitted
from softquery.explain.markup import escaped, isolated, visible
from softquery.explain.picture import answer_markup, moved, picture_css
from softquery.explain.text_layout import (
    SHARE_SIZE,
    SHARE_WIDTH,
    TITLE,
    WORD_HEIGHT,
    WORD_PAD,
    WORD_SIZE,
    PlacedWord,
    Share,
    TextLayout,
    arrange_text,
    line_at,
)
from softquery.explain.text_weights import TextWeights


def text_to_svg(shown: TextWeights) -> str:
    """Draw the weights of words, and of sentences where they have any.

    >>> import numpy as np
    >>> svg = text_to_svg(TextWeights(
    ...     text="so good", sentences=(("so", "good"),), word_weights=(np.array([0.2, 0.8]),),
    ...     label="positive", score=0.9, probabilities={"negative": 0.1, "positive": 0.9},
    ... ))
    >>> "<title>good: 0.80</title>" in svg
    True
    """
    layout = arrange_text(shown)
    body = "".join(map(_share, layout.shares)) + "".join(map(_word, layout.words))
    if not layout.words:
        body = moved(PADDING, layout.rule_at + 40, '<text class="note">there is no word</text>\n')
    return (
        _opening(shown, layout)
        + moved(PADDING, PADDING, _text(shown, layout))
        + moved(layout.answer_at, PADDING, answer_markup(shown))
        + f'<line class="line" x1="{PADDING:g}" x2="{layout.width - PADDING:g}"'
        f' y1="{layout.rule_at:g}" y2="{layout.rule_at:g}"/>\n{body}</svg>\n'
    )


def _opening(shown: TextWeights, layout: TextLayout) -> str:
    width, height = round(layout.width), round(layout.height)
    text = escaped(isolated(visible(shown.text[:400])))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="what why">\n'
        f'<title id="what">{TITLE} {escaped(headline(shown))}</title>\n'
        f'<desc id="why">Attention weights of the words of “{text}”.</desc>\n'
        f"<style>\n{picture_css()}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="14"/>\n'
    )


def _text(shown: TextWeights, layout: TextLayout) -> str:
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = escaped(fitted(f"{TITLE}{model}", 12.0, layout.answer_at - 2 * PADDING))
    lines = "".join(
        f'<text class="text" y="{line_at(place):g}" font-size="{WORD_SIZE:g}">{escaped(line)}'
        "</text>\n"
        for place, line in enumerate(layout.lines)
    )
    return f'<text class="note" y="11">{note}</text>\n{lines}'


def _word(word: PlacedWord) -> str:
    level = level_class("first", word.strength)
    label = escaped(isolated(word.text))
    return (
        f'<g><title>{label}: {word.weight:.2f}</title><rect class="{level}" x="{word.x:.1f}"'
        f' y="{word.y:.1f}" width="{word.width:.1f}" height="{WORD_HEIGHT:g}" rx="5"/>'
        f'<text class="ink-{level}" x="{word.x + WORD_PAD:.1f}" y="{word.y + 18:.1f}"'
        f' font-size="{WORD_SIZE:g}">{label}</text></g>\n'
    )


def _share(share: Share) -> str:
    level = level_class("second", share.weight)
    return (
        f'<g><title>sentence: {share.weight:.2f}</title><rect class="{level}" x="{PADDING:g}"'
        f' y="{share.y:.1f}" width="{SHARE_WIDTH - 12:g}" height="{share.height:.1f}" rx="5"/>'
        f'<text class="ink-{level}" x="{PADDING + (SHARE_WIDTH - 12) / 2:.1f}"'
        f' y="{share.y + 17:.1f}" font-size="{SHARE_SIZE:g}" text-anchor="middle">'
        f"{share.weight:.2f}</text></g>\n"
    )
