"""Help in the reader's language.

Typer holds it in English. Here it is looked up as it is shown, so that nothing is translated for a
command that shows no help.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import typer
from typer.main import get_command

from softquery.language import localised

HELP_WORDS = {
    "ARGUMENTS_PANEL_TITLE": "Arguments",
    "OPTIONS_PANEL_TITLE": "Options",
    "COMMANDS_PANEL_TITLE": "Commands",
    "DEFAULT_STRING": "[default: {}]",
    "ENVVAR_STRING": "[env var: {}]",
    "REQUIRED_LONG_STRING": "[required]",
}
"""What Typer writes around the help of commands, by the names of its settings."""
USAGE = "Usage:"
_HAN, _OPENING, _CLOSING = "\u3400-\u9fff", "（“《", "，。；：、！？）”》"
_PIECE = re.compile(
    rf"\s*(?:[{_OPENING}]*(?:[{_HAN}]|[^\s{_HAN}{_OPENING}{_CLOSING}]+)[{_CLOSING}]*|\S)\s*"
)


def localised_parser(app: typer.Typer) -> Any:
    """The parser of an application, whose help is shown in the reader's language."""
    command = get_command(app)
    for each in _commands(command):
        each.format_help = partial(_show_help, each)
    return command


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from _commands(each)


def _show_help(command: Any, context: Any, formatter: Any) -> None:
    """What Typer does for this command, with its texts looked up."""
    from rich import _wrap
    from typer import rich_utils

    shown = [command, *getattr(command, "commands", {}).values(), *command.get_params(context)]
    usage = command.get_usage(context).replace(USAGE, localised(USAGE), 1)
    words = {
        name: localised(text) for name, text in HELP_WORDS.items() if hasattr(rich_utils, name)
    }
    with ExitStack() as until_shown:
        until_shown.enter_context(_changed(rich_utils, words))
        if hasattr(_wrap, "words"):
            until_shown.enter_context(_changed(_wrap, {"words": line_pieces}))
        until_shown.enter_context(_changed(command, {"get_usage": lambda context: usage}))
        for each in shown:
            until_shown.enter_context(_changed(each, _texts(each)))
        type(command).format_help(command, context, formatter)


def line_pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a line may be broken: at spaces, and between Chinese characters.

    Rich breaks at spaces alone, and cuts off what is longer than a line. No line begins with a
    closing mark, and none ends with an opening one.

    >>> [piece for _, _, piece in line_pieces("Show it 图（SVG），可选。")]
    ['Show ', 'it ', '图', '（SVG），', '可', '选。']
    """
    return ((*each.span(), each.group()) for each in _PIECE.finditer(text))


def _texts(thing: Any) -> dict[str, str]:
    """The help of a command or an option, and the words that stand for its default."""
    names = ("help", "short_help", "epilog", "show_default")
    texts = {name: getattr(thing, name, None) for name in names}
    return {name: localised(text) for name, text in texts.items() if text and text is not True}


@contextmanager
def _changed(thing: Any, values: dict[str, Any]) -> Iterator[None]:
    """Attributes with other values until the end of the block."""
    before = {name: vars(thing)[name] for name in values if name in vars(thing)}
    for name, value in values.items():
        setattr(thing, name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                setattr(thing, name, before[name])
            else:
                delattr(thing, name)
