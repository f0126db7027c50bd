"""A run that shows how far it is, in a notebook or on the terminal of a program."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from softquery.progress_display import Progress, showing
from softquery.running.callbacks import Unwatched

if TYPE_CHECKING:
    from softquery.training import Observer

_SHOWN = ("loss", "lr")


class ShownTraining:
    """An observer that shows steps, and what was measured last.

    Args:
        progress: Shows it.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._total = self._done = 0

    def begin(self, total_steps: int, done: int) -> None:
        """The run starts, or goes on."""
        self._total, self._done = total_steps, done
        self._progress.tell(done, total=total_steps)

    def step(self, done: int, facts: dict[str, float]) -> None:
        """A step is done."""
        self._done = done
        self._progress.tell(done, total=self._total, note=_note(facts))

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """An epoch was measured."""
        note = f"epoch {number + 1}" + (f", {_note(facts)}" if _note(facts) else "")
        self._progress.tell(self._done, total=self._total, note=note)


def _note(facts: dict[str, float]) -> str:
    """What there is to say of a run.

    >>> _note({"loss": 0.25, "tune_accuracy": 0.5, "step": 7})
    'loss 0.2500, tune accuracy 0.5000'
    """
    names = [name for name in facts if name in _SHOWN or name.startswith("tune_")]
    return ", ".join(f"{name.replace('_', ' ')} {facts[name]:.4f}" for name in names)


@contextmanager
def training_shown(progress: bool) -> Iterator["Observer"]:
    """An observer that shows a run while it lasts, if that is wanted."""
    if not progress:
        yield Unwatched()
        return
    with showing(True, "steps") as shown:
        yield ShownTraining(shown)
