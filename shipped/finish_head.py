r"""Turn seeds of `sentiment-en`, `read-en` or `tagger-en` into the bundle that is shipped.

    python shipped/finish_head.py sentiment-en --seeds seed-1 seed-2 seed-3 --data DATA/sentiment \
        --also "opinions with a no, of new words=DATA/sentiment/negated.jsonl" \
        --output src/softquery/zoo/models/sentiment-en
    python shipped/finish_head.py read-en --seeds seed-1 seed-2 seed-3 --data DATA/squad1.1 \
        --also "SQuAD 1.1 dev, 34 more articles=DATA/squad1.1/dev_articles_34.json.xz" \
        --output src/softquery/zoo/models/read-en

picks the seed that is best on what it held back, exports it with int8 behind the gate, measures the
exported bundle on dev and on what else is named, without torch, and writes bundle and card. A
classifier is judged by tune at the gate, and calibrated on its first half. DATA has the train and
dev, and the tune of a classifier, that the seeds were trained with. Exits with 1 where the model is
too large or int8 too costly, and with 2 where the input cannot be used.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_facts import Facts, read_facts
from figures import spread
from heads import HEADS, KINDS, Head, Kind, Rows
from placing import (
    Check,
    gate_check,
    int8_line,
    keep_records,
    named,
    put_in_place,
    refuse_existing,
    run_script,
    size_check,
)
from seeds import SETTINGS, SeedRun, differing_settings, read_runs

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
from softquery.cli.console import note
from softquery.errors import BundleError
from softquery.runtime import load_classifier
from softquery.runtime.calibrate import fit_calibration
from softquery.zoo import resolve
from softquery.zoo.glance import folder_size

FACTS = Path(__file__).parent / "facts"
FEWEST = 50
"""Rows of a slice of which something is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What the card is about."""

    name: str
    head: Head
    facts: Facts
    run: SeedRun
    metrics: dict[str, Any]
    weakest: list[str]


def finish(options: argparse.Namespace) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough."""
    refuse_existing(options.output, replace=options.replace)
    head = HEADS[options.name]
    kind = KINDS[head.kind]
    facts = read_facts(options.facts or FACTS / f"{options.name}.json")
    runs = read_heads(head, options.seeds)
    check_train(kind, options.data, facts)
    sets = {head.dev: kind.split(options.data, "dev")}
    sets |= {name: kind.file(path) for name, path in options.also}
    check_measured(runs, len(sets[head.dev]), kind.noun)
    held_back = kind.split(options.data, "tune") if head.kind == "classifier" else None
    for line in differing_settings(runs):
        note(f"warning: {line}")
    best = max(runs, key=lambda run: tuned(run, head.metric))
    note(f"seed {best.seed} is the best on what was held back and will be shipped")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "exported"
        limit = head.gate if options.gate is None else options.gate
        gated = held_back or sets[head.dev]
        kind.export(best.bundle, folder, int8=True, limit=limit, rows=gated)
        exported = read_bundle(folder)
        if held_back:
            exported = calibrated(exported, held_back)
        metrics, weakest = measured(exported, kind, head, sets)
        metrics["seeds"] = {
            "runs": {run.seed: run.bundle.metrics["dev"][head.metric] for run in runs},
            "shipped": best.seed,
            **spread([run.bundle.metrics["dev"][head.metric] for run in runs]),
        }
        made = Made(name=options.name, head=head, facts=facts, run=best, metrics=metrics,
                    weakest=weakest)  # fmt: skip
        records = keep_records(best.bundle, Path(scratch) / RECORDS, best.settings)
        text = make_card(card(made), kind=head.kind, calibration=exported.calibration)
        put_in_place(
            options.output,
            exported,
            metrics=metrics,
            card=with_section(text, "Export", told(exported, records)),
            calibration=exported.calibration,
            records=records,
            replace=options.replace,
        )
    size = folder_size(options.output)
    return metrics, [size_check(size, head.largest_mb), gate_check(metrics["export"]["gate"])]


def read_heads(head: Head, paths: list[Path]) -> list[SeedRun]:
    """The runs, after a check that they are of the model to be shipped and know their figures."""
    runs = read_runs(paths, kind=head.kind)
    for run in runs:
        labels = tuple(run.bundle.config.task.get("labels", ()))
        if head.labels and labels != head.labels:
            raise BundleError(f"{run.bundle.path}: expected the labels {head.labels}, got {labels}")
        for part in ("tune", "dev"):
            if not isinstance(run.bundle.metrics.get(part, {}).get(head.metric), float):
                raise BundleError(f"{run.bundle.path}: metrics.json has no {head.metric} on {part}")
    return runs


