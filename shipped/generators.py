"""Make a shipped generator: a translator, or one that answers couplets.

The run that is best on what it held back is exported and measured on every dev set. Couplets must
keep their form.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facts import Facts
from runs import SETTINGS, SeedRun, differing_settings, read_runs
from shipment import Check, Shipment, gate_check, keep_records

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardNumber,
    make_card,
    read_bundle,
    with_section,
)
from softquery.cli.terminal.console import note
from softquery.errors import InputError
from softquery.export import export_generator
from softquery.files import Row, find_split, read_rows
from softquery.runtime import load_generator
from softquery.runtime.generate.evaluate import evaluate_generator

EXACT = ("same_length", "same_signs")
"""Rules that every couplet must keep."""


def make_generator(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Export the best run, judged by dev at the gate, and measure it on every set."""
    runs = read_runs(options.runs, kind=facts.kind)
    for line in differing_settings(runs):
        note(f"warning: {line}")
    dev = _rows(find_split(options.data, "dev"))
    sets = {facts.dev: dev, **{name: _rows(path) for name, path in options.also}}
    best = max(runs, key=_steered)
    note(f"seed {best.seed} is the best on what was held back and will be shipped")
    report = export_generator(
        best.bundle, scratch / "exported", int8=True, limit=options.gate, rows=dev
    )
    note(f"exported: {report.precision}, {report.size_bytes / 1e6:.2f} MB")
    exported = read_bundle(report.bundle)
    metrics = {
        **exported.metrics,
        "sets": {name: _measured(exported, rows, facts.beam) for name, rows in sets.items()},
        "seeds": {run.seed: run.bundle.metrics["dev"] for run in runs},
    }
    told = exported.card.partition("## Export\n")[2].strip().splitlines()
    made = make_card(card(facts, metrics, best), kind=facts.kind)
    return Shipment(
        exported=exported,
        metrics=metrics,
        card=with_section(made, "Export", told),
        records=keep_records(best.bundle, scratch / RECORDS, best.settings),
        checks=[gate_check(metrics["export"]["gate"]), *exact_checks(metrics)],
    )


def _rows(path: Path) -> list[Row]:
    rows = list(read_rows(path, columns=("source", "target")))
    if not rows:
        raise InputError("holds no rows", source=path)
    return rows


def _steered(run: SeedRun) -> float:
    """What the run was steered by: more is better."""
    found: dict[str, float] = run.bundle.metrics["tune"]
    return next(iter(found.values()))


def _measured(bundle: Bundle, rows: Sequence[Row], beam: int) -> dict[str, Any]:
    """The exported model on one set, without torch."""
    found = evaluate_generator(load_generator(bundle, backend="onnx"), rows, beam=beam).report()
    note(", ".join(f"{key} {found[key]:.4f}" for key in ("bleu", "perplexity") if key in found))
    return found


def card(facts: Facts, metrics: dict[str, Any], run: SeedRun) -> Card:
    """What there is to say."""
    training = metrics.get("training", {})
    sizes = run.bundle.config.model["config"]
    seeds = metrics["seeds"]
    shown = ", ".join(f"{seed}: {_figure(dev)}" for seed, dev in seeds.items())
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(),
        training={
            "recipe": run.settings.get("name", facts.name),
            "model": f"Transformer, {sizes['num_encoder_layers']} + {sizes['num_decoder_layers']} "
            f"layers, {sizes['hidden_size']} wide, {sizes['target_vocab_size']:,} entries",
            "seed": run.seed,
            "epochs": training.get("epochs", ""),
            "steps": training.get("steps", ""),
            "seconds": training.get("seconds", ""),
            "dev of all seeds, float32": shown,
            "all settings": f"{RECORDS}/{SETTINGS}",
            **facts.training,
        },
        numbers=[
            _number(metric, data, found)
            for data, found in metrics["sets"].items()
            for metric in facts.numbers
            if found.get(metric) is not None
        ],
        limits=[*facts.limits, *(_signature(metrics) if "bleu" in facts.numbers else [])],
    )


def _figure(dev: dict[str, Any]) -> str:
    key = "ranked_first" if "ranked_first" in dev else "bleu"
    return f"{key} {dev[key]:.4g}, perplexity {dev['perplexity']:.3f}"


def _number(metric: str, data: str, found: dict[str, Any]) -> CardNumber:
    bounds = found.get(f"{metric}_interval")
    count = found["num_ranked"] if metric in ("ranked_first", "mean_reciprocal_rank") else None
    return CardNumber(
        metric=metric,
        value=found[metric],
        n=count or found["n"],
        data=f"{data}, int8",
        interval=(bounds[0], bounds[1]) if bounds else None,
    )


def _signature(metrics: dict[str, Any]) -> list[str]:
    found = {each["bleu_signature"] for each in metrics["sets"].values() if "bleu" in each}
    return [f"BLEU is sacrebleu's: {each}." for each in sorted(found)]


def exact_checks(metrics: dict[str, Any]) -> list[Check]:
    """Whether every couplet keeps its form."""
    return [
        Check(what=f"{data}: {rule}", found=f"{each[rule]:.2%}", passed=each[rule] == 1.0)
        for data, each in metrics["sets"].items()
        for rule in EXACT
        if rule in each
    ]
