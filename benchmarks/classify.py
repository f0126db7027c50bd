"""Attention-BiLSTM and hierarchical attention on SST-2, SemEval-2010 Task 8 and IMDb.

    python benchmarks/classify.py prepare --source CLASSIFICATION --data runs/classify/data
    python benchmarks/classify.py train --data runs/classify/data --vectors glove.txt --jobs 4
    python benchmarks/classify.py report

`prepare` writes each set as train.jsonl and dev.jsonl; of SemEval and IMDb, which come without a
dev set, a seeded 10 % of train is held out for it. `train` runs every variant with every seed, a
few side by side, and adds a row to results/classify.jsonl as each finishes; runs that stand there
already are not run again, and interrupted ones are gone on with. `report` prints a table.
"""

import argparse
import csv
import fnmatch
import io
import json
import lzma
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "classify.jsonl"
SIGNS = ("negative", "positive")
MARKERS = "<e1>,</e1>,<e2>,</e2>"
DEV_SHARE, SPLIT_SEED = 0.1, 1
"""Every seed trains on the same split."""

Row = tuple[str, str]


@dataclass(frozen=True)
class Variant:
    """One recipe on one set of data, to be run with several seeds."""

    name: str
    data: str
    recipe: str
    settings: tuple[str, ...] = ()
    vectors: bool = True
    """Whether pretrained word vectors are given."""


def variants(elmo: str | None) -> list[Variant]:
    """All of them; long runs first, so that they do not end alone."""
    found = [
        Variant("imdb-hierarchical", "imdb", "hierarchical-attention"),
        Variant("imdb-hierarchical-random", "imdb", "hierarchical-attention", (), vectors=False),
        Variant("imdb-bilstm", "imdb", "attention-bilstm", ("text.max_tokens=512",)),
        Variant("semeval", "semeval", "relations"),
        Variant("semeval-random", "semeval", "relations", (), vectors=False),
        Variant("sst2", "sst2", "attention-bilstm"),
        Variant("sst2-random", "sst2", "attention-bilstm", (), vectors=False),
    ]
    if elmo is not None:
        bundle = f"elmo.bundle={elmo}"
        marked = (f"text.markers={MARKERS}", "classes.metric=relation_f1")
        found.append(Variant("sst2-elmo", "sst2", "attention-bilstm-elmo", (bundle,)))
        found.append(Variant("semeval-elmo", "semeval", "attention-bilstm-elmo", (bundle, *marked)))
    return found


def prepare(options: argparse.Namespace) -> None:
    for name, read in (("sst2", read_sst2), ("semeval", read_semeval), ("imdb", read_imdb)):
        train, dev = read(options.source)
        folder = options.data / name
        folder.mkdir(parents=True, exist_ok=True)
        for split, rows in (("train", train), ("dev", dev)):
            lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in rows]
            (folder / f"{split}.jsonl").write_text("".join(lines))
        print(f"{folder}: {len(train):,} to train on, {len(dev):,} of dev", flush=True)


def read_sst2(source: Path) -> tuple[list[Row], list[Row]]:
    """Sentences with their sign; contractions, which come apart, are put together again."""

    def read(path: Path) -> list[Row]:
        pairs = [line.split(" ", 1) for line in unpacked(path).splitlines()]
        return [
            (re.sub(r" (n't|'(?:s|m|d|re|ve|ll))\b", r"\1", text), SIGNS[int(sign)])
            for sign, text in pairs
        ]

    return read(source / "sst2" / "train.txt.xz"), read(source / "sst2" / "dev.txt.xz")


def read_semeval(source: Path) -> tuple[list[Row], list[Row]]:
    """Sentences with two marked words, and their relation."""
    text = unpacked(source / "semeval2010_task8" / "train.txt.xz")
    rows = []
    for block in text.strip().split("\n\n"):
        sentence, relation, *_ = block.split("\n")
        rows.append((sentence.partition("\t")[2].strip().strip('"'), relation.strip()))
    return held_out(rows)


def read_imdb(source: Path) -> tuple[list[Row], list[Row]]:
    """Reviews with their sign; the negative ones come first in the file."""
    rows = []
    for line in unpacked(source / "imdb" / "train.tsv.xz").split("\n")[:-1]:
        sign, _, text = line.split("\t", 2)
        rows.append((re.sub(r"\s*(?:<br />\s*)+", "\n", text), SIGNS[int(sign)]))
    return held_out(rows)


def unpacked(path: Path) -> str:
    """The text of an .xz file."""
    return lzma.decompress(path.read_bytes()).decode()


