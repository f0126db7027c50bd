"""Change what a bundle says about itself without touching its weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softquery.atomic import write_text
from softquery.bundle.card import calibration_lines
from softquery.bundle.config import CALIBRATION, CARD, refuse, to_json
from softquery.bundle.opening import Bundle
from softquery.errors import InputError


def update_bundle(bundle: Bundle, *, calibration: Mapping[str, Any]) -> Path:
    """Write a calibration and show it in the card; each file whole, the calibration last.

    Args:
        bundle: The folder to change.
        calibration: What `calibration.json` shall hold; no NaN.
    """
    text = to_json(calibration)
    try:
        body = calibration_lines(calibration)
        write_text(bundle.path / CARD, with_section(bundle.card, "Calibration", body))
        write_text(bundle.path / CALIBRATION, text)
    except InputError as error:
        refuse(bundle.path, error.message)
    return bundle.path


def with_section(card: str, title: str, body: list[str]) -> str:
    """A card with one of its sections replaced, or added at the end.

    Args:
        card: In Markdown.
        title: The section's heading.
        body: Its lines.
    """
    lines = card.splitlines()
    heading = f"## {title}"
    section = [heading, "", *body, ""]
    if heading not in lines:
        return "\n".join([*lines, "", *section])
    start = lines.index(heading)
    rest = (place for place in range(start + 1, len(lines)) if lines[place].startswith("## "))
    end = next(rest, len(lines))
    return "\n".join([*lines[:start], *section, *lines[end:]]).rstrip("\n") + "\n"
