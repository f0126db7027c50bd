"""Printing for people and for machines, and one line for what went wrong."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from softquery.errors import SoftqueryError

MISTAKE = 2
"""Exit code of everything that the user can put right."""
INTERRUPTED = 130


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False))


def note(line: str) -> None:
    """A line of progress on standard error, where it does not mix with answers."""
    print(line, file=sys.stderr, flush=True)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A readable table; numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[place]) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_shown(cell) for cell in row))
    Console().print(table)


def _is_number(cell: object) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _shown(cell: object) -> Any:
    from rich.text import Text

    if isinstance(cell, float):
        return Text(f"{cell:.4f}")
    return Text(f"{cell:,}" if isinstance(cell, int) else str(cell))


def flat(report: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The single numbers of a report, in order."""
    return [(key, value) for key, value in report.items() if isinstance(value, (int, float))]


def run(app: Callable[[], Any]) -> NoReturn:
    """Call the command line and turn the user's mistakes into one line and exit code 2."""
    try:
        app()
    except SoftqueryError as error:
        _leave(f"softquery: {error}", MISTAKE)
    except KeyboardInterrupt:
        _leave("softquery: interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the reader left; nothing more can be said)
        sys.exit(MISTAKE)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _leave(f"softquery: {place}{error.strerror or error}", MISTAKE)
    sys.exit(0)


def _leave(line: str, code: int) -> NoReturn:
    print(line, file=sys.stderr, flush=True)
    sys.exit(code)