def held_out(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Shuffled, with a share held out; what no row of train would teach is not asked for."""
    shuffled = list(rows)
    random.Random(SPLIT_SEED).shuffle(shuffled)
    count = round(DEV_SHARE * len(rows))
    dev, train = shuffled[:count], shuffled[count:]
    known = Counter(label for _, label in train)
    return [*train, *(row for row in dev if not known[row[1]])], [
        row for row in dev if known[row[1]]
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
        for variant in variants(options.elmo)
        if fnmatch.fnmatch(variant.name, options.only) and (variant.name, seed) not in done
    ]
    print(f"{len(waiting)} runs to go, {len(done)} done", flush=True)
    running: list[Job] = []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            running.append(start(*waiting.pop(0), options))
        time.sleep(0.5)
        for job in [job for job in running if job.process.poll() is not None]:
            running.remove(job)
            finish(job, options.results)


def start(variant: Variant, seed: int, options: argparse.Namespace) -> Job:
    """Begin one run; its log lies beside its bundle. What an earlier one left is gone on from."""
    bundle = options.work / f"{variant.name}-seed-{seed}"
    command = [sys.executable, "-m", "softquery", "train", variant.recipe, "--seed", str(seed)]
    command += ["--data", str(options.data / variant.data), "--output", str(bundle)]
    for path in options.vectors if variant.vectors else []:
        command += ["--vectors", str(path)]
    for setting in (*variant.settings, *options.set):
        command += ["--set", setting]
    if bundle.with_name(f"{bundle.name}.partial").exists():
        command.append("--resume")
    with bundle.with_name(f"{bundle.name}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    return Job(variant, seed, bundle, process, time.monotonic())


def finish(job: Job, results: Path) -> None:
    """Add what a run reached to the results."""
    name = f"{job.variant.name} seed {job.seed}"
    if not (job.bundle / "metrics.json").exists():
        print(f"{name}: failed, see {job.bundle}.log", flush=True)
        return
    metrics = json.loads((job.bundle / "metrics.json").read_text())
    metric = next(iter(metrics["tune"]))
    row = {
        "name": job.variant.name,
        "seed": job.seed,
        "data": job.variant.data,
        "recipe": job.variant.recipe,
        "settings": list(job.variant.settings),
        "metric": metric,
        **metrics,
        "curve": curve((job.bundle / "training" / "log.csv").read_text(), metric),
        "wall_seconds": round(time.monotonic() - job.began, 1),
    }
    with results.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(
        f"{name}: {metric} held back {metrics['tune'][metric]:.4f} dev {metrics['dev'][metric]:.4f}"
        f" epochs {metrics['training']['epochs']} {row['wall_seconds']:.0f} s",
        flush=True,
    )


def curve(log: str, metric: str) -> list[float]:
    """The held-back metric of each epoch."""
    rows = csv.DictReader(io.StringIO(log))
    return [float(row[f"tune_{metric}"]) for row in rows if row.get(f"tune_{metric}")]


def read(path: Path) -> list[dict]:
    """The rows at hand."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def report(options: argparse.Namespace) -> None:
    rows = read(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print("| variant | metric | seeds | held back | dev | dev accuracy | best epoch | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        metric = some[0]["metric"]
        cells = [
            spread([row["tune"][metric] for row in some]),
            spread([row["dev"][metric] for row in some]),
            spread([row["dev"]["accuracy"] for row in some]),
            f"{statistics.mean(row['training']['best_epoch'] for row in some):.0f}",
            f"{statistics.mean(row['training']['seconds'] for row in some):.0f}",
        ]
        print(f"| {name} | {metric} | {len(some)} | {' | '.join(cells)} |")


def spread(values: list[float]) -> str:
    """Mean and standard deviation, in points."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {100 * deviation:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    preparing = verbs.add_parser("prepare")
    preparing.add_argument("--source", type=Path, required=True, help="holds sst2, imdb, …")
    preparing.add_argument("--data", type=Path, default=Path("runs/classify/data"))
    preparing.set_defaults(act=prepare)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, default=Path("runs/classify/data"))
    training.add_argument("--elmo", help="a biLM: a folder, or a name; without, none is tried")
    training.add_argument("--vectors", type=Path, nargs="*", default=[])
    training.add_argument("--seeds", type=int, default=3)
    training.add_argument("--jobs", type=int, default=1, help="runs side by side")
    training.add_argument("--only", default="*", help="names of variants, such as 'imdb*'")
    training.add_argument("--set", action="append", default=[], help="for every run")
    training.add_argument("--work", type=Path, default=Path("runs/classify"))
    training.add_argument("--results", type=Path, default=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
