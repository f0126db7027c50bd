"""Small Chinese cross-encoders and ESIM on the same few pairs.

    python benchmarks match cross_encoders_zh train --ernie ERNIE --simbert SIMBERT \
        --lcqmc DIR --bq DIR
    python benchmarks match cross_encoders_zh report

ERNIE and SIMBERT are bundles of ERNIE-3.0-nano and SimBERT-tiny: `shipped/ernie_folder.py` with the
train files as its texts, then `softquery import bert`; and `softquery import bert` of Google's
checkpoint. ESIM begins at random. All learn from the same share of a set's train pairs (`SHARES`),
drawn by the seed; DIR holds `train` and `dev`. Rows go to `cross_encoders_zh.jsonl`, and what
stands there is not run again.
"""

import argparse
import fnmatch
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.shared.side_by_side import (
    Planned,
    add_training_options,
    points,
    read_rows,
    steered,
    train_as_asked,
)

HERE = Path(__file__).parent
RESULTS = HERE / "cross_encoders_zh.jsonl"
ENCODERS = ("ernie", "simbert")
SHARES = {"bq": 0.1, "lcqmc": 0.05}
"""Of the train pairs: about ten thousand of each set."""
FINE_TUNED = (
    "data.batch_size=32",
    "text.max_tokens=64",
    "optim.lr=2e-4",
    "training.max_epochs=1",
    "training.precision=bf16-mixed",
)
"""Set before the first run, the rate as in `sentiment-zh`; nothing was tuned."""
FROM_NOTHING = ("training.max_epochs=8",)
"""ESIM by its recipe, with as much time."""


def runs(options: argparse.Namespace) -> Iterator[Planned]:
    """Every model on every set that is given, seed by seed."""
    for seed in range(1, options.seeds + 1):
        for pairs, share in SHARES.items():
            if not (data := getattr(options, pairs)):
                continue
            common = {"data": data, "seed": seed}
            few = (f"data.share={share}", "data.tune_share=0.02")
            for encoder in ENCODERS:
                if base := getattr(options, encoder):
                    yield Planned(
                        name=f"{encoder}-{pairs}",
                        recipe="bert-match",
                        settings=(f"bert.bundle={base}", *few, *FINE_TUNED),
                        **common,
                    )
            yield Planned(
                name=f"esim-{pairs}", recipe="esim-zh", settings=(*few, *FROM_NOTHING), **common
            )


def train(options: argparse.Namespace) -> None:
    """Train what is not there yet."""
    chosen = [
        run
        for run in runs(options)
        if any(fnmatch.fnmatch(run.name, each) for each in options.only)
    ]
    train_as_asked(options, chosen, show=steered)


def report(options: argparse.Namespace) -> None:
    """A line for each encoder and set."""
    rows = read_rows(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print("| encoder, set | seeds | dev accuracy | AUC |\n|---|---|---|---|")
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row["dev"] for row in rows if row["name"] == name]
        shown = (points([each[metric] for each in some]) for metric in ("accuracy", "auc"))
        print(f"| {name} | {len(some)} | {' | '.join(shown)} |")


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    for name in (*ENCODERS, *SHARES):
        training.add_argument(f"--{name}", type=Path, help="left out without one")
    training.add_argument("--only", nargs="*", default=["*"], help="such as 'ernie-*'")
    add_training_options(training, work=Path("runs/cross_encoders_zh"), results=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
