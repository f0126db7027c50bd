"""Progress of long calls, for whoever asks: a bar in a notebook or on a terminal, lines elsewhere.

Nothing is shown unless a caller says `progress=True`. IPython is used where it runs already.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, Protocol

NOTEBOOK_SECONDS, LINE_SECONDS = 0.2, 10.0
"""The least time between two updates of a notebook, and between two lines."""


class Count:
    """How many things are done, and how fast.

    >>> count = Count("texts", 200)
    >>> count.done, count.note = 50, "loss 0.25"
    >>> str(count).split(" · ")[0], str(count).split(" · ")[-1]
    ('50 of 200 texts', 'loss 0.25')
    """

    def __init__(self, noun: str, total: int | None) -> None:
        self.noun, self.total = noun, total
        self.done, self.note = 0, ""
        self._began = time.monotonic()

    def __str__(self) -> str:
        seconds = time.monotonic() - self._began
        speed = self.done / max(seconds, 1e-9)
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.done:,}{of} {self.noun}"]
        if self.done and seconds > 1:
            parts.append(f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s")
            if self.total and self.done < self.total:
                left = (self.total - self.done) / speed
                parts.append(f"{int(left // 60)}:{int(left % 60):02d} left")
        return " · ".join([*parts, *([self.note] if self.note else [])])


class Display(Protocol):
    """What shows a count."""

    def show(self, count: Count, *, is_last: bool) -> None:
        """Show where the count stands now; may skip all but the last."""


class Progress:
    """Is told how many things are done, and shows it.

    Args:
        noun: What is counted, in the plural.
        total: How many there are, where it is known.
        display: Shows it; None shows nothing.
    """

    def __init__(self, noun: str, total: int | None, display: Display | None) -> None:
        self.count, self._display = Count(noun, total), display

    def __call__(self, done: int) -> None:
        """So many are done."""
        self.tell(done)

    def tell(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """So many are done, of so many, and what else there is to say."""
        self.count.done, self.count.note = done, note
        self.count.total = self.count.total if total is None else total
        if self._display is not None:
            self._display.show(self.count, is_last=False)

    def end(self) -> None:
        """Show the end, by which the total is known."""
        self.count.total = self.count.total or self.count.done
        if self._display is not None:
            self._display.show(self.count, is_last=True)


@contextmanager
def showing(progress: bool, noun: str, things: object = None) -> Iterator[Progress]:
    """Show the progress of what runs inside, if it is wanted.

    Args:
        progress: Whether it is.
        noun: What is counted, in the plural.
        things: What is counted, or how many there are; a generator does not know.

    >>> with showing(False, "texts", ["a", "b"]) as advance:
    ...     advance(2)
    >>> advance.count.total
    2
    """
    total = things if isinstance(things, int) else _length(things)
    shown = Progress(noun, total, _display() if progress else None)
    try:
        yield shown
    finally:
        shown.end()


def _length(things: object) -> int | None:
    try:
        return len(things)  # type: ignore[arg-type]
    except TypeError:
        return None


def in_notebook() -> bool:
    """Whether the program runs in a kernel of IPython, whose output is a page."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _display() -> Display:
    if in_notebook():
        return NotebookDisplay()
    from rich.console import Console

    console = Console(stderr=True)
    return TerminalDisplay(console) if console.is_terminal else LineDisplay()


class NotebookDisplay:
    """One output of a cell that is updated in place: a bar in pages, a line in text."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown_at = -NOTEBOOK_SECONDS

    def show(self, count: Count, *, is_last: bool) -> None:
        """Update the output, at most some times a second."""
        now = time.monotonic()
        if not is_last and now - self._shown_at < NOTEBOOK_SECONDS:
            return
        display = import_module("IPython.display").display  # no dependency of ours
        self._shown_at = now
        bundle = {"text/plain": str(count), "text/html": bar_html(count)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def bar_html(count: Count) -> str:
    """A count as a bar and its line.

    >>> count = Count("texts", 4)
    >>> count.done = 1
    >>> bar_html(count)
    '<div><progress value="1" max="4" aria-label="texts"></progress> 1 of 4 texts</div>'
    """
    value = "" if count.total is None else f' value="{count.done}" max="{max(1, count.total)}"'
    label = escape(count.noun)
    return f'<div><progress{value} aria-label="{label}"></progress> {escape(str(count))}</div>'


class TerminalDisplay:
    """A bar, or a spinner where the total is not known, on a terminal."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bars

        columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.fields[said]}", markup=False))
        self._bars = Bars(*columns, console=console)
        self._task: Any = None

    def show(self, count: Count, *, is_last: bool) -> None:
        """Move the bar."""
        if self._task is None:
            self._task = self._bars.add_task(count.noun, total=count.total, said="")
            self._bars.start()
        self._bars.update(self._task, completed=count.done, total=count.total, said=str(count))
        if is_last:
            self._bars.stop()


class LineDisplay:
    """A line now and then, where neither a page nor a terminal shows the output."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()

    def show(self, count: Count, *, is_last: bool) -> None:
        """Print a line, seldom."""
        now = time.monotonic()
        if is_last or now - self._shown_at >= LINE_SECONDS:
            self._shown_at = now
            sys.stderr.write(f"{count}\n")
            sys.stderr.flush()
