"""Printing for people and for machines, and one line for what went wrong."""

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import ENOSPC
from io import TextIOWrapper
from typing import Any, NoReturn

import typer

import softquery
from softquery.errors import InputError, SoftqueryError
from softquery.language import (
    ENGLISH,
    current_language,
    language_of_environment,
    localised,
    speaking,
)
from softquery.terminal_text import escape_json, escape_line, escape_text

MISTAKE = 2
"""Exit code of everything that the user can put right."""
INTERRUPTED = 130
_PACKAGE = os.path.dirname(softquery.__file__) + os.sep
"""Where the files of softquery lie."""
QUIET_VARIABLE = "SOFTQUERY_QUIET"
"""Also read by the processes that a command starts."""
LONGEST_LINE = 2000
"""Characters of an error that are shown."""
_HAN, _OPENING, _CLOSING = "\u3400-\u9fff", "（“《", "，。；：、！？）”》"
_PIECE = re.compile(
    rf"\s*(?:[{_OPENING}]*(?:[{_HAN}]|[^\s{_HAN}{_OPENING}{_CLOSING}]+)[{_CLOSING}]*|\S)\s*"
)
"""What a line is not broken within: Chinese may be broken between any two characters."""

# What is raised for wrong options and arguments: click's, or the copy of it inside newer Typers.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    with _answering():
        print(escape_json(json.dumps(value, ensure_ascii=False)))


def print_text(text: str, *, end: str = "\n") -> None:
    """Plain text on standard output: exact in a file, safe on a terminal."""
    with _answering():
        print(escape_text(text) if sys.stdout.isatty() else text, end=end)


def print_line(pieces: Sequence[tuple[str, str]]) -> None:
    """One line of texts, each in a style of its own; colours on a terminal alone."""
    from rich.console import Console
    from rich.text import Text

    line = Text()
    for text, style in pieces:
        line.append(escape_text(text), style=style)
    line.rstrip()
    with _answering():
        Console().print(line, soft_wrap=True, highlight=False)


def note(line: str) -> None:
    """A line of progress on standard error, where it does not mix with answers."""
    if not is_quiet():
        print(escape_line(localised(line)), file=sys.stderr, flush=True)


def is_quiet() -> bool:
    """Whether progress and notes are not wanted: `--quiet`, or the variable that it sets."""
    return os.environ.get(QUIET_VARIABLE, "") not in ("", "0")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    names: Sequence[str] = (),
) -> None:
    """A readable table; numbers are right-aligned.

    Args:
        title: As it is to be shown.
        columns: Headings of ours, shown in the reader's language.
        rows: The cells.
        names: Further headings, which come from data and are shown as they are.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", show_header=any((*columns, *names)))
    for place, column in enumerate([*map(localised, columns), *names]):
        numeric = bool(rows) and all(_is_number(row[place]) for row in rows)
        # As `Text`: in a plain string, brackets would be read as markup.
        head = Text(escape_text(column))
        table.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_shown(cell) for cell in row))
    console = Console()
    with _answering(), broken_between_characters():
        if title:  # a table would break it at the table's own width
            shown = escape_text(title)
            console.print(shown, style="italic", markup=False, highlight=False, soft_wrap=True)
        console.print(table)


def line_pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts of a text that stay together, each with where it begins and ends.

    No line begins with a closing mark, and none ends with an opening one.

    >>> [piece for _, _, piece in line_pieces("Show it 图（SVG），可选。")]
    ['Show ', 'it ', '图', '（SVG），', '可', '选。']
    """
    return ((*each.span(), each.group()) for each in _PIECE.finditer(text))


@contextmanager
def broken_between_characters() -> Iterator[None]:
    """Let Rich break lines so until the end of the block; by itself it does so at spaces alone."""
    from rich import _wrap

    before = {"words": _wrap.words} if hasattr(_wrap, "words") else {}
    vars(_wrap).update(dict.fromkeys(before, line_pieces))
    try:
        yield
    finally:
        vars(_wrap).update(before)


