r"""From a pretrained BERT to the shipped `bert-mini-en`: int8 behind the gate, with its card.

softquery train bert-mini-en --data enwiki-2015 --output trained
python benchmarks bert tasks train --bert trained --sst2 DIR --snli DIR --conll DIR
python shipped/finish_bert.py trained --data enwiki-2015/valid.txt.xz \
        --tasks benchmarks/bert/tasks.jsonl --output src/softquery/zoo/models/bert-mini-en

The run must have the recipe's settings; its pieces may have been given as a `vocab.txt` that holds
what the recipe learns. The shipped model, as int8, is measured on the text anew. What fine-tuning
reached, with and without the pretraining, is taken from `--tasks`. Exits with 1 where the model is
too large or int8 too costly, and with 2 where the input cannot be used.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from figures import with_interval
from placing import (
    Check,
    gate_check,
    int8_line,
    keep_records,
    put_in_place,
    refuse_existing,
    run_script,
    size_check,
)
from seeds import SETTINGS, SeedRun, read_runs, recipe_settings

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardData,
    CardNumber,
    make_card,
    read_bundle,
    with_section,
)
from softquery.errors import ConfigError, InputError
from softquery.export import export_encoder
from softquery.files import read_lines
from softquery.recipes import BertRun, recipe
from softquery.runtime.embed.evaluate import evaluate_masked
from softquery.zoo.glance import folder_size

NAME = "bert-mini-en"
LICENCE = "cc-by-sa-4.0"
VALID = "enwiki-2015 valid"
LARGEST_MB = 5.4
TASKS = {
    "sst2": "SST-2 dev",
    "snli": "SNLI dev, 100,000 pairs to learn from",
    "conll": "CoNLL-2003 dev",
}
"""Those of benchmarks/bert/tasks.py."""
STARTS = {"pretrained": "fine-tuned", "random": "… from random weights"}


def finish(
    options: argparse.Namespace, wanted: BertRun | None = None
) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough.

    Args:
        options: The command line.
        wanted: The recipe whose settings the run must have had; by default that of the name.
    """
    refuse_existing(options.output, replace=options.replace)
    reached = {} if options.tasks is None else task_figures(options.tasks)
    (run,) = read_runs([options.trained], kind="encoder")
    named: Any = recipe(NAME)
    settings = checked_settings(run, wanted or named)
    with tempfile.TemporaryDirectory() as scratch:
        folder, lines = Path(scratch) / "exported", read_lines([options.data])
        export_encoder(run.bundle, folder, int8=True, limit=options.gate, lines=lines)
        exported = read_bundle(folder)
        found = evaluate_masked(exported, options.data)
        metrics = {**exported.metrics, "shipped": found, "tasks": reached}
        put_in_place(
            options.output,
            exported,
            metrics=metrics,
            card=card(run.bundle, metrics),
            records=keep_records(run.bundle, Path(scratch) / RECORDS, settings),
            replace=options.replace,
        )
    size, gate = folder_size(options.output), metrics["export"]["gate"]
    return metrics, [size_check(size, LARGEST_MB), gate_check(gate, counted="hidden words")]


def checked_settings(run: SeedRun, wanted: BertRun) -> dict[str, Any]:
    """The recipe's settings, if the run had them; of the pieces, only their number is compared."""
    settings = recipe_settings(run.bundle, wanted, aside=("pieces",))
    count, size = run.bundle.config.model["config"]["vocab_size"], wanted.pieces.size
    is_given = bool(run.settings.get("pieces", {}).get("given"))
    if count > size or is_given and count < size:
        raise ConfigError(f"{run.bundle.path}: has {count:,} pieces, but the recipe {size:,}")
    return settings


def task_figures(results: Path) -> dict[str, Any]:
    """Mean and standard deviation over the seeds, for each task with both starts."""
    try:
        rows = [json.loads(line) for line in results.read_text("utf-8").splitlines() if line]
        return {
            task: {"metric": _metric(rows, task)}
            | {start: _spread(rows, f"{start}-{task}") for start in STARTS}
            for task in TASKS
            if {f"{start}-{task}" for start in STARTS} <= {row["name"] for row in rows}
        }
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"is no result of bert_tasks.py ({error!r})", source=results) from None


def _metric(rows: list[dict[str, Any]], task: str) -> str:
    """By which the task was steered."""
    return next(next(iter(row["tune"])) for row in rows if row["name"] == f"pretrained-{task}")


