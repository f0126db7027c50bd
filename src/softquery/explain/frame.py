"""The frame of pages that stand alone: answer, panels and footer, and a policy for all of it.

Styles and scripts are inside a page, and its security policy allows those, by their hashes, and
nothing else. Users' text only ever becomes text or JSON in it.
"""

import base64
import hashlib
from string import Template

from softquery.explain.layout import Chance, HasAnswer, chances, percent
from softquery.explain.lettering import escaped, isolated, visible
from softquery.explain.svg import read_resource
from softquery.language import localised
from softquery.language.page_templates import localised_template


def page(
    headline: str,
    *,
    kind: str,
    question: str,
    model: str,
    aside: str,
    style: str,
    panels: str,
    script: str = "",
    data: str = "",
) -> str:
    """Answer, panels and footer in one frame.

    Args:
        headline: The answer in short.
        kind: What the headline is.
        question: What the page answers; stands in its title.
        model: Its name, for the footer.
        aside: Markup beside the answer.
        style: The style sheet.
        panels: Markup.
        script: The script, if there is one.
        data: JSON for the script.
    """
    scripts = (
        f'<script type="application/json" id="weights">{data}</script>\n<script>{script}</script>\n'
    )
    # What was substituted is not scanned again, so that a sentence with "$maps" stays a sentence.
    return Template(localised_template(read_resource("page.html"))).substitute(
        policy=policy(style, script),
        title=f"{escaped(isolated(visible(headline)))} · {question}",
        style=style,
        kind=kind,
        headline=escaped(headline),
        chances=aside,
        panels=panels.rstrip("\n"),
        footer=escaped(" · ".join(filter(None, ("softquery", model)))),
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
    label = localised("Probabilities")
    return f'<ul class="chances" aria-label="{label}">\n{rows}\n</ul>' if rows else ""


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
