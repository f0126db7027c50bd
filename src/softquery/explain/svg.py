"""SVG drawings: a pair in both directions, and the words of a text; each with its reasons.

They follow the viewer's light or dark scheme and show text in the viewer's own fonts.
"""

from functools import lru_cache

from softquery.explain import layout as measures
from softquery.explain.alignment import PairAlignment
from softquery.explain.colours import level_class, ramp_css
from softquery.explain.heat_map import HeatMap
from softquery.explain.layout import (
    Chance,
    HasAnswer,
    PairLayout,
    PlacedReasons,
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
    text_question,
)
from softquery.explain.lettering import LABEL_ROOM, escaped, fitted, isolated, visible
from softquery.explain.reason_svg import reasons_markup
from softquery.explain.text_weights import TextWeights
from softquery.language import filled_in, localised


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
    reasons = "" if layout.reasons is None else _reasons(layout.reasons, layout.width)
    maps = "".join(
        moved(*heading_at(corner), map_heading(each)) + moved(*corner, each.markup(layout.top))
        for each, corner in zip(layout.maps, layout.maps_at, strict=True)
    )
    return (
        opening(
            round(layout.width),
            round(layout.height),
            title=f"{localised('Who asked whom')}: {escaped(headline(alignment))}",
            description=filled_in(
                "Attention weights between “{first}” and “{second}” in both directions.",
                {"first": escaped(first), "second": escaped(second)},
            ),
        )
        + moved(measures.PADDING, measures.PADDING, _sentences(alignment, layout))
        + moved(layout.answer_at, measures.PADDING, answer_markup(alignment))
        + f"{rule(layout.rule_at, layout.width)}{reasons}{maps}</svg>\n"
    )


def rule(y: float, width: float) -> str:
    """A line across a picture of this width."""
    return (
        f'<line class="line" x1="{measures.PADDING:g}" x2="{width - measures.PADDING:.1f}"'
        f' y1="{y:.1f}" y2="{y:.1f}"/>\n'
    )


def _reasons(placed: PlacedReasons, width: float) -> str:
    drawn = moved(measures.PADDING, placed.y, reasons_markup(placed.layout))
    return f"{drawn}{rule(placed.rule_at, width)}"


def picture_css() -> str:
    """The CSS classes that drawings use, for both colour schemes."""
    return read_resource("picture.css") + ramp_css()


def opening(width: float, height: float, *, title: str, description: str) -> str:
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
        fitted(
            f"{localised('Who asked whom?')}{model}", 12.0, layout.answer_at - measures.PADDING - 40
        )
    )
    return f'<text class="note" y="11">{note}</text>\n' + "".join(map(line_markup, layout.lines))


def line_markup(line: SentenceLine) -> str:
    """A line of a sentence, the first of them with its mark."""
    mark = f'<circle class="{line.side}" cx="5" cy="{line.y - 5.5:g}" r="5"/>'
    return (
        f'{mark if line.is_first else ""}<text class="{line.side}" x="20" y="{line.y:g}"'
        f' font-size="{measures.SENTENCE_SIZE:g}">{escaped(line.text)}</text>\n'
    )


def map_heading(drawing: HeatMap) -> str:
    """The title of a map, and its legend."""
    before, own, between, other = drawing.title_parts
    return (
        f'<text class="title" y="{measures.TITLE_AT:g}">'
        f'{before}<tspan class="{drawing.side}">{own}</tspan>'
        f'{between}<tspan class="{drawing.other}">{other}</tspan></text>\n'
        f'<text class="note" y="{measures.NOTE_AT:g}">{localised(measures.NOTE)}</text>\n'
        f"{moved(*measures.LEGEND_AT, drawing.legend())}"
    )


def answer_markup(alignment: HasAnswer) -> str:
    """The answer and a bar per label, with the upper left corner at the origin."""
    word = escaped(fitted(visible(headline(alignment)), 22.0, measures.ANSWER_WIDTH))
    bars = (_bar(each, bar_at(row)) for row, each in enumerate(chances(alignment)))
    return (
        f'<text class="note" y="11">{localised(answer_kind(alignment))}</text>\n'
        f'<text class="text strong" y="37" font-size="22">{word}</text>\n{"".join(bars)}'
    )


def _bar(chance: Chance, y: float) -> str:
    chosen, strong = (" chosen", " strong") if chance.chosen else ("", "")
    length = max(measures.BAR_WIDTH * min(chance.probability, 1.0), 2.0)
    label = escaped(fitted(visible(chance.label), 12.5, LABEL_ROOM))
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
    reasons = "".join(_reasons(each, layout.width) for each in layout.reasons)
    below = layout.reasons[-1].rule_at if layout.reasons else layout.rule_at
    title = ""
    if layout.title_at is not None:
        title = (
            f'<text class="title" x="{measures.PADDING:g}" y="{layout.title_at:.1f}">'
            f"{localised(measures.TITLE)}</text>\n"
        )
    if not layout.words:
        body = moved(
            measures.PADDING,
            below + 40 + (28 if title else 0),
            f'<text class="note">{localised("there is no word")}</text>\n',
        )
    return (
        opening(
            round(layout.width),
            round(layout.height),
            title=f"{text_question(shown)} {escaped(headline(shown))}",
            description=filled_in("Attention weights of the words of “{text}”.", {"text": text}),
        )
        + moved(measures.PADDING, measures.PADDING, _text(shown, layout))
        + moved(layout.answer_at, measures.PADDING, answer_markup(shown))
        + f"{rule(layout.rule_at, layout.width)}{reasons}{title}{body}</svg>\n"
    )


def _text(shown: TextWeights, layout: TextLayout) -> str:
    model = f" · {visible(shown.model)}" if shown.model else ""
    note = escaped(
        fitted(f"{text_question(shown)}{model}", 12.0, layout.answer_at - 2 * measures.PADDING)
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
        f"<g><title>{localised('sentence')}: {share.weight:.2f}</title>"
        f'<rect class="{level}" x="{measures.PADDING:g}" y="{share.y:.1f}"'
        f' width="{measures.SHARE_WIDTH - 12:g}" height="{share.height:.1f}" rx="5"/>'
        f'<text class="ink-{level}" x="{measures.PADDING + (measures.SHARE_WIDTH - 12) / 2:.1f}"'
        f' y="{share.y + 17:.1f}" font-size="{measures.SHARE_SIZE:g}" text-anchor="middle">'
        f"{share.weight:.2f}</text></g>\n"
    )