def _spread(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    some = [row for row in rows if row["name"] == name]
    values = [row["dev"][next(iter(row["tune"]))] for row in some]
    return {
        "mean": statistics.mean(values),
        "deviation": statistics.stdev(values) if len(values) > 1 else None,
        "seeds": len(values),
        "n": some[0]["dev"]["n"],
    }


def card(trained: Bundle, metrics: dict[str, Any]) -> str:
    """The card as Markdown."""
    exported = [
        int8_line(metrics["export"], "hidden words"),
        "- The heads of pretraining are kept, so that one can go on with `--init`.",
    ]
    return with_section(make_card(told(trained, metrics), kind="encoder"), "Export", exported)


def told(trained: Bundle, metrics: dict[str, Any]) -> Card:
    """What there is to say."""
    training = metrics["training"]
    sizes = trained.config.model["config"]
    layers = f"{sizes['num_layers']} layers of {sizes['hidden_size']}"
    return Card(
        name=NAME,
        purpose="A small pretrained English BERT, to be fine-tuned for a task: classifying, "
        "matching, tagging, reading.",
        languages=["en"],
        licence=LICENCE,
        data=[
            CardData(
                name="enwiki-2015",
                rows=training["pieces"],
                licence="CC BY-SA 4.0",
                note="pieces of English Wikipedia",
            )
        ],  # fmt: skip
        training={
            "recipe": NAME,
            "model": f"BERT, {layers}, {sizes['num_heads']} heads, {sizes['vocab_size']:,} pieces",
            "objectives": "hidden words, and whether a text follows",
            "seed": training["seed"],
            "passes over the text": training["epochs"],
            "steps": training["steps"],
            "seconds": f"{training['seconds']} on one H200",
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=[*hidden_numbers(metrics), *task_numbers(metrics["tasks"])],
        limits=limits(trained, metrics, layers),
    )


def hidden_numbers(metrics: dict[str, Any]) -> list[CardNumber]:
    """Of both objectives: as shipped, and in the long sequences that the run measured itself."""
    found, dev, precision = metrics["shipped"], metrics["dev"], metrics["export"]["precision"]
    numbers = [
        CardNumber(metric=f"perplexity of hidden words, {precision}",
                   value=math.exp(found["mlm_loss"]), n=found["n"], data=VALID),
        _accuracy(f"hidden words foretold, {precision}", found["mlm_accuracy"], found["n"], VALID),
    ]  # fmt: skip
    if "nsp_accuracy" in found:
        told = f"next texts told, {precision}"
        numbers.append(_accuracy(told, found["nsp_accuracy"], found["pairs"], VALID))
    if "long" in dev:
        far = dev["long"]
        numbers.append(
            _accuracy(
                "hidden words foretold, float32", far["mlm_accuracy"], far["n"],
                f"{VALID}, long sequences",
            )
        )  # fmt: skip
    return numbers


def _accuracy(metric: str, share: float, count: int, data: str) -> CardNumber:
    low, high = with_interval(np.arange(count) < round(share * count))["interval"]
    return CardNumber(metric=metric, value=share, n=count, data=data, interval=(low, high))


def task_numbers(tasks: Mapping[str, Any]) -> list[CardNumber]:
    """What fine-tuning reached, with this start and without."""
    return [
        CardNumber(
            metric=f"{figures['metric']}, {how}, {_seeds(figures[start])}",
            value=figures[start]["mean"],
            n=figures[start]["n"],
            data=TASKS[task],
        )
        for task, figures in tasks.items()
        for start, how in STARTS.items()
    ]


def _seeds(figure: Mapping[str, Any]) -> str:
    if figure["deviation"] is None:
        return "one seed"
    return f"mean of {figure['seeds']} seeds, standard deviation {figure['deviation']:.4f}"


def limits(trained: Bundle, metrics: dict[str, Any], layers: str) -> list[str]:
    """What it cannot do."""
    text, found, training = trained.config.text, metrics["shipped"], metrics["training"]
    told = [
        f"It is small ({layers}) and was pretrained shortly: {training['epochs']} passes over "
        f"{training['pieces']:,} pieces. Larger BERTs, read for longer, are better at every task.",
        "It is no sentence embedder: its states are a beginning for fine-tuning, and their means "
        "have not been made to be compared.",
        "It has read the English Wikipedia of 2015 and nothing else: chat, reviews and other "
        "languages are strange to it, and so is what has happened since. What the text says about "
        "people, biases included, it has learnt.",
        f"It reads at most {trained.config.model['config']['max_length']:,} pieces of a text.",
        f"Figures of hidden words: 15 % of the pieces, sequences of {found['length']}, always the "
        f"same ones. They count pieces of this vocabulary, and compare with no other one's; the "
        "intervals take words for independent of each other.",
    ]
    if text.get("lowercase"):
        told.insert(2, "It is uncased: capitals and accents are not seen.")
    if metrics["tasks"]:
        told.append(
            "What was fine-tuned had started from the weights before int8; each start had a rate "
            "and a number of passes of its own."
        )
    return told


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trained", type=Path, help="what softquery train wrote")
    parser.add_argument("--data", type=Path, required=True, help="text to measure on")
    parser.add_argument("--tasks", type=Path, help="results of benchmarks/bert/tasks.py")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--gate", type=float, default=0.5, help="per cent that int8 may cost")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse, finish and print."""
    return run_script(finish, options_of())


if __name__ == "__main__":
    sys.exit(main())
