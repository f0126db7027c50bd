"""All that a catalogue has to translate: help, messages, and what shipped models are for."""

from pathlib import Path

from softquery.language.page_templates import page_texts
from softquery.language.text_catalogue import PLACE
from softquery.text.languages import LANGUAGES
from translations.foreign import FOREIGN_TEXTS
from translations.help_texts import help_texts
from translations.sources import message_texts


def wanted_texts(package: Path) -> dict[str, list[str]]:
    """Every text with the places where it stands, in a fixed order.

    Args:
        package: The folder of the package.
    """
    found = help_texts()
    for text, places in sorted(message_texts(package).items(), key=lambda item: item[1]):
        found.setdefault(text, places)
    found.setdefault(PLACE, ["errors.py"])
    for language in LANGUAGES.values():
        found.setdefault(language, ["text/languages.py"])
    for text, origin in FOREIGN_TEXTS.items():
        found.setdefault(text, [origin])
    for template in sorted((package / "explain").glob("*.html")):
        for text in page_texts(template.read_text(encoding="utf-8")):
            found.setdefault(text, [f"explain/{template.name}"])
    for text, model in _summaries(package).items():
        found.setdefault(text, [model])
    return found


def _summaries(package: Path) -> dict[str, str]:
    """What the cards of shipped models say first, as `softquery models` lists it."""
    from softquery.zoo.glance import glance_card

    folders = [
        package / "zoo" / "models",
        package.parents[1] / "packages" / "softquery-models" / "src" / "softquery_models",
    ]
    cards = [card for folder in folders for card in sorted(folder.glob("*/README.md"))]
    return {glance_card(card)[1]: card.parent.name for card in cards}
