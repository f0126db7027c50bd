"""The help of every command, option and argument, as the parser holds it."""

from collections.abc import Iterator
from typing import Any


def help_texts() -> dict[str, list[str]]:
    """Every text with the commands that show it."""
    from typer.main import get_command

    from softquery.cli import app

    found: dict[str, list[str]] = {}
    for name, text in _shown(get_command(app), "softquery"):
        names = found.setdefault(text, [])
        if name not in names:
            names.append(name)
    return found


def _shown(command: Any, name: str) -> Iterator[tuple[str, str]]:
    for thing in (command, *command.params):
        for field in ("help", "short_help", "show_default"):
            text = getattr(thing, field, None)
            if isinstance(text, str) and text:
                yield name, text
    for inner, each in getattr(command, "commands", {}).items():
        yield from _shown(each, f"{name} {inner}")
