"""Help in the reader's language, with examples, in lines as long as the terminal.

Typer holds it in English, in the lines of the sources. Here it is looked up as it is shown, so that
nothing is translated for a command that shows no help.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import typer
from typer.main import get_command

from softquery.cli.terminal.help_examples import EXAMPLES
from softquery.cli.terminal.line_breaks import broken_between_characters
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
    from typer import rich_utils

    shown = [command, *getattr(command, "commands", {}).values(), *command.get_params(context)]
    usage = command.get_usage(context).replace(USAGE, localised(USAGE), 1)
    words = {
        name: localised(text) for name, text in HELP_WORDS.items() if hasattr(rich_utils, name)
    }
    with ExitStack() as until_shown:
        until_shown.enter_context(_changed(rich_utils, words))
        until_shown.enter_context(broken_between_characters())
        until_shown.enter_context(_changed(command, {"get_usage": lambda context: usage}))
        for each in shown:
            until_shown.enter_context(_changed(each, _texts(each)))
        type(command).format_help(command, context, formatter)
    _show_examples(context.command_path.partition(" ")[2])


def _show_examples(verb: str) -> None:
    """What to type, each command on a line without a frame, so that it can be copied."""
    from rich.console import Console

    if verb in EXAMPLES:
        lines = [localised("Examples:"), *EXAMPLES[verb]]
        Console(highlight=False).print(*(f" {line}" for line in lines), sep="\n", markup=False)


def _texts(thing: Any) -> dict[str, str]:
    """The help of a command or an option, and the words that stand for its default."""
    names = ("help", "short_help", "show_default")
    texts = {name: getattr(thing, name, None) for name in names}
    return {
        name: _flowing(localised(text)) for name, text in texts.items() if isinstance(text, str)
    }


def _flowing(text: str) -> str:
    r"""A text whose paragraphs are a line each, which the terminal breaks where it ends.

    >>> _flowing("What it does.\n\nOne line\nand its end.")
    'What it does.\n\nOne line and its end.'
    """
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in text.split("\n\n"))


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
