"""A reader on SQuAD 1.1: seeds, parts left out, and how long it takes.

    python benchmarks/read.py train --data SQUAD --vectors glove-50d.bin glove-100d.bin --jobs 3
    python benchmarks/read.py report

SQUAD is a folder with `train.json` and `dev.json` (.xz, .gz). `train` runs every variant with every
seed that it has, a few side by side, and adds a row to results/read.jsonl as each finishes; runs
that stand there already are not run again. `--also FILE` measures each model on more questions.
`report` prints the tables of read.md and draws the curves, read.png.
"""

import argparse
import csv
import fnmatch
import io
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "read.jsonl"


@dataclass(frozen=True)
class Variant:
    """One setting, to be run with one seed or with all."""

    name: str
    settings: tuple[str, ...] = ()
    all_seeds: bool = False
    recipe: str = "reader"


VARIANTS = [
    Variant("reader", all_seeds=True),
    Variant("frozen-vectors", ("vocabulary.frozen=true",)),
    Variant("no-characters", ("model.spelling.kind=none",)),
    Variant("no-highways", ("model.num_highways=0",)),
    Variant("one-modelling-layer", ("model.num_layers=1",)),
    Variant("dot", ("model.score=dot",)),
    Variant("bilinear", ("model.score=bilinear",)),
    Variant("no-average", ("training.average_decay=0",)),
    Variant("dropout-0.3", ("model.dropout=0.3",)),
    Variant("batch-32", ("data.batch_size=32",)),
    Variant("batch-128", ("data.batch_size=128", "optim.lr=1.4e-3")),
    Variant("hidden-150", ("model.hidden_size=150",)),
]


@dataclass
class Job:
    """One run under way."""

    variant: Variant
    seed: int
    bundle: Path
    process: subprocess.Popen
    began: float


def train(options: argparse.Namespace) -> None:
    options.work.mkdir(parents=True, exist_ok=True)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["name"], row["seed"]) for row in read(options.results)}
    waiting = [
        (variant, seed)
        for seed in range(1, options.seeds + 1)
        for variant in VARIANTS
        if fnmatch.fnmatch(variant.name, options.only)
        and (variant.all_seeds or seed == 1)
        and (variant.name, seed) not in done
    ]
    print(f"{len(waiting)} runs to go, {len(done)} done", flush=True)
    running: list[Job] = []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            running.append(start(*waiting.pop(0), options))
        time.sleep(0.5)
        for job in [job for job in running if job.process.poll() is not None]:
            running.remove(job)
            finish(job, options)


def start(variant: Variant, seed: int, options: argparse.Namespace) -> Job:
    """Begin one run; its log lies beside its bundle. What an earlier one left is gone on from."""
    bundle = options.work / f"{variant.name}-seed-{seed}"
    command = [sys.executable, "-m", "softquery", "train", variant.recipe]
    command += ["--data", str(options.data), "--output", str(bundle), "--seed", str(seed)]
    for path in options.vectors:
        command += ["--vectors", str(path)]
    for setting in (*variant.settings, *options.set):
        command += ["--set", setting]
    if bundle.with_name(f"{bundle.name}.partial").exists():
        command.append("--resume")
    with bundle.with_name(f"{bundle.name}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    return Job(variant, seed, bundle, process, time.monotonic())


def finish(job: Job, options: argparse.Namespace) -> None:
    """Add what a run reached to the results."""
    name = f"{job.variant.name} seed {job.seed}"
    wall = time.monotonic() - job.began
    if not (job.bundle / "metrics.json").exists():
        print(f"{name}: failed, see {job.bundle}.log", flush=True)
        return
    metrics = json.loads((job.bundle / "metrics.json").read_text())
    log = (job.bundle / "training" / "log.csv").read_text()
    row = {
        "name": job.variant.name,
        "seed": job.seed,
        "settings": [*job.variant.settings, *options.set],
        **metrics,
        "also": {path.name: measured(job.bundle, path) for path in options.also},
        "curve": curve(log, "tune_f1"),
        "examples_per_second": max(curve(log, "examples_per_second"), default=0.0),
        "wall_seconds": round(wall, 1),
        "megabytes": round((job.bundle / "model.safetensors").stat().st_size / 1e6, 1),
    }
    with options.results.open("a") as file:
        file.write(json.dumps(row) + "\n")
    dev = metrics["dev"]
    print(
        f"{name}: held back {100 * metrics['tune']['f1']:.2f} dev F1 {100 * dev['f1']:.2f} "
        f"EM {100 * dev['exact_match']:.2f} epochs {metrics['training']['epochs']} "
        f"training {metrics['training']['seconds']:.0f} s, whole {wall:.0f} s",
        flush=True,
    )


def measured(bundle: Path, data: Path) -> dict:
    """The bundle on more questions."""
    command = [sys.executable, "-m", "softquery", "evaluate", str(bundle), "--data", str(data)]
    found = subprocess.run([*command, "--json"], capture_output=True, text=True)
    return json.loads(found.stdout) if found.returncode == 0 else {"error": found.stderr}


def curve(log: str, column: str) -> list[float]:
    """A column of the training's log, where it has a number."""
    rows = csv.DictReader(io.StringIO(log))
    return [float(row[column]) for row in rows if row.get(column)]


def read(path: Path) -> list[dict]:
    """The rows at hand."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def report(options: argparse.Namespace) -> None:
    rows = read(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print(
        "| variant | seeds | held back F1 | dev F1 | dev EM | best epoch | training | examples/s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        cells = [
            name,
            str(len(some)),
            spread([row["tune"]["f1"] for row in some]),
            spread([row["dev"]["f1"] for row in some]),
            spread([row["dev"]["exact_match"] for row in some]),
            f"{statistics.mean(row['training']['best_epoch'] for row in some):.0f}",
            f"{statistics.mean(row['training']['seconds'] for row in some):.0f} s",
            f"{statistics.mean(row['examples_per_second'] for row in some):,.0f}",
        ]
        print(f"| {' | '.join(cells)} |")
    for row in rows:
        low, high = row["dev"]["f1_interval"]
        others = "".join(
            f"; {name}: F1 {100 * found['f1']:.2f}, EM {100 * found['exact_match']:.2f}"
            for name, found in row["also"].items()
            if "f1" in found
        )
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
        print(f"{row['name']} seed {row['seed']}: dev F1 {interval}{others}")
    draw(rows, options.picture)


def spread(values: list[float]) -> str:
    """Mean and standard deviation, in points."""
    deviation = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{deviation}"


def draw(rows: list[dict], path: Path) -> None:
    """Held-back F1 by epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        whole = row["name"] == "reader"
        label = f"{row['name']}, seed {row['seed']}"
        epochs = range(1, len(row["curve"]) + 1)
        axes.plot(
            epochs,
            [100 * f1 for f1 in row["curve"]],
            label=label,
            linewidth=2 if whole else 1,
            linestyle="-" if whole else "--",
        )
    axes.set(xlabel="epoch", ylabel="held-back F1")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--vectors", type=Path, nargs="*", default=[])
    training.add_argument("--also", type=Path, nargs="*", default=[], help="measure on these too")
    training.add_argument("--seeds", type=int, default=3)
    training.add_argument("--jobs", type=int, default=1, help="runs side by side")
    training.add_argument("--only", default="*", help="names of variants, such as 'reader'")
    training.add_argument("--set", action="append", default=[], help="for every run")
    training.add_argument("--work", type=Path, default=Path("runs/read"))
    training.add_argument("--results", type=Path, default=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.add_argument("--picture", type=Path, default=HERE / "read.png")
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
