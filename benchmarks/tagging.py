"""A tagger with and without ELMo: places, mixes, and how much data each needs.

    python benchmarks/tagging.py train --data CONLL2003 --elmo BUNDLE --vectors glove.txt --jobs 4
    python benchmarks/tagging.py report

`train` runs every variant with every seed, a few side by side, and adds a row to
results/tagging.jsonl as each finishes; runs that stand there already are not run again. `report`
prints the tables of tagging.md and draws the sample efficiency, tagging.png.
"""

import argparse
import fnmatch
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from side_by_side import Planned, add_training_options, logged, points, read_rows, train_as_asked

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "tagging.jsonl"
SHARES = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 1.0)
MIXES = {
    "elmo": [],
    "elmo-output": ["elmo.places=output"],
    "elmo-both": ["elmo.places=input,output"],
    "elmo-last": ["elmo.layers=last"],
    "elmo-lambda-1": ["elmo.penalty=1"],
    "elmo-lambda-0.001": ["elmo.penalty=0.001"],
    "elmo-gamma-1": ["elmo.learn_scale=false"],
}
"""Ablations of the mix; the first is the recipe: the input alone, λ = 0.1, γ learnt."""


@dataclass(frozen=True)
class Variant:
    """One setting, to be run with several seeds."""

    name: str
    recipe: str
    settings: tuple[str, ...]
    share: float = 1.0

    @property
    def with_elmo(self) -> bool:
        """Whether a biLM is inside."""
        return self.recipe == "tagger-elmo"


def variants(elmo: str) -> list[Variant]:
    """All of them; long runs first, so that they do not end alone."""
    bundle = f"elmo.bundle={elmo}"
    found = [Variant(name, "tagger-elmo", (bundle, *settings)) for name, settings in MIXES.items()]
    found.append(Variant("plain", "tagger", ()))
    for share in sorted(SHARES[:-1], reverse=True):
        for name, recipe, extra in (("elmo", "tagger-elmo", (bundle,)), ("plain", "tagger", ())):
            settings = (*extra, *fewer_sentences(share))
            found.append(Variant(f"{name}-share-{share:g}", recipe, settings, share))
    return found


def fewer_sentences(share: float) -> list[str]:
    """A share of the data, in more and smaller steps, so that little data is learnt to the end."""
    longer = share**-0.5
    return [
        f"data.share={share:g}",
        f"data.batch_size={8 if share <= 0.05 else 16 if share <= 0.25 else 32}",
        f"training.max_epochs={min(300, round(60 * longer))}",
        f"training.patience={min(50, round(10 * longer))}",
    ]


def train(options: argparse.Namespace) -> None:
    known = {variant.name: variant for variant in variants(options.elmo)}
    runs = [
        Planned(
            name=variant.name,
            recipe=variant.recipe,
            data=options.data,
            seed=seed,
            settings=variant.settings,
            vectors=tuple(options.vectors),
        )
        for seed in range(1, options.seeds + 1)
        for variant in known.values()
        if fnmatch.fnmatch(variant.name, options.only)
    ]
    train_as_asked(
        options,
        runs,
        show=shown,
        beside=lambda run, bundle: beside(known[run.name], bundle),
    )


def beside(variant: Variant, bundle: Path) -> dict[str, Any]:
    """What a variant is, and the held-back F1 of each epoch."""
    return {
        "share": variant.share,
        "elmo": variant.with_elmo,
        "curve": logged(bundle, "tune_f1"),
    }


def shown(row: dict[str, Any]) -> str:
    return (
        f"held back {row['tune']['f1']:.4f} dev {row['dev']['f1']:.4f} "
        f"epochs {row['training']['epochs']}"
    )


def report(options: argparse.Namespace) -> None:
    rows = read_rows(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print("| variant | seeds | held back | dev F1 | best epoch |\n|---|---|---|---|---|")
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        epochs = statistics.mean(row["training"]["best_epoch"] for row in some)
        cells = [points([row[part]["f1"] for row in some]) for part in ("tune", "dev")]
        print(f"| {name} | {len(some)} | {' | '.join(cells)} | {epochs:.0f} |")
    for line in epochs_to_baseline(rows):
        print(line)
    draw(rows, options.picture)


def epochs_to_baseline(rows: list[dict[str, Any]]) -> list[str]:
    """After how many epochs ELMo's held-back F1 is that of the baseline at its best."""
    plain = {row["seed"]: row for row in rows if row["name"] == "plain"}
    lines = []
    for row in rows:
        if row["name"] == "elmo" and row["seed"] in plain:
            best = max(plain[row["seed"]]["curve"])
            reached = next((n for n, f1 in enumerate(row["curve"], 1) if f1 >= best), None)
            needed = plain[row["seed"]]["curve"].index(best) + 1
            lines.append(
                f"seed {row['seed']}: the baseline's best held-back F1, {100 * best:.2f}, after "
                f"{needed} epochs; with ELMo after {reached or 'never'}"
            )
    return lines


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Dev F1 by share of the training data, and held-back F1 by epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for kind, label, colour in (("elmo", "with ELMo", "#dd8452"), ("plain", "without", "#4c72b0")):
        points: dict[float, list[float]] = {}
        for row in rows:
            if row["name"] == kind or row["name"].startswith(f"{kind}-share-"):
                points.setdefault(row["share"], []).append(100 * row["dev"]["f1"])
        shares = sorted(points)
        means = [statistics.mean(points[share]) for share in shares]
        errors = [
            statistics.stdev(points[share]) if len(points[share]) > 1 else 0.0 for share in shares
        ]
        percents = [100 * share for share in shares]
        left.errorbar(percents, means, errors, marker="o", color=colour, label=label, capsize=3)
        for row in rows:
            if row["name"] == kind:
                epochs = range(1, len(row["curve"]) + 1)
                right.plot(epochs, [100 * f1 for f1 in row["curve"]], color=colour, label=label)
    left.set(xscale="log", xlabel="% of the training sentences", ylabel="dev F1")
    right.set(xlabel="epoch", ylabel="held-back F1")
    for axes in (left, right):
        named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        axes.legend(named.values(), named.keys(), frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--elmo", required=True, help="a biLM: a folder, or a name")
    training.add_argument("--vectors", type=Path, nargs="*", default=[])
    training.add_argument("--only", default="*", help="names of variants, such as 'elmo*'")
    add_training_options(training, work=Path("runs/tagging"), results=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.add_argument("--picture", type=Path, default=HERE / "tagging.png")
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
