"""What an answer owes to each word, as a panel of a page."""

from softquery.explain.colours import level_class, reason_hue
from softquery.explain.lettering import (
    HasLabels,
    direction,
    escaped,
    isolated,
    language,
    shortened,
    visible_token,
)
from softquery.explain.reason_layout import (
    LEAST_NUMBER,
    LEGEND_WIDTH,
    arrange_reasons,
    reason_note,
    reason_title,
    told,
)
from softquery.explain.reason_svg import legend_markup
from softquery.explain.reasons import Reasons, WordReason, signed
from softquery.explain.svg import read_resource
from softquery.language import localised

_SIDES = ("first", "second")


def reasons_css(*reasons: Reasons | None) -> str:
    """The style of the panels, if there is one."""
    return read_resource("reasons.css") if any(each is not None for each in reasons) else ""


def reasons_panel(reasons: Reasons | None, explained: HasLabels, *, is_pair: bool) -> str:
    """Every word on the colour of its change, with the number below it; empty without reasons."""
    if reasons is None:
        return ""
    title, strengths = escaped(reason_title(reasons, explained)), reasons.strengths()
    layout = arrange_reasons(reasons, LEGEND_WIDTH + 8, explained, is_pair=is_pair)
    wide = f"{LEGEND_WIDTH + 8:g}"
    legend = (
        f'<svg viewBox="0 20 {wide} 28" width="{wide}" height="28">{legend_markup(layout)}</svg>'
    )
    lines: list[list[str]] = [[] for _ in reasons.words]
    for each in reasons.listed():
        strength = float(strengths[each.sentence][each.position])
        lines[each.sentence].append(_word(each, strength))
    body = "\n".join(
        _line(words, "".join(reasons.words[place]), _SIDES[place] if is_pair else "")
        for place, words in enumerate(lines)
    )
    return (
        f'<section class="panel" aria-label="{title}">\n<div class="controls"><h2>{title}</h2>'
        f'<span class="legend" aria-hidden="true">{legend}</span></div>\n'
        f"{body}\n"
        f'<p class="quiet">{escaped(_note(reasons))}</p>\n</section>\n'
    )


def _note(reasons: Reasons) -> str:
    note = reason_note(reasons)
    colours = localised(". Green speaks for the answer, red against it.")
    return f"{note[0].upper()}{note[1:]}{colours}"


def _line(words: list[str], text: str, side: str) -> str:
    spoken = language(text)
    attributes = f' lang="{spoken}"' if spoken else ""
    nothing = f'<span class="quiet">{localised("no words")}</span>'
    return (
        f'<p class="reasons {side}"{attributes} dir="{direction(text)}">'
        f"{' '.join(words) or nothing}</p>"
    )


def _word(reason: WordReason, strength: float) -> str:
    level = level_class(reason_hue(strength), abs(strength))
    text = escaped(isolated(shortened(visible_token(reason.word))))
    number = signed(reason.change) if abs(reason.change) >= LEAST_NUMBER else ""
    return (
        f'<span class="reason" title="{escaped(told(reason))}">'
        f'<bdi class="{level} ink-{level}">{text}</bdi><small>{number}</small></span>'
    )
