"""Chinese couplets: does pretraining on verses help, are the rules kept, is the true line found?

    python benchmarks generate couplets prepare --couplets DIR --verses DIR --output DATA
    python benchmarks generate couplets train --data DATA --jobs 2
    python benchmarks generate couplets train --data DATA --without-verses --only 'couplet-*' \
        --results architectures.jsonl
    python benchmarks generate couplets report

`prepare` writes couplets.tsv, verses.tsv and dev.tsv (dev is of couplets) with a header. `train`
first makes a bundle that knows the characters of both and has learnt nothing (one step at a rate of
nearly 0), so that all runs share a vocabulary and their perplexities can be compared; then it
trains on couplets only, on verses only, and on verses and then couplets. Rows are added to
`couplets.jsonl` as runs finish; what stands there is not run again. With `--without-verses` it asks
what attention is worth: five recipes of equal size on couplets alone, whose vocabulary is that of
the couplets, the same for all; `report` then says by how much each is behind the Transformer.
"""

import argparse
import fnmatch
import lzma
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import Planned, read_rows, train_all

HERE = Path(__file__).parent
RESULTS = HERE / "couplets.jsonl"
NOTHING = "characters"
"""The run that only collects the characters."""
LEARNT = ("data.train=couplets", "training.max_epochs=40", "model.dropout=0.3",
          "schedule.warmup_steps=1000")  # fmt: skip
"""How couplets are learnt, whatever was learnt before."""
RUNS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    NOTHING: (None, ("data.train=verses,couplets", "training.max_steps=1", "optim.lr=1e-9")),
    "verses": (NOTHING, ("data.train=verses", "training.max_epochs=4")),
    "couplets": (NOTHING, LEARNT),
    "both": ("verses", LEARNT),
}


ARCHITECTURES = ("couplet-rnn", "couplet-rnn-every-step", "couplet-bahdanau", "couplet-luong",
                 "couplet-zh")  # fmt: skip
"""Recipes of equal size, the Transformer last; each run bears its recipe's name."""
SHORT = ("data.train=couplets", "data.share=0.3333", "training.max_epochs=5",
         "schedule.warmup_steps=150", "optim.lr=0.002", "model.dropout=0.1",
         "writing.batch_tokens=1024", "writing.beam=2", "training.precision=32-true")  # fmt: skip
"""The same question where there is no GPU: a third of the couplets, five times, in small steps."""
NARROW = {
    "couplet-rnn": ("model.embedding_size=64", "model.hidden_size=122"),
    "couplet-rnn-every-step": ("model.embedding_size=64", "model.hidden_size=96"),
    "couplet-bahdanau": ("model.embedding_size=64", "model.hidden_size=86"),
    "couplet-luong": ("model.embedding_size=64", "model.hidden_size=83"),
    "couplet-zh": ("model.hidden_size=64", "model.inner_size=192"),
}
"""Two fifths of every recipe's widths."""


def planned(options: argparse.Namespace) -> list[Planned]:
    """The runs that were asked for, seed by seed."""
    chosen = [(name, options.recipe, init, settings) for name, (init, settings) in RUNS.items()]
    if options.without_verses:
        how = {recipe: (*SHORT, *NARROW[recipe]) if options.narrow else LEARNT
               for recipe in ARCHITECTURES}  # fmt: skip
        chosen = [(recipe, recipe, None, how[recipe]) for recipe in ARCHITECTURES]
    return [
        Planned(name=name, recipe=recipe, data=options.data, seed=seed,
                settings=settings, init=init)
        for seed in range(1, options.seeds + 1)
        for name, recipe, init, settings in chosen
        if any(fnmatch.fnmatch(name, only) for only in options.only.split(","))
    ]  # fmt: skip


