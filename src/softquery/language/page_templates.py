"""Templates of pages in the reader's language, before anybody's text is in them."""

import re

from softquery.language import ENGLISH, current_language, localised

_TEXT = re.compile(r'(?<=>)[^<>$]+(?=<)|(?<=aria-label=")[^"$]+(?=")')
_IN_ENGLISH = '<html lang="en">'


def page_texts(template: str) -> list[str]:
    """What a template says by itself, between its tags and to screen readers.

    >>> page_texts('<section aria-label="Answer"><p>$kind</p><h2>Who asked?</h2></section>')
    ['Answer', 'Who asked?']
    """
    found = (" ".join(text.split()) for text in _TEXT.findall(template))
    return [text for text in found if text]


def localised_template(template: str) -> str:
    """A template in the reader's language.

    Args:
        template: Markup, with names after a dollar where something is put in later.
    """
    if current_language() == ENGLISH:
        return template
    tag = current_language().replace("_", "-")
    told = _TEXT.sub(lambda found: _localised_text(found[0]), template)
    return told.replace(_IN_ENGLISH, f'<html lang="{tag}">')


def _localised_text(text: str) -> str:
    """A text between tags; white space alone stays as it is."""
    words = " ".join(text.split())
    return localised(words) if words else text
