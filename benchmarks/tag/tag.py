"""A tagger with and without ELMo: places, mixes, and how much data each needs.

    python benchmarks tag train --data CONLL2003 --elmo BUNDLE --vectors glove.txt --jobs 4
    python benchmarks tag train --data CONLL2003 --elmo BUNDLE --adapted BUNDLE \
        --vectors glove.txt --only elmo-adapted
    python benchmarks tag train --data CONLL2003 --elmo larger=BUNDLE --tuned \
        --vectors glove.txt --only 'larger*'
    python benchmarks tag report

`train` runs every variant with every seed, a few side by side, and adds a row to
`tag.jsonl` as each finishes; runs that stand there already are not run again. `report`
prints the tables of tagging.md and draws the sample efficiency, tagging.png.
"""

import argparse
import fnmatch
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import (
    Planned,
    add_training_options,
    logged,
    named,
    points,
    read_rows,
    train_as_asked,
)

HERE = Path(__file__).parent
RESULTS = HERE / "tag.jsonl"
SHARES = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 1.0)
MIXES = {
    "": [],
    "-output": ["elmo.places=output"],
    "-both": ["elmo.places=input,output"],
    "-last": ["elmo.layers=last"],
    "-lambda-1": ["elmo.penalty=1"],
    "-lambda-0.001": ["elmo.penalty=0.001"],
    "-gamma-1": ["elmo.learn_scale=false"],
}
"""What follows a biLM's name; the first is the recipe: the input alone, λ = 0.1, γ learnt."""
TUNED = ["elmo.tuning=tuned", "optim.layer_decay=0.1"]
"""Learning along, at rates that fall from layer to layer (Howard & Ruder 2018, Section 3.2)."""


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


def variants(elmo: str, adapted: str | None = None, *, tuned: bool = False) -> list[Variant]:
    """All of them; long runs first, so that they do not end alone."""
    name, folder = named(elmo, "elmo")
    if name == "plain":
        sys.exit("--elmo: plain is the tagger without a biLM; choose another name")
    bundle = f"elmo.bundle={folder}"
    mixes = {**({"-tuned": TUNED} if tuned else {}), **MIXES}
    found = [
        Variant(name + mix, "tagger-elmo", (bundle, *settings)) for mix, settings in mixes.items()
    ]
    if adapted is not None:
        found.append(Variant(f"{name}-adapted", "tagger-elmo", (f"elmo.bundle={adapted}",)))
    found.append(Variant("plain", "tagger", ()))
    for share in sorted(SHARES[:-1], reverse=True):
        for kind, recipe, extra in ((name, "tagger-elmo", (bundle,)), ("plain", "tagger", ())):
            settings = (*extra, *fewer_sentences(share))
            found.append(Variant(f"{kind}-share-{share:g}", recipe, settings, share))
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
    known = {variant.name: variant for variant in
             variants(options.elmo, options.adapted, tuned=options.tuned)}  # fmt: skip
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
    for name in dict.fromkeys(row["name"] for row in rows if row["share"] == 1):
        some = [row for row in rows if row["name"] == name]
        epochs = statistics.mean(row["training"]["best_epoch"] for row in some)
        cells = [points([row[part]["f1"] for row in some]) for part in ("tune", "dev")]
        print(f"| {name} | {len(some)} | {' | '.join(cells)} | {epochs:.0f} |")
    print("\n| share | seed | plain | elmo | gain | best epoch of plain | elmo there after |")
    print("|---|---|---|---|---|---|---|")
    for plain, elmo in both_at_each_share(rows):
        needed, reached = epochs_to_baseline(plain, elmo)
        without, inside = (100 * row["dev"]["f1"] for row in (plain, elmo))
        print(
            f"| {100 * plain['share']:g} % | {plain['seed']} | {without:.2f} | {inside:.2f} "
            f"| {inside - without:.2f} | {needed} | {reached or 'never'} |"
        )
    draw(rows, options.picture)


def both_at_each_share(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The runs without and with ELMo that have a share of the data and a seed in common."""
    found: dict[str, dict[tuple[float, int], dict[str, Any]]] = {"plain": {}, "elmo": {}}
    for row in rows:
        kind, _, share = row["name"].partition("-share-")
        if kind in found and (share or row["share"] == 1):
            found[kind][row["share"], row["seed"]] = row
    return [(found["plain"][key], found["elmo"][key])
            for key in sorted(found["plain"].keys() & found["elmo"].keys())]  # fmt: skip


def epochs_to_baseline(plain: dict[str, Any], elmo: dict[str, Any]) -> tuple[int, int | None]:
    """After how many epochs the baseline's held-back F1 is best, and ELMo's is as high."""
    best = max(plain["curve"])
    reached = (epoch for epoch, f1 in enumerate(elmo["curve"], 1) if f1 >= best)
    return plain["curve"].index(best) + 1, next(reached, None)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Dev F1 and epochs by share of the training data, and held-back F1 by epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    pairs = both_at_each_share(rows)
    for place, label, colour in ((1, "with ELMo", "#dd8452"), (0, "without", "#4c72b0")):
        f1s: dict[float, list[float]] = {}
        epochs: dict[float, list[int]] = {}
        for pair in pairs:
            f1s.setdefault(pair[place]["share"], []).append(100 * pair[place]["dev"]["f1"])
            needed = epochs_to_baseline(*pair)[place]
            if needed is not None:
                epochs.setdefault(pair[place]["share"], []).append(needed)
        for axes, values in ((left, f1s), (middle, epochs)):
            means = [statistics.mean(some) for some in values.values()]
            errors = [statistics.stdev(some) if len(some) > 1 else 0 for some in values.values()]
            axes.errorbar([100 * share for share in values], means, errors, marker="o",
                          color=colour, label=label, capsize=3)  # fmt: skip
        for number, pair in enumerate(pair for pair in pairs if pair[0]["share"] == 1):
            curve = [100 * f1 for f1 in pair[place]["curve"]]
            right.plot(range(1, len(curve) + 1), curve, color=colour, linewidth=1.2,
                       label=None if number else label)  # fmt: skip
            best = max(curve)
            right.plot(curve.index(best) + 1, best, marker="o", color=colour)
    left.set(ylabel="dev F1")
    middle.set(ylabel="epochs to the best held-back F1 without ELMo")
    right.set(xlabel="epoch, all training sentences", ylabel="held-back F1", ylim=(85, None))
    for axes in (left, middle):
        axes.set(xscale="log", xlabel="% of the training sentences")
        percents = [100 * share for share in SHARES]
        axes.set_xticks(percents, [f"{percent:g}" for percent in percents])
        axes.minorticks_off()
    middle.set_ylim(bottom=0)
    for axes in (left, middle, right):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument(
        "--elmo", required=True, help="a biLM: a folder or a name, or NAME=FOLDER"
    )
    training.add_argument("--adapted", help="the same after passes over the task's own sentences")
    training.add_argument("--tuned", action="store_true", help="also with the biLM learning along")
    training.add_argument("--vectors", type=Path, nargs="*", default=[])
    training.add_argument("--only", default="*", help="names of variants, such as 'elmo*'")
    add_training_options(training, work=Path("runs/tagging"), results=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.add_argument("--picture", type=Path, default=HERE / "tag.png")
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
