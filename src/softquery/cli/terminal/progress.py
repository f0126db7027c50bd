"""Who speaks during a long command: its progress bar, and the first of several processes."""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from softquery.cli.terminal.console import is_quiet
from softquery.errors import SoftqueryError
from softquery.language import localised
from softquery.terminal_text import escape_line

PATIENCE = 20.0
"""Seconds in which the first process meets the mistake that another one has met."""


def is_first() -> bool:
    """Whether this process speaks for all that torchrun started, or is the only one."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def first_speaks() -> Iterator[None]:
    """Let the first process tell of a mistake that all meet; torchrun then ends the others."""
    try:
        yield
    except SoftqueryError:
        if not is_first():
            time.sleep(PATIENCE)
        raise


def was_restarted() -> bool:
    """Whether torchrun started this process in place of one that ended."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


def start_processes(devices: int, *, restarts: int = 0) -> NoReturn:
    """Start this same command once per device, and leave as the first of them that failed.

    Args:
        devices: How many processes.
        restarts: How often all of them are started anew after one was killed.
    """
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    if not is_quiet():
        line = localised(f"starting {devices} processes through torchrun")
        print(line, file=sys.stderr, flush=True)
    logging.disable(logging.ERROR)  # the processes themselves say what went wrong
    # In a store that all attempts share, new processes find the addresses of killed ones.
    os.environ.setdefault("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    command = ["-m", "softquery", *sys.argv[1:]]
    words = [
        "--standalone", f"--nproc-per-node={devices}", f"--max-restarts={restarts}", *command
    ]  # fmt: skip
    try:
        torchrun.run(torchrun.parse_args(words))  # type: ignore[no-untyped-call]
    except ChildFailedError as failed:
        code = failed.get_first_failure()[1].exitcode
        if code < 0:
            line = localised(f"a process was killed (signal {-code}); go on with --resume")
            print(f"softquery: {line}", file=sys.stderr)
        sys.exit(code if code > 0 else 1)
    except SignalException:
        sys.exit(128 + signal.SIGINT)
    sys.exit(0)


class TrainingBar:
    """Shows loss, rate, speed and time left; a line for each epoch stays behind.

    Of several processes only the first one shows anything.

    Args:
        counted: What the run's progress is counted in, a step or a word.
    """

    def __init__(self, counted: str = "step") -> None:
        from rich.console import Console

        self._counted = counted
        self.console = Console(stderr=True)
        self._bar: Any = None
        self._task: Any = None
        self._total = 0

    def __enter__(self) -> "TrainingBar":
        if self.console.is_terminal and is_first() and not is_quiet():
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn(localised("training")),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[facts]}"),
                TimeElapsedColumn(),
                TextColumn(localised("left")),
                TimeRemainingColumn(),
                console=self.console,
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total_steps: int, done: int) -> None:
        """The run starts, or goes on, at step `done`."""
        self._total = total_steps
        if done:
            self.say(f"resumed at {self._counted} {done:,} of at most {total_steps:,}")
        if self._bar is not None:
            self._task = self._bar.add_task("training", total=total_steps, completed=done, facts="")

    def step(self, done: int, facts: dict[str, float]) -> None:
        """A step is done."""
        if self._bar is not None:
            rate, unit = self._speed(facts)
            shown = "  ".join(
                f"{name} {_short(facts[key])}"
                for key, name in (("loss", "loss"), ("lr", "lr"), (rate, unit))
                if key in facts
            )
            metric = next((key for key in facts if key.startswith("tune_")), None)
            shown += f"  {metric.replace('_', ' ')} {facts[metric]:.4f}" if metric else ""
            self._bar.update(self._task, completed=done, facts=shown)

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """An epoch was measured."""
        measured = "  ".join(
            f"{name.replace('_', ' ')} {value:.4f}"
            for name, value in facts.items()
            if name.startswith("tune_")
        )
        loss = f"loss {facts['loss']:.4f}  " if "loss" in facts else ""
        rate, unit = self._speed(facts)
        best = "  (best so far)" if improved else ""
        parts = [f"{loss}{measured}".rstrip(), f"{facts.get(rate, 0.0):,.0f} {unit}{best}"]
        self.say(f"epoch {number + 1}: {'  '.join(part for part in parts if part)}")

    def _speed(self, facts: dict[str, float]) -> tuple[str, str]:
        """The fact that tells how fast a run is, and its unit."""
        if "tokens_per_second" in facts:
            return "tokens_per_second", "tokens/s"
        examples = "examples" if self._counted == "step" else f"{self._counted}s"
        return "examples_per_second", f"{examples}/s"

    def say(self, line: str) -> None:
        """A line that stays."""
        shown = escape_line(localised(line))
        if self._bar is not None:
            self._bar.console.print(shown, markup=False, highlight=False)
        elif is_first() and not is_quiet():
            print(shown, file=sys.stderr, flush=True)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4f}"


@contextmanager
def counting(noun: str) -> Iterator[Callable[[int], None]]:
    """A counter of things with its speed on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal or is_quiet():
        yield lambda done: None
        return
    shown = localised(noun)
    columns = [SpinnerColumn(), TextColumn(f"{{task.completed:,}} {shown}  {{task.fields[speed]}}")]
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task(noun, total=None, speed="")

        def advance(done: int) -> None:
            rate = bar.tasks[0].speed
            bar.update(task, completed=done, speed=f"{rate:,.0f} {shown}/s" if rate else "")

        yield advance