@contextmanager
def _answering() -> Iterator[None]:
    """Say so where standard output leads to a full disk; a reader who left is no fault."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_answers()
        reason = "no space left on the disk" if error.errno == ENOSPC else error.strerror
        raise InputError(f"cannot be written ({reason})", source="standard output") from error


def _is_number(cell: object) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _shown(cell: object) -> Any:
    from rich.text import Text

    if isinstance(cell, float):
        return Text(f"{cell:.4f}")
    return Text(f"{cell:,}" if isinstance(cell, int) else escape_text(str(cell)))


def joined(first: str, then: str) -> str:
    """Two parts of a line; no space stands behind a full-width mark.

    >>> joined("note:", "slow"), joined("提示：", "较慢")
    ('note: slow', '提示：较慢')
    """
    return f"{first}{then}" if first.endswith(("：", "？")) else f"{first} {then}"


def span(low: str, high: str) -> str:
    """An interval as people read it.

    >>> span("0.81", "0.86")
    '0.81 to 0.86'
    """
    return f"{low} {localised('to')} {high}"


def flat(report: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The single numbers of a report, in order."""
    return [(key, value) for key, value in report.items() if isinstance(value, (int, float))]


def run(app: typer.Typer) -> NoReturn:
    """Call the command line and turn the user's mistakes into one line and exit code 2."""
    if isinstance(sys.stdout, TextIOWrapper):
        # What a terminal cannot show is escaped there instead of ending in a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    with speaking(_language()):
        _run(app)


def _language() -> str:
    """That of the user's locale; what machines read is English, and so is what is said beside."""
    return ENGLISH if "--json" in sys.argv[1:] else language_of_environment(os.environ)


def _run(app: typer.Typer) -> NoReturn:
    call: Any = app
    if current_language() != ENGLISH or _asks_for_help(sys.argv[1:]):
        from softquery.cli.terminal.localised_help import localised_parser

        call = localised_parser(app)
    try:
        with _own_warnings():
            code = call(prog_name="softquery", standalone_mode=False)
    except SoftqueryError as error:
        _leave(str(error), MISTAKE)
    except UsageError as error:
        _leave(_usage(error), MISTAKE)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _leave(f"{place}{error.strerror or error}", MISTAKE)
    if code == INTERRUPTED:
        _leave("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _asks_for_help(words: Sequence[str]) -> bool:
    """Whether help may be shown: where it is named, and by verbs that hold others alone."""
    return len(words) < 2 or not {"-h", "--help"}.isdisjoint(words)


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Show our own warnings as one line, without the place in the code that they come from."""
    plain = warnings.formatwarning

    def formatted(message: Any, category: Any, filename: str, *place: Any, **more: Any) -> str:
        if filename.startswith(_PACKAGE):
            return f"softquery: {one_line(localised(str(message)))}\n"
        return plain(message, category, filename, *place, **more)

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = plain


def _usage(error: Any) -> str:
    """One line about a wrong option or argument; empty where help was shown in its place."""
    message = str(error.format_message()).strip().removesuffix(".")
    if message.startswith("No such option: --quiet"):
        return "--quiet goes before the verb, as in softquery --quiet match …"
    verb = "softquery" if error.ctx is None else error.ctx.command_path.strip()
    if not message:
        return ""
    problem = localised(f"{message[:1].lower()}{message[1:]}")
    if problem.endswith(("?", "？")):
        return joined(problem, localised(f"See {verb} --help"))
    return problem + localised(f"; see {verb} --help")


def _drop_answers() -> None:
    """Stop writing answers, so that the end of the process does not try once more."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (open until the process ends)


def _leave(line: str, code: int) -> NoReturn:
    if line:
        print(f"softquery: {one_line(localised(line))}", file=sys.stderr, flush=True)
    sys.exit(code)


def one_line(text: str) -> str:
    """The text as one line that any terminal can show, shortened where it is endless."""
    shown = escape_line(text)
    if len(shown) <= LONGEST_LINE:
        return shown
    half = LONGEST_LINE // 2
    return f"{shown[:half]} … {shown[-half:]}"
