"""ESIM on SNLI with and without ELMo, three seeds each: at the input, and at both places.

    python benchmarks esim with_elmo train --data SNLI --vectors glove-50d.bin glove-100d.bin \
        --elmo elmo-en --elmo wide=FOLDER --parallel 3
    python benchmarks esim with_elmo report

`train` adds each run to `with_elmo.json` as it ends, and runs none twice. Variants are chosen
by the held-back pairs; dev is what is reported.
"""

import argparse
import fnmatch
import json
import statistics
import sys
from pathlib import Path

from benchmarks.esim.snli import curve
from benchmarks.shared.side_by_side import named
from benchmarks.shared.sweep import Sweep

HERE = Path(__file__).parent
RESULTS = HERE / "with_elmo.json"
SEEDS = (1, 2, 3)
BOTH = "elmo.places=input,output"
DRAWN = ("plain", "original", "larger", "elmo-en", "wide-both", "wide")
"""What is in the picture, unless others are asked for; all of it would hide itself."""


def variants(bilms: dict[str, str]) -> dict[str, tuple[str, list[str]]]:
    """Name to recipe and overrides; what is slow first, so that it does not end alone."""
    chosen = {}
    for name, bundle in bilms.items():
        for seed in SEEDS:
            inside = [f"elmo.bundle={bundle}", f"training.seed={seed}"]
            chosen[f"{name}-both-seed-{seed}"] = ("esim-elmo", [*inside, BOTH])
            chosen[f"{name}-seed-{seed}"] = ("esim-elmo", inside)
    plain = {f"plain-seed-{seed}": ("esim-snli", [f"training.seed={seed}"]) for seed in SEEDS}
    return {**chosen, **plain}


def train(options: argparse.Namespace) -> None:
    vectors = "vectors=" + ",".join(str(path) for path in options.vectors)
    done = read(options.results)
    every = {
        name: (recipe, [vectors, *settings, *options.set])
        for name, (recipe, settings) in variants(dict(map(named, options.elmo))).items()
        if fnmatch.fnmatch(name, options.only) and name not in done
    }
    recipes = {name: recipe for name, (recipe, _) in every.items()}
    settings = {name: own for name, (_, own) in every.items()}
    Sweep(recipes, options.data, settings, options.work).run(options.work, options.parallel)
    found = json.loads((options.work / "summary.json").read_text())
    options.results.write_text(json.dumps({**done, **found}, indent=1))


def read(path: Path) -> dict[str, dict]:
    """The runs at hand."""
    return json.loads(path.read_text()) if path.exists() else {}


def report(options: argparse.Namespace) -> None:
    groups: dict[str, list[dict]] = {}
    for name, found in sorted(read(options.results).items()):
        groups.setdefault(name.rpartition("-seed-")[0], []).append(found)
    print("| variant | seeds | held back | dev | standard deviation | best epoch |")
    print("|---|---|---|---|---|---|")
    for name, runs in groups.items():
        tune, dev = ([100 * run[part]["accuracy"] for run in runs] for part in ("tune", "dev"))
        spread = f"{statistics.stdev(dev):.2f}" if len(dev) > 1 else ""
        epoch = statistics.mean(run["training"]["best_epoch"] for run in runs)
        print(
            f"| {name} | {len(runs)} | {statistics.mean(tune):.2f} | {statistics.mean(dev):.2f} "
            f"| {spread} | {epoch:.0f} |"
        )
    drawn = options.drawn or [name for name in DRAWN if name in groups]
    if missing := [name for name in drawn if name not in groups]:
        sys.exit(f"{options.results}: no runs of {', '.join(missing)}")
    draw({name: groups[name] for name in drawn}, options.picture)


def draw(groups: dict[str, list[dict]], path: Path) -> None:
    """Held-back accuracy by epoch, the mean of the seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, runs in groups.items():
        curves = [curve(run["log"]) for run in runs]
        means = [statistics.mean(values) for values in zip(*(up for _, up in curves), strict=True)]
        axes.plot(curves[0][0], means, marker=".", label=f"{name} ({len(runs)})")
    axes.set(xlabel="epoch", ylabel="held-back accuracy", ylim=(0.76, None))
    axes.legend(title="variant (seeds)", frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--vectors", type=Path, nargs="+", required=True)
    training.add_argument("--elmo", action="append", required=True, help="NAME, or NAME=FOLDER")
    training.add_argument("--only", default="*", help="names of runs, such as '*-seed-1'")
    training.add_argument("--set", action="append", default=[], help="for every run")
    training.add_argument("--work", type=Path, default=Path("runs/esim-elmo"))
    training.add_argument("--parallel", type=int, default=1)
    training.add_argument("--results", type=Path, default=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.add_argument("--picture", type=Path, default=HERE / "with_elmo.png")
    reporting.add_argument("--drawn", nargs="+", help="variants, in place of a few")
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
