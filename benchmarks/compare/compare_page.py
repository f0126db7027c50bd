"""What `compare.py` measures and shows: its tasks, its ways, a table, a page, a picture."""

import os
import platform
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime
from benchmarks.shared.side_by_side import points

THREADS = 2
"""On which one text is timed."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is done, by which kind of model, and what it is judged by."""

    title: str
    metric: str
    kind: str

    @property
    def judged_by(self) -> str:
        """The metric as people write it."""
        return "F1" if self.metric == "f1" else self.metric


@dataclass(frozen=True, slots=True)
class Measured:
    """A way of doing a task, and what there is to say about it."""

    task: str
    way: str
    dev: list[float]
    """Of each seed."""
    seconds: float | None = None
    """Training, the mean of the seeds."""
    parameters: int | None = None
    milliseconds: float | None = None
    """One text, on two threads."""
    precision: str | None = None
    """In which the graphs compute."""
    trained_on: str | None = None
    """The machine, where it is another than that of the other rows."""


TASKS = {
    "sst2": Task("SST-2", "accuracy", "classifier"),
    "snli": Task("SNLI-100k", "accuracy", "matcher"),
    "conll": Task("CoNLL-2003", "f1", "tagger"),
    "squad": Task("SQuAD 1.1", "f1", "reader"),
}
WAYS = {
    "word vectors": {
        "sst2": ("classify/classify.jsonl", "sst2"),
        "snli": ("esim/with_elmo.json", "plain"),
        "conll": ("tag/tag.jsonl", "plain"),
        "squad": ("read/read.jsonl", "frozen-vectors"),
    },
    "ELMo": {
        "sst2": ("classify/classify.jsonl", "sst2-elmo"),
        "snli": ("esim/with_elmo.json", "elmo-en"),
        "conll": ("tag/tag.jsonl", "elmo"),
        "squad": ("read/read.jsonl", "reader-elmo"),
    },
    **{
        way: {
            **{task: ("bert/tasks.jsonl", f"{name}-{task}") for task in ("sst2", "snli", "conll")},
            "squad": ("read/read.jsonl", f"{name}-read"),
        }
        for way, name in (
            ("BERT, random weights", "random"), ("our BERT", "pretrained"), ("MiniLM", "minilm"),
        )
    },
}  # fmt: skip
"""Where the rows of each task lie: the file, and the name of the variant."""
BILMS = {
    "the shipped `elmo-en` (1,024/192)": ("sst2", "snli", "squad"),
    "a medium one (2,048/256)": ("conll",),
}
"""On which tasks ELMo was measured with which biLM."""


def table(rows: Sequence[Measured]) -> str:
    """Markdown: under the name of each task, a row for each way."""
    lines = ["| by | dev | seeds | parameters | training | one text |", "|---|---|---|---|---|---|"]
    for name, task in TASKS.items():
        some = [row for row in rows if row.task == name]
        if some:
            lines.append(f"| **{task.title}**, {task.judged_by} |  |  |  |  |  |")
            lines += [f"| {' | '.join(cells(row))} |" for row in some]
    return "\n".join(lines)


def cells(row: Measured) -> list[str]:
    """What there is to say about a way; nothing where it is not known."""
    training = "" if row.seconds is None else f"{row.seconds:.0f} s"
    time = "" if row.milliseconds is None else f"{row.milliseconds:.1f} ms"
    return [
        row.way,
        points(row.dev),
        str(len(row.dev)),
        "" if row.parameters is None else f"{row.parameters / 1e6:.1f} M",
        training + ("" if row.trained_on is None else f" ({row.trained_on})"),
        time + (" (int8)" if row.precision == "int8" else ""),
    ]


def machine() -> str:
    """What texts are timed on."""
    named = re.search(r"^model name\s*:\s*(.+)$", _processors(), re.MULTILINE)
    processor = named[1] if named else platform.processor() or platform.machine()
    return f"{processor}, ONNX Runtime {onnxruntime.__version__}"


