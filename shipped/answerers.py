"""Make a shipped classifier, reader or tagger, a BERT with such a head among them.

The seed that is best on what it held back is exported and measured on dev and on what else is
named. A classifier is judged by tune at the gate, and calibrated on its first half. The data have
the train and dev, and the tune of a classifier, that the seeds were trained with.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dev_answers import spread
from facts import Facts
from runs import SETTINGS, SeedRun, differing_settings, read_runs
from shipment import Shipment, gate_check, int8_line, keep_records

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardNumber,
    make_card,
    read_bundle,
    update_bundle,
    with_section,
)
from softquery.bundle.layer_weights import learnt_layers, with_layers
from softquery.cli.terminal.console import note
from softquery.errors import BundleError, InputError
from softquery.export import (
    ExportReport,
    export_bert_head,
    export_classifier,
    export_reader,
    export_tagger,
)
from softquery.files import (
    QUESTION_FORMS,
    TAGGED_FORMS,
    find_split,
    read_questions,
    read_rows,
    read_tagged,
)
from softquery.runtime import load_classifier, load_tagger
from softquery.runtime.bert.backend import is_bert
from softquery.runtime.calibrate import fit_calibration
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import load_reader
from softquery.runtime.tag.evaluate import evaluate_tagger
from softquery.zoo import resolve
from softquery.zoo.glance import folder_size

FEWEST = 50
"""Rows of a slice of which something is said."""
Rows = list[Any]


class Exporter(Protocol):
    """Writes an exported bundle, int8 behind the gate."""

    def __call__(
        self, bundle: Bundle, output: Path, *, int8: bool, limit: float, rows: Sequence[Any]
    ) -> ExportReport:
        """What was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """How models of a kind are read for, exported, and measured without torch."""

    noun: str
    read: Callable[[Path], Rows]
    """The rows of a file."""
    find: Callable[[Path, str], Path]
    """The file of a split."""
    export: Exporter
    evaluate: Callable[[Bundle, Rows], Any]
    """What has a `report()`, and `slices(by)`."""

    def split(self, data: Path, name: str) -> Rows:
        """The rows of one split of a folder; there must be some."""
        return self.file(self.find(data, name))

    def file(self, path: Path) -> Rows:
        """The rows of one file; there must be some."""
        rows = self.read(path)
        if not rows:
            raise InputError("holds no rows", source=path)
        return rows


