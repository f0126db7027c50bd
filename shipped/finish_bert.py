r"""From a pretrained BERT to the shipped `bert-mini-en`: int8 behind the gate, with its card.

softquery train bert-mini-en --data enwiki-2015 --output trained
python benchmarks/bert_tasks.py train --bert trained --sst2 DIR --snli DIR --conll DIR
python shipped/finish_bert.py trained --data enwiki-2015/valid.txt.xz \
        --tasks benchmarks/results/bert_tasks.jsonl --output src/softquery/zoo/models/bert-mini-en

The run must have the recipe's settings; its pieces may have been given as a `vocab.txt` that holds
what the recipe learns. The shipped model, as int8, is measured on the text anew. What fine-tuning
reached, with and without the pretraining, is taken from `--tasks`.
"""

import argparse
import json
import math
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from figures import with_interval
from records import drop_leftovers, int8_line, recipe_settings

from softquery.bundle import RECORDS, Bundle, Card, CardData, CardNumber, make_card, read_bundle
from softquery.bundle.update import with_section
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_encoder
from softquery.files import read_lines, write_json, write_text
from softquery.recipes import BertRun, recipe
from softquery.runtime.masked import evaluate_masked
from softquery.zoo.glance import folder_size

NAME = "bert-mini-en"
LICENCE = "cc-by-sa-4.0"
VALID = "enwiki-2015 valid"
LARGEST_MB = 6.5
TASKS = {
    "sst2": "SST-2 dev",
    "snli": "SNLI dev, 100,000 pairs to learn from",
    "conll": "CoNLL-2003 dev",
}
"""Those of benchmarks/bert_tasks.py."""
STARTS = {"pretrained": "fine-tuned", "random": "… from random weights"}


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trained", type=Path, help="what softquery train wrote")
    parser.add_argument("--data", type=Path, required=True, help="text to measure on")
    parser.add_argument("--tasks", type=Path, help="results of benchmarks/bert_tasks.py")
    parser.add_argument("--gate", type=float, default=0.5, help="per cent that int8 may cost")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if options.output.exists():
        raise InputError("exists already; name another --output", source=options.output)
    reached = {} if options.tasks is None else task_figures(options.tasks)
    wanted: Any = recipe(NAME)
    finish(read_bundle(options.trained), options.data, options.output, wanted=wanted,
           gate=options.gate, reached=reached)  # fmt: skip


def finish(
    trained: Bundle,
    text: Path,
    output: Path,
    *,
    wanted: BertRun,
    gate: float,
    reached: Mapping[str, Any],
) -> None:
    """Export, measure, and write the card; nothing is left behind where something does not hold.

    Args:
        trained: What training wrote.
        text: To measure on, and for the gate.
        output: The folder to write.
        wanted: The recipe whose settings the run must have had.
        gate: Per cent of perplexity that int8 may cost.
        reached: What fine-tuning reached, by task.
    """
    settings = checked_settings(trained, wanted)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / NAME
        report = export_encoder(trained, folder, int8=True, limit=gate, lines=read_lines([text]))
        exported = [
            int8_line(report, "hidden words"),
            "- The heads of pretraining are kept, so that one can go on with `--init`.",
        ]
        found = evaluate_masked(read_bundle(folder), text)
        metrics = {**read_bundle(folder).metrics, "shipped": found, "tasks": dict(reached)}
        write_json(folder / "metrics.json", metrics)
        drop_leftovers(folder / RECORDS)
        write_json(folder / RECORDS / "run.json", settings)
        card = make_card(told(trained, metrics), kind="encoder")
        write_text(folder / "README.md", with_section(card, "Export", exported))
        if folder_size(folder) > LARGEST_MB * 1e6:
            raise BundleError(f"{trained.path}: {folder_size(folder):,} bytes are too many")
        shutil.copytree(folder, output)


def checked_settings(trained: Bundle, wanted: BertRun) -> dict[str, Any]:
    """The recipe's settings, if the run had them; of the pieces, only their number is compared."""
    run = json.loads((trained.path / RECORDS / "run.json").read_text("utf-8"))
    settings = recipe_settings(run, wanted.to_dict(), aside=("pieces",))
    count = trained.config.model["config"]["vocab_size"]
    if count > wanted.pieces.size or run["pieces"]["given"] and count < wanted.pieces.size:
        raise ConfigError(
            f"{trained.path}: has {count:,} pieces, but the recipe {wanted.pieces.size:,}"
        )
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


def told(trained: Bundle, metrics: dict[str, Any]) -> Card:
    """What there is to say."""
    training, found = metrics["training"], metrics["shipped"]
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
            "all settings": "training/run.json",
        },
        numbers=[*hidden_numbers(found, metrics["dev"]), *task_numbers(metrics["tasks"])],
        limits=limits(trained, metrics, layers),
    )


def hidden_numbers(found: dict[str, Any], dev: dict[str, Any]) -> list[CardNumber]:
    """Of both objectives: as shipped, and in the long sequences that the run measured itself."""
    numbers = [
        CardNumber(metric="perplexity of hidden words, int8", value=math.exp(found["mlm_loss"]),
                   n=found["n"], data=VALID),
        _accuracy("hidden words foretold, int8", found["mlm_accuracy"], found["n"], VALID),
    ]  # fmt: skip
    if "nsp_accuracy" in found:
        numbers.append(
            _accuracy("next texts told, int8", found["nsp_accuracy"], found["pairs"], VALID)
        )
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
            "and a number of passes that suit it."
        )
    return told


if __name__ == "__main__":
    main()
