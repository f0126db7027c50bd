"""Make a shipped pretrained model: an encoder (BERT) or an embedder of words in context (ELMo).

Its one run must have the recipe's settings. BERT's pieces may have been given as a `vocab.txt` that
holds what the recipe learns; its card takes what fine-tuning reached, with and without the
pretraining, from the results of `benchmarks/bert/tasks.py`. ELMo comes exported, by

    softquery export trained --output exported --int8 --drop-softmax --data TEXT

and stands beside a 5-gram on its card, from the results of `benchmarks/elmo/kneser_ney.py`.
"""

import argparse
import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from dev_answers import with_interval
from facts import Facts
from runs import SETTINGS, SeedRun, read_runs, recipe_settings
from shipment import Shipment, gate_check, int8_line, keep_records

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardNumber,
    make_card,
    read_bundle,
    with_section,
)
from softquery.errors import BundleError, ConfigError, InputError
from softquery.export import export_encoder
from softquery.files import read_lines
from softquery.recipes import BertRun, recipe
from softquery.runtime.embed.evaluate import evaluate_masked

TASKS = {
    "sst2": "SST-2 dev",
    "snli": "SNLI dev, 100,000 pairs to learn from",
    "conll": "CoNLL-2003 dev",
}
"""Those of benchmarks/bert/tasks.py."""
STARTS = {"pretrained": "fine-tuned", "random": "… from random weights"}
ABOUT_TASKS = (
    "What was fine-tuned had started from the weights before int8; each start had a rate and a "
    "number of passes of its own."
)