KINDS = {
    "classifier": Kind(
        noun="texts",
        read=lambda path: list(read_rows(path, columns=("text", "label"))),
        find=lambda data, name: find_split(data, name),
        export=export_classifier,
        evaluate=lambda bundle, rows: evaluate_classifier(
            load_classifier(bundle, backend="onnx"), rows
        ),
    ),
    "reader": Kind(
        noun="questions",
        read=lambda path: list(read_questions(path)),
        find=lambda data, name: find_split(data, name, forms=QUESTION_FORMS),
        export=export_reader,
        evaluate=lambda bundle, rows: evaluate_reader(load_reader(bundle, backend="onnx"), rows),
    ),
    "tagger": Kind(
        noun="sentences",
        read=lambda path: list(read_tagged(path)),
        find=lambda data, name: find_split(data, name, forms=TAGGED_FORMS),
        export=export_tagger,
        evaluate=lambda bundle, rows: evaluate_tagger(load_tagger(bundle, backend="onnx"), rows),
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What the card is about."""

    facts: Facts
    run: SeedRun
    metrics: dict[str, Any]
    weakest: list[str]


def make_answerer(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Export the seed that is best on what was held back, and measure it on every set."""
    kind = KINDS[facts.kind]
    runs = read_runs(options.runs, kind=facts.kind, labels=facts.labels)
    check_figures(runs, facts.metric)
    check_train(kind, options.data, facts)
    sets = {facts.dev: kind.split(options.data, "dev")}
    sets |= {name: kind.file(path) for name, path in options.also}
    check_measured(runs, len(sets[facts.dev]), kind.noun)
    held_back = kind.split(options.data, "tune") if facts.kind == "classifier" else None
    for line in differing_settings(runs):
        note(f"warning: {line}")
    best = max(runs, key=lambda run: tuned(run, facts.metric))
    note(f"seed {best.seed} is the best on what was held back and will be shipped")
    folder = scratch / "exported"
    gated = held_back or sets[facts.dev]
    export = export_bert_head if is_bert(best.bundle) else kind.export
    export(best.bundle, folder, int8=True, limit=options.gate, rows=gated)
    exported = read_bundle(folder)
    if held_back:
        exported = calibrated(exported, held_back)
    metrics, weak = measured(exported, kind, facts, sets)
    metrics["seeds"] = {
        "runs": {run.seed: run.bundle.metrics["dev"][facts.metric] for run in runs},
        "shipped": best.seed,
        **spread([run.bundle.metrics["dev"][facts.metric] for run in runs]),
    }
    made = Made(facts=facts, run=best, metrics=metrics, weakest=weak)
    records = keep_records(best.bundle, scratch / RECORDS, best.settings)
    text = make_card(card(made), kind=facts.kind, calibration=exported.calibration)
    return Shipment(
        exported=exported,
        metrics=metrics,
        card=with_layers(
            with_section(text, "Export", told(exported, records)), learnt_layers(exported)
        ),
        records=records,
        checks=[gate_check(metrics["export"]["gate"])],
        calibration=exported.calibration,
    )


def check_figures(runs: list[SeedRun], metric: str) -> None:
    """Refuse runs that do not know their figures."""
    for run in runs:
        for part in ("tune", "dev"):
            if not isinstance(run.bundle.metrics.get(part, {}).get(metric), float):
                raise BundleError(f"{run.bundle.path}: metrics.json has no {metric} on {part}")


def tuned(run: SeedRun, metric: str) -> float:
    """How well the run does on what was held back."""
    figure: float = run.bundle.metrics["tune"][metric]
    return figure


def check_train(kind: Kind, data: Path, facts: Facts) -> None:
    """Say where the facts speak of another train than the one that is there."""
    there = len(kind.split(data, "train"))
    said = facts.num_rows
    if there != said:
        note(f"warning: {data} has {there:,} {kind.noun} to train on, the facts say {said:,}")


def check_measured(runs: list[SeedRun], num_rows: int, noun: str) -> None:
    """Refuse runs that were measured on another dev."""
    for run in runs:
        count = run.bundle.metrics["dev"].get("n")
        if count != num_rows:
            raise BundleError(
                f"{run.bundle.path}: was measured on {count} {noun}, but dev has {num_rows:,}"
            )


def calibrated(exported: Bundle, rows: Rows) -> Bundle:
    """The bundle with a calibration that the first half of the rows has fitted."""
    fitted = fit_calibration(load_classifier(exported, backend="onnx"), rows)
    return read_bundle(update_bundle(exported, calibration=fitted.to_dict()))


def measured(
    exported: Bundle, kind: Kind, facts: Facts, sets: dict[str, Rows]
) -> tuple[dict[str, Any], list[str]]:
    """The exported model on every set, without torch, and where it is weakest on dev."""
    found = {name: kind.evaluate(exported, rows) for name, rows in sets.items()}
    reports = {name: each.report() for name, each in found.items()}
    for name, report in reports.items():
        note(f"{name}: {facts.metric} {report[facts.metric]:.4f} on {report['n']:,} {kind.noun}")
    slices = found[facts.dev].slices(facts.slices) if facts.slices else []
    return {**exported.metrics, "sets": reports}, weakest(slices, facts.metric, facts.slices)


def weakest(slices: list[dict[str, Any]], metric: str, by: str) -> list[str]:
    """One line about the best and the worst slice, where two are large enough.

    >>> slices = [{"slice": "when", "n": 99, "f1": 0.8}, {"slice": "why", "n": 60, "f1": 0.5}]
    >>> weakest(slices, "f1", "question")
    ['By question, f1 on dev is 80.0 for when (99) and 50.0 for why (60).']
    """
    large = [part for part in slices if part["n"] >= FEWEST]
    if len(large) < 2:
        return []
    ordered = sorted(large, key=lambda part: -part[metric])
    best, worst = (
        f"{100 * part[metric]:.1f} for {part['slice']} ({part['n']:,})"
        for part in (ordered[0], ordered[-1])
    )
    return [f"By {by}, {metric} on dev is {best} and {worst}."]


def told(exported: Bundle, records: Path) -> list[str]:
    """What the card says of int8 and of the size."""
    export, base = exported.metrics["export"], exported.config.base
    size = folder_size(exported.path) - folder_size(exported.path / RECORDS) + folder_size(records)
    judges = "tune" if exported.calibration else "dev"
    lines = [
        int8_line(export, f"rows of {judges}"),
        f"- Size: {size / 1e6:.2f} MB.",
    ]
    if base is not None:
        below = folder_size(resolve(base)) / 1e6
        lines.append(
            f"- The biLM is `{base}` ({below:.1f} MB), which comes with the package and is named "
            "by its fingerprint."
        )
    return lines


def card(made: Made) -> Card:
    """What there is to say."""
    metrics, facts, settings = made.metrics, made.facts, made.run.settings
    training, seeds = metrics.get("training", {}), metrics["seeds"]
    vectors = ", ".join(Path(name).name for name in settings.get("vectors") or ())
    shown = ", ".join(f"{seed}: {figure:.4f}" for seed, figure in seeds["runs"].items())
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(),
        training={
            "recipe": settings.get("name", facts.name),
            **({"pretrained vectors": vectors} if vectors else {}),
            **facts.training,
            "shipped seed": f"{made.run.seed}, the best on {metrics['tune']['n']:,} rows of train "
            "that were held back; never chosen by dev",
            f"{facts.metric} on dev of all seeds, float32": shown,
            "epochs": training.get("epochs", ""),
            "best epoch": training.get("best_epoch", ""),
            "steps": training.get("steps", ""),
            "seconds": training.get("seconds", ""),
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=[*shipped_numbers(made), *seed_numbers(made)],
        limits=[*facts.limits, *made.weakest],
    )


def shipped_numbers(made: Made) -> list[CardNumber]:
    """Every figure of the model as it is shipped."""
    found = []
    for data, report in made.metrics["sets"].items():
        for metric in (made.facts.metric, *made.facts.numbers):
            bounds = report.get(f"{metric}_interval")
            found.append(
                CardNumber(
                    metric=metric,
                    value=report[metric],
                    n=report["n"],
                    data=f"{data}, {made.metrics['export']['precision']}",
                    interval=(bounds[0], bounds[1]) if bounds else None,
                )
            )
    return found


def seed_numbers(made: Made) -> list[CardNumber]:
    """The mean of the seeds, where there are several."""
    seeds, facts = made.metrics["seeds"], made.facts
    count, span = len(seeds["runs"]), f"{seeds['min']:.4f} to {seeds['max']:.4f}"
    if count == 1:
        return []
    return [
        CardNumber(
            metric=f"{facts.metric}, mean of {count} seeds, float32 ({span})",
            value=seeds["mean"],
            n=made.metrics["dev"]["n"],
            data=facts.dev,
        )
    ]