def prepare(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    wanted = {
        "couplets": options.couplets / "train.tsv.xz",
        "verses": options.verses / "train.tsv.xz",
        "dev": options.couplets / "dev.tsv.xz",
        "dev_verses": options.verses / "dev.tsv.xz",
    }
    for name, path in wanted.items():
        count = 0
        with (
            lzma.open(path, "rt", encoding="utf-8") as given,
            (options.output / f"{name}.tsv").open("w", encoding="utf-8") as made,
        ):
            made.write("source\ttarget\n")
            for line in given:
                sides = [side.strip() for side in line.rstrip("\n").split("\t")[:2]]
                if len(sides) == 2 and all(sides):
                    made.write("\t".join(sides) + "\n")
                    count += 1
        print(f"{name}: {count:,} pairs", flush=True)


def train(options: argparse.Namespace) -> None:
    train_all(planned(options), work=options.work, results=options.results, jobs=options.jobs,
              more=options.set, seconds=options.seconds, show=shown)  # fmt: skip


def shown(row: dict[str, Any]) -> str:
    dev = row["dev"]
    return (
        f"perplexity {dev['perplexity']:.3f} length {dev['same_length']:.2%} signs "
        f"{dev['same_signs']:.2%} repeats {dev['repeats_rightly']:.2%} (without rules "
        f"{dev['without_rules']['repeats_rightly']:.2%}) first of ten {dev['ranked_first']}"
    )


def report(options: argparse.Namespace) -> None:
    rows = [row for row in read_rows(options.results) if row["name"] != NOTHING]
    names = ("perplexity", "same_length", "same_signs", "repeats_rightly", "opposite_ends",
             "ranked_first", "mean_reciprocal_rank", "bleu")  # fmt: skip
    print(f"| trained on | seeds | {' | '.join(names)} | without rules: repeats |")
    print("| --- " * (len(names) + 3) + "|")
    for name in dict.fromkeys(row["name"] for row in rows):
        devs = [row["dev"] for row in rows if row["name"] == name]
        cells = [spread([dev[key] for dev in devs if dev.get(key) is not None]) for key in names]
        free = spread([dev["without_rules"]["repeats_rightly"] for dev in devs])
        print(f"| {name} | {len(devs)} | {' | '.join(cells)} | {free} |")
    for line in behind(rows):
        print(line)


def behind(rows: list[dict[str, Any]]) -> Iterator[str]:
    """How much larger each recipe's perplexity is than the Transformer's of the same seed."""
    of = {(row["name"], row["seed"]): row["dev"]["perplexity"] for row in rows}
    for name in ARCHITECTURES[:-1]:
        seeds = [seed for one, seed in of if one == name and (ARCHITECTURES[-1], seed) in of]
        ratios = [of[name, seed] / of[ARCHITECTURES[-1], seed] - 1 for seed in seeds]
        if ratios:
            mean, *by_seed = (f"{100 * each:+.1f} %" for each in (statistics.mean(ratios), *ratios))
            yield f"{name}: perplexity {mean} ({', '.join(by_seed)})"


def spread(values: list[float]) -> str:
    if not values:
        return ""
    mean = statistics.mean(values)
    return f"{mean:.4f} ± {statistics.stdev(values):.4f}" if len(values) > 1 else f"{mean:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("prepare", "train", "report"))
    parser.add_argument("--couplets", type=Path, help="for prepare: train.tsv.xz and dev.tsv.xz")
    parser.add_argument("--verses", type=Path, help="for prepare: likewise")
    parser.add_argument("--output", type=Path, help="for prepare: a folder")
    parser.add_argument("--data", type=Path, help="for train: what prepare wrote")
    parser.add_argument("--work", type=Path, default=Path("couplet_runs"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="*", help="names of runs, such as 'verses,both'")
    parser.add_argument("--without-verses", action="store_true", help="what attention is worth")
    parser.add_argument("--narrow", action="store_true", help="with it: small enough for a CPU")
    parser.add_argument("--recipe", default="couplet", help="or couplet-zh, the shipped size")
    parser.add_argument("--seconds", type=float, help="for train: stop then, to be gone on with")
    parser.add_argument("--set", action="append", default=[], help="a further setting")
    options = parser.parse_args()
    {"prepare": prepare, "train": train, "report": report}[options.what](options)


if __name__ == "__main__":
    main()