def tuned(run: SeedRun, metric: str) -> float:
    """How well the run does on what was held back."""
    figure: float = run.bundle.metrics["tune"][metric]
    return figure


def check_train(kind: Kind, data: Path, facts: Facts) -> None:
    """Say where the facts speak of another train than the one that is there."""
    there = len(kind.split(data, "train"))
    said = sum(part.rows for part in facts.data)
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
    exported: Bundle, kind: Kind, head: Head, sets: dict[str, Rows]
) -> tuple[dict[str, Any], list[str]]:
    """The exported model on every set, without torch, and where it is weakest on dev."""
    found = {name: kind.evaluate(exported, rows) for name, rows in sets.items()}
    reports = {name: each.report() for name, each in found.items()}
    for name, report in reports.items():
        note(f"{name}: {head.metric} {report[head.metric]:.4f} on {report['n']:,} {kind.noun}")
    slices = found[head.dev].slices(head.slices) if head.slices else []
    return {**exported.metrics, "sets": reports}, weakest(slices, head)


def weakest(slices: list[dict[str, Any]], head: Head) -> list[str]:
    """One line about the best and the worst slice, where two are large enough.

    >>> head = HEADS["read-en"]
    >>> weakest([{"slice": "when", "n": 99, "f1": 0.8}, {"slice": "why", "n": 60, "f1": 0.5}], head)
    ['By question, f1 on dev is 80.0 for when (99) and 50.0 for why (60).']
    """
    large = [part for part in slices if part["n"] >= FEWEST]
    if len(large) < 2:
        return []
    ordered = sorted(large, key=lambda part: -part[head.metric])
    best, worst = (
        f"{100 * part[head.metric]:.1f} for {part['slice']} ({part['n']:,})"
        for part in (ordered[0], ordered[-1])
    )
    return [f"By {head.slices}, {head.metric} on dev is {best} and {worst}."]


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
    metrics, head, settings = made.metrics, made.head, made.run.settings
    training, seeds = metrics.get("training", {}), metrics["seeds"]
    vectors = ", ".join(Path(name).name for name in settings.get("vectors") or ())
    shown = ", ".join(f"{seed}: {figure:.4f}" for seed, figure in seeds["runs"].items())
    return Card(
        name=made.name,
        purpose=head.purpose,
        languages=["en"],
        licence=made.facts.licence,
        data=made.facts.data,
        training={
            "recipe": settings.get("name", made.name),
            **({"pretrained vectors": vectors} if vectors else {}),
            **made.facts.training,
            "shipped seed": f"{made.run.seed}, the best on {metrics['tune']['n']:,} rows of train "
            "that were held back; never chosen by dev",
            f"{head.metric} on dev of all seeds, float32": shown,
            "epochs": training.get("epochs", ""),
            "best epoch": training.get("best_epoch", ""),
            "steps": training.get("steps", ""),
            "seconds": training.get("seconds", ""),
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=[*shipped_numbers(made), *seed_numbers(made)],
        limits=[*head.limits, *made.weakest, *made.facts.limits],
    )


def shipped_numbers(made: Made) -> list[CardNumber]:
    """Every figure of the model as it is shipped."""
    found = []
    for data, report in made.metrics["sets"].items():
        for metric in (made.head.metric, *made.head.numbers):
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
    seeds, head = made.metrics["seeds"], made.head
    count, span = len(seeds["runs"]), f"{seeds['min']:.4f} to {seeds['max']:.4f}"
    if count == 1:
        return []
    return [
        CardNumber(
            metric=f"{head.metric}, mean of {count} seeds, float32 ({span})",
            value=seeds["mean"],
            n=made.metrics["dev"]["n"],
            data=head.dev,
        )
    ]


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=HEADS)
    parser.add_argument("--seeds", type=Path, nargs="+", required=True, help="trained bundles")
    parser.add_argument("--data", type=Path, required=True, help="folder of train and dev")
    parser.add_argument("--also", type=named, action="append", default=[], help="NAME=FILE")
    parser.add_argument("--facts", type=Path, help="by default those of the name")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--gate", type=float, help="points that int8 may cost")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse, finish and print."""
    return run_script(finish, options_of())


if __name__ == "__main__":
    sys.exit(main())
