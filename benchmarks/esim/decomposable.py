"""Decomposable attention on SNLI beside ESIM: three seeds, and what its settings are worth.

    python benchmarks esim decomposable train --data SNLI --vectors glove-50d.bin glove-100d.bin
    python benchmarks esim decomposable report

`train` runs every variant of the recipe `decomposable-snli` and writes `decomposable.json`;
`report` prints the tables of decomposable.md from it.
"""

import argparse
import json
import statistics
from pathlib import Path

from benchmarks.shared.sweep import Sweep, train_or_report

HERE = Path(__file__).parent
RESULTS = HERE / "decomposable.json"
BESIDE = ("esim-seed-1", "esim-seed-2", "esim-seed-3")
"""ESIM in the same run."""
LONGER = ("training.max_epochs=20", "training.patience=20")
LEARNING = "vocabulary.frozen=false"
SMALL = ("model.hidden_size=200", LEARNING)


def variants() -> dict[str, list[str]]:
    """Name to overrides."""
    chosen = {f"seed-{seed}": [f"training.seed={seed}"] for seed in (1, 2, 3)}
    chosen |= {name: [f"training.seed={name[-1]}"] for name in BESIDE}
    chosen |= {
        f"learning-vectors-seed-{seed}": [LEARNING, f"training.seed={seed}"] for seed in (1, 2, 3)
    }
    some = [*SMALL, "model.dropout=0.2"]
    return chosen | {
        "dropout-0.15": ["model.dropout=0.15"],
        "600": ["model.hidden_size=600"],
        "600-learning-vectors": ["model.hidden_size=600", LEARNING],
        "400-epochs-20": [LEARNING, *LONGER],
        "300-dropout-0.2-epochs-20": [
            "model.hidden_size=300", "model.dropout=0.2", LEARNING, *LONGER,
        ],
        "200-dropout-0.1": [*SMALL],
        "200-dropout-0.1-epochs-20": [*SMALL, *LONGER],
        "200-dropout-0.2": some,
        "200-dropout-0.2-epochs-20": [*some, *LONGER],
        "200-dropout-0.2-epochs-20-one-pass": [*some, *LONGER, "task.consistency=0"],
        "200-dropout-0.2-epochs-20-rate-2e-3": [*some, *LONGER, "optim.lr=2e-3"],
        "200-dropout-0.2-epochs-20-no-intra": [*some, *LONGER, "model.max_distance=0"],
        "200-dropout-0.2-epochs-20-frozen": [
            "model.hidden_size=200", "model.dropout=0.2", *LONGER,
        ],
    }  # fmt: skip


def train(options: argparse.Namespace) -> None:
    vectors = "vectors=" + ",".join(str(path) for path in options.vectors)
    chosen = {name: [vectors, *settings] for name, settings in variants().items()}
    recipes = {name: "esim-snli" if name in BESIDE else "decomposable-snli" for name in chosen}
    Sweep(recipes, options.data, chosen, options.work).run(options.work, options.parallel)
    made = json.loads((options.work / "summary.json").read_text())
    # Rows of code as it was earlier are kept: they cannot be made again.
    kept = {name: row for name, row in json.loads(RESULTS.read_text()).items() if name not in made}
    RESULTS.write_text(json.dumps({**made, **kept}, indent=1))


def report(options: argparse.Namespace) -> None:
    results = json.loads(RESULTS.read_text())
    seeds = [100 * results[f"seed-{seed}"]["dev"]["accuracy"] for seed in (1, 2, 3)]
    print(f"three seeds: {statistics.mean(seeds):.2f} ± {statistics.stdev(seeds):.2f}\n")
    print("| variant | held back | dev | 95 % interval | best epoch |\n|---|---|---|---|---|")
    for name, found in results.items():
        low, high = found["dev"]["accuracy_interval"]
        print(
            f"| {name} | {100 * found['tune']['accuracy']:.2f} "
            f"| {100 * found['dev']['accuracy']:.2f} | {100 * low:.1f} to {100 * high:.1f} "
            f"| {found['training']['best_epoch']} |"
        )


if __name__ == "__main__":
    train_or_report(__doc__.splitlines()[0], train, report, work=Path("runs/decomposable"))