def _processors() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def page(
    rows: Sequence[Measured],
    picture: Path | None,
    folder: Path,
    num_words: int,
    *,
    sizes_only: bool = False,
) -> str:
    """The table with what it means, and the picture where there is one.

    Args:
        rows: What was measured.
        picture: Where the figure lies.
        folder: Of the page, from which the figure is found.
        num_words: Of a context that a question is asked about.
        sizes_only: Whether sizes and time are those of bundles after one step.
    """
    said = [
        "`dev`: mean and standard deviation of the seeds, in points. `parameters`: all, those of a "
        "frozen or named base among them. `training`: seconds of one run, the mean of the seeds."
    ]
    if any(row.milliseconds is not None for row in rows):
        said.append(
            f"`one text`: the median in milliseconds, all models in turn, on {THREADS} threads of "
            f"{machine()}, without torch; in float32 where nothing else is said. For "
            f"{TASKS['squad'].title} it is a question about {num_words} words, for "
            f"{TASKS['snli'].title} a pair."
        )
        if sizes_only:
            said.append(
                "`parameters` and `one text` were measured on bundles of the same recipes, sizes "
                "and vocabularies that were trained for one step, as neither depends on what the "
                "weights are; `dev` and `training` are those of whole runs."
            )
    if any(row.way == "ELMo" for row in rows):
        said.append(f"ELMo is {' and '.join(map(on_tasks, BILMS))}.")
    parts = [table(rows), " ".join(said)]
    if picture is not None:
        link = Path(os.path.relpath(picture, folder)).as_posix()
        parts.append(f"![How good against how long one text takes]({link})")
    return "\n\n".join(parts) + "\n"


def on_tasks(bilm: str) -> str:
    """A biLM with the tasks that it was measured on."""
    *first, last = (TASKS[task].title for task in BILMS[bilm])
    return f"{bilm} on {', '.join(first)} and {last}" if first else f"{bilm} on {last}"


COLOURS = dict(zip(WAYS, ("#4c72b0", "#55a868", "#999999", "#c44e52", "#8172b3"), strict=True))
MARKERS = dict(zip(WAYS, "osvDP", strict=True))


def draw(rows: Sequence[Measured], path: Path) -> bool:
    """How good against how long one text takes, a panel a task; nothing where nothing was timed."""
    from matplotlib.figure import Figure

    timed = [row for row in rows if row.milliseconds is not None]
    tasks = [task for task in TASKS if any(row.task == task for row in timed)]
    if not tasks:
        print("no bundle was given: nothing to draw", file=sys.stderr)
        return False
    figure = Figure(figsize=(2.9 * len(tasks) + 0.6, 3.4), layout="constrained")
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    shown: dict[str, Any] = {}
    for axes, task in zip(panels, tasks, strict=True):
        for row in (row for row in timed if row.task == task):
            shown[row.way] = draw_point(axes, row)
        draw_axes(axes, TASKS[task], [row for row in timed if row.task == task])
    ways = [way for way in WAYS if way in shown]
    figure.legend([shown[way] for way in ways], ways, loc="outside lower center", ncols=len(ways),
                  frameon=False)  # fmt: skip
    figure.savefig(path, dpi=150)
    return True


def draw_point(axes: Any, row: Measured) -> Any:
    """One way, with the spread of its seeds."""
    spread = 100 * statistics.stdev(row.dev) if len(row.dev) > 1 else None
    return axes.errorbar(
        row.milliseconds, 100 * statistics.mean(row.dev), yerr=spread, fmt=MARKERS[row.way],
        color=COLOURS[row.way], markersize=7, capsize=3, linestyle="none",
    )  # fmt: skip


def draw_axes(axes: Any, task: Task, rows: Sequence[Measured]) -> None:
    """Time in powers, with numbers that people read; room around the points."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    times = [row.milliseconds for row in rows if row.milliseconds is not None]
    axes.set(title=task.title, xlabel="one text, ms", xscale="log",
             ylabel=f"{task.judged_by} on dev, %")  # fmt: skip
    axes.set_xlim(min(times) / 1.8, max(times) * 1.8)
    axes.xaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if max(times) < 30 * min(times) else (1,))
    )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(y=0.15)
    axes.grid(alpha=0.25)
