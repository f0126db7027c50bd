"""What tests need not wait for: a flushed disk, a parser made anew, curves drawn again and again.

What a process has written outlives the process, if not the power, so that no test could see that
`os.fsync` does nothing; several milliseconds a file, it would be a good part of their time. Typer
makes the parser of all commands for each call, which takes longer than most commands do. The
curves of a tiny run take longer to draw than the run: in a process they are drawn once, and the
picture is copied to where the next ones belong. Fresh interpreters do all of it.
"""

import os
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

CURVES = ("training", "curves.png")
"""Where a run puts its picture."""


def flush_nothing() -> None:
    """Leave the disk alone from now on."""
    os.fsync = lambda descriptor: None


def parse_with_one_parser(application: Any = None) -> None:
    """Make the parser of an application once.

    Args:
        application: Has its parser made now, for the children of a process that forks.
    """
    import typer.main

    typer.main.get_command = cache(typer.main.get_command)
    if application is not None:
        typer.main.get_command(application)


def draw_curves_once(picture: bytes | None = None) -> None:
    """Draw the curves of the first run from now on, and copy them for the next ones.

    Args:
        picture: Copied for the first one, too.
    """
    if not find_spec("matplotlib"):
        return
    from matplotlib.figure import Figure

    plain = Figure.savefig

    def savefig(self, fname, **settings):
        nonlocal picture
        path = Path(fname) if isinstance(fname, str | Path) else None
        if path is None or path.parts[-2:] != CURVES:
            plain(self, fname, **settings)
        elif picture is not None:
            path.write_bytes(picture)
        else:
            plain(self, fname, **settings)
            picture = path.read_bytes()

    Figure.savefig = savefig


def some_picture() -> bytes:
    """A PNG, for the children of a process that forks: each would draw its first one anew."""
    from matplotlib.figure import Figure

    content = BytesIO()
    Figure(figsize=(1, 1)).savefig(content, format="png")
    return content.getvalue()
