"""Classifiers of texts, English and Chinese: three seeds of each recipe on its set.

    python benchmarks classify prepare --source CLASSIFICATION --data runs/classify/data
    python benchmarks classify train --data runs/classify/data --jobs 8 --elmo elmo-en \
        --vectors glove-50d.bin glove-100d.bin --characters characters.bin
    python benchmarks classify report

`prepare` writes each set as train.jsonl and dev.jsonl; where a set comes without a dev file, a
seeded 10 % of train is held out for it. Sets that are taught have texts.jsonl as well, without
labels, for a teacher. `train` runs every variant with every seed, a few side by
side, and adds a row to `classify.jsonl` as each finishes; runs that stand there already are
not run again, and interrupted ones are gone on with. `report` prints a table.
"""

import argparse
import fnmatch
import json
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.classify.class_sets import SETS
from benchmarks.classify.taught_sets import TAUGHT
from benchmarks.shared.side_by_side import (
    Planned,
    add_training_options,
    points,
    read_rows,
    train_as_asked,
)

HERE = Path(__file__).parent
RESULTS = HERE / "classify.jsonl"
MARKERS = "text.markers=<e1>,</e1>,<e2>,</e2>"
RELATIONS = (
    "classes.metric=relation_f1", "data.tune_share=0.1", "data.batch_size=32",
    "model.hidden_size=150", "model.embedding_dropout=0.5", "model.word_dropout=0.1",
    "elmo.dropout=0.3", "schedule.warmup_steps=100", "schedule.decay=cosine",
    "schedule.plateau_factor=1", "training.average_decay=0.99", "training.max_epochs=20",
    "training.patience=20",
)  # fmt: skip
"""How relations are learnt on a biLM: more is dropped than without one."""


@dataclass(frozen=True)
class Variant:
    """One recipe on one set of data, to be run with several seeds."""

    name: str
    data: str
    recipe: str
    settings: tuple[str, ...] = ()
    vectors: str = "words"
    """Which pretrained vectors are given: `words`, `characters` or `none`."""


VARIANTS = (
    Variant("imdb-hierarchical", "imdb", "hierarchical-attention"),
    Variant("imdb-hierarchical-100", "imdb", "hierarchical-attention", ("model.hidden_size=100",)),
    Variant("imdb-hierarchical-random", "imdb", "hierarchical-attention", (), "none"),
    Variant("imdb-bilstm", "imdb", "attention-bilstm", ("text.max_tokens=512",)),
    Variant("sentiment", "sentiment", "sentiment-en"),
    Variant("tnews", "tnews", "attention-bilstm-zh", (), "characters"),
    Variant("chnsenticorp", "chnsenticorp", "attention-bilstm-zh", (), "characters"),
    Variant("semeval", "semeval", "relations"),
    Variant("semeval-random", "semeval", "relations", (), "none"),
    Variant("sst2", "sst2", "attention-bilstm"),
    Variant("sst5", "sst5", "attention-bilstm"),
    Variant("sst2-random", "sst2", "attention-bilstm", (), "none"),
)
"""Long runs first, so that they do not end alone."""
WITH_ELMO = (
    Variant("sst2-elmo", "sst2", "attention-bilstm-elmo"),
    Variant("sst2-elmo-both", "sst2", "attention-bilstm-elmo", ("elmo.places=input,output",)),
    Variant("sst5-elmo", "sst5", "attention-bilstm-elmo"),
    Variant("semeval-elmo", "semeval", "attention-bilstm-elmo", (MARKERS, *RELATIONS)),
)  # fmt: skip
WITH_COVE = (
    Variant("sst2-cove", "sst2", "attention-bilstm-elmo"),
    Variant("sst5-cove", "sst5", "attention-bilstm-elmo"),
)
"""On the encoder of a translator (`benchmarks/generate/cove.py`)."""


def prepare(options: argparse.Namespace) -> None:
    for name, read in {**SETS, **TAUGHT}.items():
        if not any(fnmatch.fnmatch(name, each) for each in options.only):
            continue
        folder = options.data / name
        folder.mkdir(parents=True, exist_ok=True)
        for split, rows in read(options.source).items():
            lines = (
                json.dumps({"text": text} | ({"label": label} if label else {}), ensure_ascii=False)
                + "\n"
                for text, label in rows
            )
            (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
            print(f"{folder / split}: {len(rows):,} texts", flush=True)


def train(options: argparse.Namespace) -> None:
    runs = [
        Planned(
            name=variant.name,
            recipe=variant.recipe,
            data=options.data / variant.data,
            seed=seed,
            settings=tuple(settings(variant, options)),
        )
        for seed in range(1, options.seeds + 1)
        for variant in (
            *(WITH_ELMO if options.elmo else ()),
            *(WITH_COVE if options.cove else ()),
            *VARIANTS,
        )
        if any(fnmatch.fnmatch(variant.name, name) for name in options.only)
    ]
    train_as_asked(options, runs, show=shown)


def settings(variant: Variant, options: argparse.Namespace) -> Iterable[str]:
    """What a variant is run with."""
    yield from variant.settings
    given = {"words": options.vectors, "characters": options.characters}.get(variant.vectors)
    if given:
        yield f"vectors={','.join(map(str, given))}"
    if variant in WITH_ELMO:
        yield f"elmo.bundle={options.elmo}"
    if variant in WITH_COVE:
        yield f"elmo.bundle={options.cove}"


def metric_of(row: dict[str, Any]) -> str:
    """What a run was steered by."""
    return next(iter(row["tune"]))


def shown(row: dict[str, Any]) -> str:
    metric, facts = metric_of(row), row["training"]
    return (
        f"{metric} held back {row['tune'][metric]:.4f} dev {row['dev'][metric]:.4f} "
        f"best epoch {facts['best_epoch']} of {facts['epochs']}"
    )


def report(options: argparse.Namespace) -> None:
    rows = read_rows(options.results)
    if not rows:
        sys.exit(f"{options.results}: no results yet")
    print("| variant | metric | seeds | held back | dev | best epoch | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(row["name"] for row in rows):
        some = [row for row in rows if row["name"] == name]
        metric = metric_of(some[0])
        cells = [
            name,
            metric,
            str(len(some)),
            points([row["tune"][metric] for row in some]),
            points([row["dev"][metric] for row in some]),
            f"{statistics.mean(row['training']['best_epoch'] for row in some):.0f}",
            f"{statistics.mean(row['training']['seconds'] for row in some):.0f}",
        ]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    preparing = verbs.add_parser("prepare")
    preparing.add_argument("--source", type=Path, required=True, help="holds sst2, imdb, …")
    preparing.add_argument("--data", type=Path, default=Path("runs/classify/data"))
    preparing.add_argument("--only", nargs="*", default=["*"], help="sets, such as 'taught-*'")
    preparing.set_defaults(act=prepare)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, default=Path("runs/classify/data"))
    training.add_argument("--elmo", help="a biLM: a folder, or a name; without, none is tried")
    training.add_argument("--cove", help="a translator's encoder, likewise")
    training.add_argument("--vectors", type=Path, nargs="*", default=[], help="of English words")
    training.add_argument("--characters", type=Path, nargs="*", default=[], help="Chinese vectors")
    training.add_argument("--only", nargs="*", default=["*"], help="variants, such as 'imdb*'")
    add_training_options(training, work=Path("runs/classify"), results=RESULTS)
    training.set_defaults(act=train)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--results", type=Path, default=RESULTS)
    reporting.set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
