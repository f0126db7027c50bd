"""ESIM on SNLI: three seeds, an ablation of its parts, and the batch size.

    python benchmarks esim snli train --data SNLI --vectors glove-50d.bin glove-100d.bin
    python benchmarks esim snli report

`train` runs every variant of the recipe `esim-snli` and writes `snli.json`; `report`
draws the tables of esim_snli.md and the curves from it.
"""

import argparse
import csv
import io
import json
import statistics
from pathlib import Path

from benchmarks.shared.sweep import Sweep, train_or_report

HERE = Path(__file__).parent
RESULTS = HERE / "snli.json"
PARTS = ("own", "aligned", "difference", "product")
SYMBOLS = {"own": "a", "aligned": "ã", "difference": "a − ã", "product": "a ⊙ ã"}


def variants() -> dict[str, list[str]]:
    """Name to overrides; slow ones first, so that they do not end alone."""
    small = ["data.batch_size=32", "optim.lr=4e-4", "schedule.warmup_steps=2400"]
    large = ["data.batch_size=512", "optim.lr=1.4e-3", "schedule.warmup_steps=150"]
    chosen = {"batch-32": small, "eager": ["training.graphs=off"]}
    chosen |= {f"seed-{seed}": [f"training.seed={seed}"] for seed in (1, 2, 3)}
    chosen |= {"gru": ["model.cell=gru"], "no-alignment": ["model.parts=own"]}
    for left_out in PARTS:
        rest = ",".join(part for part in PARTS if part != left_out)
        chosen[f"without-{left_out}"] = [f"model.parts={rest}"]
    return chosen | {"batch-512": large}


def train(options: argparse.Namespace) -> None:
    vectors = "vectors=" + ",".join(str(path) for path in options.vectors)
    chosen = {name: [vectors, *settings] for name, settings in variants().items()}
    Sweep("esim-snli", options.data, chosen, options.work).run(options.work, options.parallel)
    RESULTS.write_bytes((options.work / "summary.json").read_bytes())


def report(options: argparse.Namespace) -> None:
    results = json.loads(RESULTS.read_text())
    seeds = [results[f"seed-{seed}"]["dev"]["accuracy"] for seed in (1, 2, 3)]
    mean, spread = 100 * statistics.mean(seeds), 100 * statistics.stdev(seeds)
    print(f"mean of three seeds: {mean:.2f} (standard deviation {spread:.2f})\n")
    print("| variant | held back | dev | 95 % interval | best epoch |")
    print("|---|---|---|---|---|")
    for name, found in results.items():
        low, high = found["dev"]["accuracy_interval"]
        print(
            f"| {name} | {100 * found['tune']['accuracy']:.2f} "
            f"| {100 * found['dev']['accuracy']:.2f} | {100 * low:.1f} to {100 * high:.1f} "
            f"| {found['training']['best_epoch']} |"
        )
    draw(results, HERE / "snli.png")


def draw(results: dict, path: Path) -> None:
    """Held-back accuracy by epoch: the seeds on the left, the ablation on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in ("seed-1", "seed-2", "seed-3", "batch-32", "batch-512"):
        left.plot(*curve(results[name]["log"]), marker=".", label=name.replace("-", " "))
    left.set(title="three seeds and two other batch sizes", xlabel="epoch", ylim=(0.7, 0.84))
    right.plot(*curve(results["seed-1"]["log"]), marker=".", color="black", label="whole")
    for part in PARTS:
        label = f"without {SYMBOLS[part]}"
        right.plot(*curve(results[f"without-{part}"]["log"]), marker=".", label=label)
    right.plot(*curve(results["gru"]["log"]), marker=".", ls="--", label="GRU")
    right.plot(*curve(results["no-alignment"]["log"]), marker=".", ls=":", label="no alignment")
    right.set(title="ablation, seed 1", xlabel="epoch", ylim=(0.6, 0.84))
    for axes in (left, right):
        axes.set_ylabel("held-back accuracy")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def curve(log: str) -> tuple[list[int], list[float]]:
    rows = [row for row in csv.DictReader(io.StringIO(log)) if row["tune_accuracy"]]
    return [int(row["epoch"]) + 1 for row in rows], [float(row["tune_accuracy"]) for row in rows]


if __name__ == "__main__":
    train_or_report(__doc__.splitlines()[0], train, report, work=Path("runs/esim-snli"))
