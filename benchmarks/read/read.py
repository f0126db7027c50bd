"""A reader on SQuAD 1.1: seeds, parts left out, and how long it takes.

    python benchmarks read train --data SQUAD --vectors glove-100d.bin --jobs 3
    python benchmarks read train --data SQUAD --vectors glove-50d.bin --only 'read-en*'
    python benchmarks read train --data SQUAD --only '*-read' --bert bert-mini-en --minilm BUNDLE
    python benchmarks read report

SQUAD is a folder with `train.json` and `dev.json` (.xz, .gz). `train` runs every variant with every
seed that it has, a few side by side, and adds a row to `read.jsonl` as each finishes; runs
that stand there already are not run again. `--also FILE` measures each model on more questions.
`report` prints the tables of read.md and draws the curves, read.png.
"""

import argparse
import fnmatch
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import (
    Planned,
    add_training_options,
    logged,
    points,
    read_rows,
    train_as_asked,
)

HERE = Path(__file__).parent
RESULTS = HERE / "read.jsonl"


@dataclass(frozen=True)
class Variant:
    """One setting, to be run with one seed or with all."""

    name: str
    settings: tuple[str, ...] = ()
    all_seeds: bool = False
    recipe: str = "reader"


VARIANTS = [
    Variant("reader", all_seeds=True),
    Variant("read-en", all_seeds=True, recipe="read-en"),
    Variant("read-en-frozen", ("vocabulary.frozen=true",), recipe="read-en"),
    Variant("read-en-dot", ("model.score=dot",), recipe="read-en"),
    Variant("read-en-lr-1e-3", ("optim.lr=1e-3",), recipe="read-en"),
    Variant("frozen-vectors", ("vocabulary.frozen=true",)),
    Variant("frozen-dropout-0.3", ("vocabulary.frozen=true", "model.dropout=0.3")),
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
FINE_TUNED = ("training.precision=bf16-mixed", "optim.lr=1e-4", "training.max_epochs=4")
OURS = ("training.precision=bf16-mixed", "optim.lr=3e-4", "training.max_epochs=6")
"""Small encoders like larger steps than the paper's, and smaller ones still larger."""
AGREEING = ("reading.consistency=1",)
ANEW = ("bert.weights=random", "training.max_epochs=8")


def variants(options: argparse.Namespace) -> list[Variant]:
    """Those without a BERT, and those with the ones that were named."""
    found = list(VARIANTS)
    if options.elmo is not None:
        inside = (f"elmo.bundle={options.elmo}", "vocabulary.frozen=true")
        found.append(Variant("reader-elmo", inside, all_seeds=True, recipe="reader-elmo"))
    if options.bert is not None:
        ours = (f"bert.bundle={options.bert}", *OURS)
        for name, own in (("pretrained", ours), ("random", (*ours, *ANEW))):
            found.append(Variant(f"{name}-read", own, all_seeds=True, recipe="bert-read"))
    if options.minilm is not None:
        own = (f"bert.bundle={options.minilm}", *FINE_TUNED)
        agreeing = (*own, *AGREEING)
        found.append(Variant("minilm-read", agreeing, all_seeds=True, recipe="bert-read"))
        found.append(Variant("minilm-alone-read", own, recipe="bert-read"))
    return found


def train(options: argparse.Namespace) -> None:
    runs = [
        Planned(
            name=variant.name,
            recipe=variant.recipe,
            data=options.data,
            seed=seed,
            settings=variant.settings,
            vectors=() if variant.recipe == "bert-read" else tuple(options.vectors),
        )
        for seed in range(1, options.seeds + 1)
        for variant in variants(options)
        if fnmatch.fnmatch(variant.name, options.only) and (variant.all_seeds or seed == 1)
    ]
    train_as_asked(
        options,
        runs,
        show=shown,
        beside=lambda run, bundle: beside(bundle, options.also),
    )


def beside(bundle: Path, also: list[Path]) -> dict[str, Any]:
    """The curve, speed and size of a run, and what it reaches on more questions."""
    return {
        "also": {path.name: measured(bundle, path) for path in also},
        "curve": logged(bundle, "tune_f1"),
        "examples_per_second": max(logged(bundle, "examples_per_second"), default=0.0),
        "megabytes": round((bundle / "model.safetensors").stat().st_size / 1e6, 1),
    }


def measured(bundle: Path, data: Path) -> dict[str, Any]:
    """The bundle on more questions."""
    command = [sys.executable, "-m", "softquery", "evaluate", str(bundle), "--data", str(data)]
    found = subprocess.run([*command, "--json"], capture_output=True, text=True)
    return json.loads(found.stdout) if found.returncode == 0 else {"error": found.stderr}


def shown(row: dict[str, Any]) -> str:
    dev, facts = row["dev"], row["training"]
    return (
        f"held back {100 * row['tune']['f1']:.2f} dev F1 {100 * dev['f1']:.2f} "
        f"EM {100 * dev['exact_match']:.2f} epochs {facts['epochs']} "
        f"training {facts['seconds']:.0f} s, whole"
    )


def report(options: argparse.Namespace) -> None:
    rows = read_rows(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print(
        "| variant | seeds | epochs | held back F1 | dev F1 | dev EM | best epoch | training "
        "| examples/s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, settings in dict.fromkeys((row["name"], tuple(row["settings"])) for row in rows):
        some = [row for row in rows if (row["name"], tuple(row["settings"])) == (name, settings)]
        cells = [
            name,
            ", ".join(str(row["seed"]) for row in some),
            f"{statistics.mean(row['training']['epochs'] for row in some):.0f}",
            points([row["tune"]["f1"] for row in some]),
            points([row["dev"]["f1"] for row in some]),
            points([row["dev"]["exact_match"] for row in some]),
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
        print(f"{titled(row)}: dev F1 {interval}{others}")
    draw(rows, options.picture)


def titled(row: dict[str, Any]) -> str:
    """Which run it is, in words."""
    return f"{row['name']}, seed {row['seed']}, {row['training']['epochs']} epochs"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Held-back F1 by epoch: a colour for each variant, a dash for each of its runs."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    colours = colormaps["tab20"].colors
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(dict.fromkeys(row["name"] for row in rows)):
        mine = [row for row in rows if row["name"] == name]
        for dash, row in zip(("-", "--", ":", "-."), mine, strict=False):
            axes.plot(
                range(1, len(row["curve"]) + 1),
                [100 * f1 for f1 in row["curve"]],
                label=titled(row),
                color=colours[place % len(colours)],
                linestyle=dash,
                marker=".",
            )
    axes.set(xlabel="epoch", ylabel="held-back F1")
    figure.legend(frameon=False, fontsize=8, loc="outside right upper")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--vectors", type=Path, nargs="*", default=[])
    training.add_argument("--also", type=Path, nargs="*", default=[], help="measure on these too")
    training.add_argument("--elmo", help="a biLM: a bundle, or a name")
    training.add_argument("--bert", help="a BERT of ours to fine-tune: a bundle, or a name")
    training.add_argument("--minilm", help="MiniLM, imported as a bundle")
    training.add_argument("--only", default="*", help="names of variants, such as 'reader'")
    add_training_options(training, work=Path("runs/read"), results=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.add_argument("--picture", type=Path, default=HERE / "read.png")
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