def make_encoder(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Export BERT with int8 behind the gate, and measure it on the text anew."""
    reached = {} if options.figures is None else task_figures(options.figures)
    run = _only(options.runs, facts)
    wanted: Any = recipe(facts.name)
    settings = checked_settings(run, wanted)
    folder, lines = scratch / "exported", read_lines([options.data])
    export_encoder(run.bundle, folder, int8=True, limit=options.gate, lines=lines)
    exported = read_bundle(folder)
    found = evaluate_masked(exported, options.data)
    metrics = {**exported.metrics, "shipped": found, "tasks": reached}
    told = [
        int8_line(metrics["export"], "hidden words"),
        "- The heads of pretraining are kept, so that one can go on with `--init`.",
    ]
    card = make_card(encoder_card(facts, run.bundle, metrics), kind=facts.kind)
    return Shipment(
        exported=exported,
        metrics=metrics,
        card=with_section(card, "Export", told),
        records=keep_records(run.bundle, scratch / RECORDS, settings),
        checks=[gate_check(metrics["export"]["gate"], counted="hidden words")],
    )


def _only(paths: list[Path], facts: Facts) -> SeedRun:
    """The one run that there is to be."""
    if len(paths) != 1:
        raise InputError(f"{facts.name} is made of one run, got {len(paths)}")
    return read_runs(paths, kind=facts.kind)[0]


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
        raise InputError(f"is no result of bert/tasks.py ({error!r})", source=results) from None


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


def encoder_card(facts: Facts, trained: Bundle, metrics: dict[str, Any]) -> Card:
    """What there is to say of BERT."""
    training = metrics["training"]
    sizes = trained.config.model["config"]
    layers = f"{sizes['num_layers']} layers of {sizes['hidden_size']}"
    known = {**training, **sizes, **metrics["shipped"], "layers": layers}
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(training),
        training={
            "recipe": facts.name,
            "model": f"BERT, {layers}, {sizes['num_heads']} heads, {sizes['vocab_size']:,} pieces",
            "objectives": facts.training["objectives"],
            "seed": training["seed"],
            "passes over the text": training["epochs"],
            "steps": training["steps"],
            "seconds": f"{training['seconds']} {facts.training['machine']}",
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=[*hidden_numbers(metrics, facts.dev), *task_numbers(metrics["tasks"])],
        limits=[
            *(line.format_map(known) for line in facts.limits),
            *([ABOUT_TASKS] if metrics["tasks"] else []),
        ],
    )


def hidden_numbers(metrics: dict[str, Any], data: str) -> list[CardNumber]:
    """Of both objectives: as shipped, and in the long sequences that the run measured itself."""
    found, dev, precision = metrics["shipped"], metrics["dev"], metrics["export"]["precision"]
    numbers = [
        CardNumber(metric=f"perplexity of hidden words, {precision}",
                   value=math.exp(found["mlm_loss"]), n=found["n"], data=data),
        _accuracy(f"hidden words predicted, {precision}", found["mlm_accuracy"], found["n"], data),
    ]  # fmt: skip
    if "nsp_accuracy" in found:
        told = f"next texts told, {precision}"
        numbers.append(_accuracy(told, found["nsp_accuracy"], found["pairs"], data))
    if "long" in dev:
        far = dev["long"]
        numbers.append(
            _accuracy(
                "hidden words predicted, float32", far["mlm_accuracy"], far["n"],
                f"{data}, long sequences",
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


def make_embedder(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Take the exported biLM as it is, and write its card."""
    if len(options.runs) != 1:
        raise InputError(f"{facts.name} is made of one run, got {len(options.runs)}")
    if options.figures is None:
        raise InputError(f"{facts.name} stands beside a 5-gram: name its results with --figures")
    exported = read_export(options.runs[0], facts.kind)
    run: Any = recipe(facts.name)
    settings = recipe_settings(exported, run)
    metrics = exported.metrics
    yardstick = read_yardstick(options.figures, metrics["dev"]["vocabulary"])
    told = exported.card.partition("## Export\n")[2].strip().splitlines()
    card = make_card(embedder_card(facts, metrics, yardstick), kind=facts.kind)
    return Shipment(
        exported=exported,
        metrics=metrics,
        card=with_section(card, "Export", told),
        records=keep_records(exported, scratch / RECORDS, settings),
        checks=[gate_check(metrics["export"]["gate"], counted="words")],
    )


def read_export(path: Path, kind: str) -> Bundle:
    """An exported bundle, after a check that it is of this kind and that int8 was tried."""
    bundle = read_bundle(path)
    if bundle.config.kind != kind:
        raise BundleError(f"{path}: expected kind {kind!r}, found {bundle.config.kind!r}")
    if not bundle.is_exported or "gate" not in bundle.metrics.get("export", {}):
        raise BundleError(f"{path}: expected what softquery export --int8 wrote")
    return bundle


def read_yardstick(path: Path, vocabulary: int) -> dict[str, Any]:
    """The 5-gram that saw as many words."""
    try:
        runs = json.loads(path.read_text("utf-8"))["runs"]
        found = [run for run in runs if run["vocabulary"] == vocabulary]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"is no result of kneser_ney.py ({error!r})", source=path) from None
    if not found:
        raise InputError(f"has no run with a vocabulary of {vocabulary:,}", source=path)
    return dict(found[0])


def embedder_card(facts: Facts, metrics: dict[str, Any], yardstick: dict[str, Any]) -> Card:
    """What there is to say of ELMo."""
    training, dev = metrics["training"], metrics["dev"]
    numbers = [
        CardNumber(metric=f"perplexity_{way}", value=dev[f"perplexity_{way}"], n=dev["n"],
                   data=facts.dev)
        for way in ("forwards", "backwards")
    ] + [
        CardNumber(metric=f"… of a Kneser–Ney 5-gram, {way}", value=yardstick[f"perplexity_{way}"],
                   n=yardstick["n"], data=facts.dev)
        for way in ("forwards", "backwards")
    ]  # fmt: skip
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(training),
        training={
            "recipe": facts.name,
            "model": facts.training["model"],
            "seed": training["seed"],
            "passes over the text": training["epochs"] // 2,
            "steps": training["steps"],
            "seconds": f"{training['seconds']} {facts.training['machine']}",
            "words that were predicted": dev["vocabulary"],
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=numbers,
        limits=[line.format_map(dev) for line in facts.limits],
    )
