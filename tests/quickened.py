"""What tests need not wait for: a disk that is flushed, and curves that are drawn again and again.

What a process has written outlives the process, if not the power, so that no test could see that
`os.fsync` does nothing; several milliseconds a file, it would be a good part of their time. The
curves of a tiny run take longer to draw than the run: in a process they are drawn once, and the
picture is copied to where the next ones belong. Fresh interpreters do all of it.
"""

import os
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

CURVES = ("training", "curves.png")
"""Where a run puts its picture."""


def flush_nothing() -> None:
    """Leave the disk alone from now on."""
    os.fsync = lambda descriptor: None


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
