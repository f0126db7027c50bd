r"""The same tasks by word vectors, ELMo, our BERT and MiniLM: one table, one figure.

    python benchmarks/compare_tasks.py --bundle "sst2/ELMo=FOLDER" --bundle "sst2/our BERT=FOLDER" \
        --output benchmarks/compare_tasks.png --json benchmarks/results/compare_tasks.json

Accuracy or F1 on dev and the seconds of training come from the rows that other benchmarks left in
results/. Parameters and the time that one text takes come from exported bundles, which are asked in
turn in this very run, on two threads; give the bundle of one of the seeds whose rows are there.
What a bundle says of itself stands in where there are no rows. What has neither is left out.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from side_by_side import points, read_rows

from softquery.bundle import Bundle, read_bundle
from softquery.errors import ConfigError, SoftqueryError
from softquery.runtime import load
from softquery.runtime.base import open_base
from softquery.runtime.weights import SCALE

HERE = Path(__file__).parent
THREADS, ROUNDS = 2, 5
TEXTS = (
    "A quiet film that grows on you.",
    "Peter Smith of Reuters met officials of the European Union in Geneva on Tuesday.",
    "The plot is thin, the jokes are old, and nobody on the screen seems to care.",
    "Two men in yellow vests are repairing a street in front of a shop.",
    "Rarely has so much talent been spent on a story as small and as tired as this one is.",
    "It works.",
)
QUESTION = "Who met officials of the European Union?"


@dataclass(frozen=True, slots=True)
class Task:
    """What is done, and what it is judged by."""

    title: str
    metric: str


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


TASKS = {
    "sst2": Task("SST-2", "accuracy"),
    "snli": Task("SNLI, 100k", "accuracy"),
    "conll": Task("CoNLL-2003", "f1"),
    "squad": Task("SQuAD 1.1", "f1"),
}
WAYS = {
    "word vectors": {
        "sst2": ("classify.jsonl", "sst2"),
        "snli": ("esim_elmo.json", "plain"),
        "conll": ("tagging.jsonl", "plain"),
        "squad": ("read.jsonl", "reader"),
    },
    "ELMo": {
        "sst2": ("classify.jsonl", "sst2-elmo"),
        "snli": ("esim_elmo.json", "larger"),
        "conll": ("tagging.jsonl", "elmo"),
        "squad": ("read.jsonl", "reader-elmo"),
    },
    **{
        way: {
            **{task: ("bert_tasks.jsonl", f"{name}-{task}") for task in ("sst2", "snli", "conll")},
            "squad": ("read.jsonl", f"{name}-read"),
        }
        for way, name in (
            ("BERT, random weights", "random"), ("our BERT", "pretrained"), ("MiniLM", "minilm"),
        )
    },
}  # fmt: skip
"""Where the rows of each task lie: the file, and the name of the variant."""


def rows_of(path: Path) -> list[dict[str, Any]]:
    """A file of results, as lines or as an object whose keys end in the seed; none without it."""
    if not path.is_file():
        return []
    if path.suffix == ".jsonl":
        return [row for row in read_rows(path) if row.get("share", 1.0) == 1.0]
    found = json.loads(path.read_text(encoding="utf-8"))
    return [{"name": re.sub(r"-seed-\d+$", "", key), **row} for key, row in found.items()]


def from_rows(task: str, way: str, rows: Iterable[dict[str, Any]], name: str) -> Measured | None:
    """What the rows of a variant say; None where there are none."""
    some = [row for row in rows if row["name"] == name]
    if not some:
        return None
    return Measured(
        task,
        way,
        dev=[row["dev"][TASKS[task].metric] for row in some],
        seconds=statistics.mean(row["training"]["seconds"] for row in some),
    )


def from_results(folder: Path) -> dict[tuple[str, str], Measured]:
    """Everything that has been measured, by task and way."""
    files = {file for places in WAYS.values() for file, _ in places.values()}
    rows = {file: rows_of(folder / file) for file in files}
    found = {}
    for task in TASKS:
        for way, places in WAYS.items():
            file, name = places[task]
            made = from_rows(task, way, rows[file], name)
            if made is not None:
                found[task, way] = made
    return found


def num_parameters(bundle: Bundle) -> int:
    """Numbers that were learnt, those of a base among them."""
    base = open_base(bundle)
    own = {name: v for name, v in bundle.read_weights().items() if not name.endswith(SCALE)}
    below = {} if base is None else base[1]
    return sum(values.size for values in (*own.values(), *below.values()))


def asked(kind: str, turn: int) -> list[Any]:
    """The texts as a kind of model takes them; no two turns have the same, which would be kept."""
    texts = [f"{text[:-1]}, and that {turn} times." for text in TEXTS]
    if kind == "matcher":
        return list(zip(texts, texts[::-1], strict=True))
    return [(QUESTION, text) for text in texts] if kind == "reader" else texts


def latencies(bundles: Sequence[Bundle], rounds: int) -> list[float]:
    """Milliseconds that one text takes each model: the median of rounds in which all take turns."""
    models = [load(bundle.path, backend="onnx", threads=THREADS) for bundle in bundles]
    times: list[list[float]] = [[] for _ in models]
    for turn in range(rounds + 1):  # the first one warms up, and is not counted
        for model, bundle, found in zip(models, bundles, times, strict=True):
            for text in asked(bundle.config.kind, turn):
                began = time.perf_counter()
                model.predict([text])
                if turn:
                    found.append(1000 * (time.perf_counter() - began))
    return [statistics.median(found) for found in times]


def with_bundles(
    found: dict[tuple[str, str], Measured], given: dict[tuple[str, str], Path], rounds: int
) -> list[Measured]:
    """Results with what their bundles add, in the order of the tables above."""
    bundles = {key: read_bundle(path) for key, path in given.items()}
    speeds = dict(zip(bundles, latencies(list(bundles.values()), rounds), strict=True))
    rows = dict(found)
    for (task, way), bundle in bundles.items():
        metrics = bundle.metrics
        known = found.get((task, way))
        rows[task, way] = Measured(
            task,
            way,
            dev=known.dev if known else [own_figure(bundle, TASKS[task].metric)],
            seconds=known.seconds if known else metrics.get("training", {}).get("seconds"),
            parameters=num_parameters(bundle),
            milliseconds=speeds[task, way],
        )
    ways = list(WAYS)
    return sorted(
        rows.values(),
        key=lambda row: (list(TASKS).index(row.task), ways.index(row.way)),
    )


def own_figure(bundle: Bundle, metric: str) -> float:
    """What a bundle says of itself."""
    found = bundle.metrics.get("dev", {}).get(metric)
    if not isinstance(found, float):
        raise ConfigError(f"{bundle.path}: metrics.json has no {metric} on dev")
    return found


def table(rows: Iterable[Measured]) -> str:
    """Markdown, a row for each way of each task."""
    lines = [
        "| task | by | metric | seeds | dev | parameters | training | one text |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        task = TASKS[row.task]
        cells = [
            task.title,
            row.way,
            task.metric,
            str(len(row.dev)),
            points(row.dev),
            "" if row.parameters is None else f"{row.parameters / 1e6:.1f} M",
            "" if row.seconds is None else f"{row.seconds:.0f} s",
            "" if row.milliseconds is None else f"{row.milliseconds:.1f} ms",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: Sequence[Measured], path: Path) -> None:
    """How good against how long one text takes, a panel a task; nothing where nothing was timed."""
    from matplotlib.figure import Figure

    timed = [row for row in rows if row.milliseconds is not None]
    tasks = [task for task in TASKS if any(row.task == task for row in timed)]
    if not tasks:
        print("no bundle was given: nothing to draw", file=sys.stderr)
        return
    figure = Figure(figsize=(3.4 * len(tasks) + 0.6, 3.4), layout="constrained")
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    colours = dict(zip(WAYS, ("#4c72b0", "#55a868", "#aaaaaa", "#c44e52", "#8172b3"), strict=True))
    for axes, task in zip(panels, tasks, strict=True):
        for row in (row for row in timed if row.task == task):
            height = 100 * statistics.mean(row.dev)
            axes.plot(row.milliseconds, height, "o", color=colours[row.way])
            axes.annotate(row.way, (row.milliseconds, height), xytext=(4, 4),
                          textcoords="offset points", fontsize=8)  # fmt: skip
        axes.set(title=TASKS[task].title, xlabel="one text, ms", xscale="log",
                 ylabel=f"{TASKS[task].metric} on dev")  # fmt: skip
        axes.margins(0.25)
    figure.savefig(path, dpi=150)


def placed(text: str) -> tuple[tuple[str, str], Path]:
    """TASK/WAY=FOLDER of an exported bundle."""
    key, _, folder = text.partition("=")
    task, _, way = key.partition("/")
    if task not in TASKS or way not in WAYS or not folder:
        known = f"TASK one of {', '.join(TASKS)}, WAY one of {', '.join(WAYS)}"
        raise argparse.ArgumentTypeError(f"expected TASK/WAY=FOLDER, {known}; got {text!r}")
    return (task, way), Path(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bundle", type=placed, action="append", default=[],
                        metavar="TASK/WAY=FOLDER")  # fmt: skip
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=HERE / "compare_tasks.png")
    parser.add_argument("--json", type=Path, help="the figures as a file, too")
    options = parser.parse_args()
    try:
        rows = with_bundles(from_results(options.results), dict(options.bundle), options.rounds)
        if not rows:
            raise ConfigError(f"{options.results}: no results, and no bundle was given")
    except SoftqueryError as error:
        print(f"compare_tasks: {error}", file=sys.stderr)
        return 2
    print(table(rows))
    draw(rows, options.output)
    if options.json is not None:
        plain = [asdict(row) for row in rows]
        options.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
