r"""Turn runs of `translate-de-en` or `couplet-zh` into the bundle that is shipped.

    python shipped/finish_writer.py translate-de-en --runs RUN-1 RUN-2 --facts facts.json \
        --gate-data dev.tsv --dev tatoeba=dev.tsv --dev multi30k=dev_multi30k.tsv \
        --output src/softquery/zoo/models/translate-de-en

picks the run that is best on what it held back, exports it with int8 behind the gate, measures the
exported bundle on every dev set without torch, and writes bundle and card. Exits with 1 where the
model is too large, int8 too costly or a couplet breaks its form, and with 2 where the input cannot
be used.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_facts import Facts, read_facts
from placing import (
    Check,
    gate_check,
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
    with_section,
)
from softquery.cli.console import note
from softquery.errors import InputError
from softquery.export import export_generator
from softquery.files import Row, read_rows
from softquery.runtime import load_generator
from softquery.runtime.generate.evaluate import evaluate_generator
from softquery.zoo.glance import folder_size


@dataclass(frozen=True, kw_only=True, slots=True)
class Shipped:
    """What is known of a model before it is measured."""

    purpose: str
    languages: tuple[str, ...]
    largest_mb: float
    beam: int
    numbers: tuple[str, ...]
    limits: tuple[str, ...]


MODELS = {
    "translate-de-en": Shipped(
        purpose="Translates short German texts into English.",
        languages=("de", "en"),
        largest_mb=5.0,
        beam=5,
        numbers=("bleu", "bleu_greedy", "chrf", "perplexity"),
        limits=(
            "A small model for short, plain sentences: it has seen everyday phrases, captions and "
            "little else. Long, technical or literary text is beyond it.",
            "One sentence at a time: it knows nothing of the sentence before.",
            "Names and numbers are spelt piece by piece, and may be spelt wrongly.",
            "Perplexity is per piece of a word, the end included, and compares with no other "
            "vocabulary's.",
        ),
    ),
    "couplet-zh": Shipped(
        purpose="Answers the upper line of a Chinese couplet (对联) with a lower line of the same "
        "form.",
        languages=("zh",),
        largest_mb=5.0,
        beam=8,
        numbers=(
            "perplexity", "ranked_first", "mean_reciprocal_rank", "same_length", "same_signs",
            "repeats_rightly", "opposite_ends",
        ),
        limits=(
            "Form is kept by rules while a line is searched for; sense is not: lines may be "
            "elegant nonsense.",
            "Tones are those of modern Mandarin, one for each character; entering tones are not "
            "told apart.",
            "ranked_first is the share of dev lines that fit their upper line better than nine "
            "others of the same length and signs, drawn by a seed: likelier by more there than "
            "after other upper lines, and foretelling the upper line better.",
            "Traditional characters are read as simplified ones, and only those are written.",
        ),
    ),
}  # fmt: skip
EXACT = ("same_length", "same_signs")
"""Rules that every couplet must keep."""


def finish(options: argparse.Namespace) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough."""
    refuse_existing(options.output, replace=options.replace)
    model, facts = MODELS[options.name], read_facts(options.facts, options.licence)
    runs = read_runs(options.runs, kind="generator")
    for line in differing_settings(runs):
        note(f"warning: {line}")
    sets = {name: _rows(path) for name, path in options.dev}
    gated = _rows(options.gate_data)
    best = max(runs, key=_steered)
    note(f"seed {best.seed} is the best on what was held back and will be shipped")
    with tempfile.TemporaryDirectory() as scratch:
        report = export_generator(
            best.bundle, Path(scratch) / "exported", int8=True, limit=options.gate, rows=gated
        )
        note(f"exported: {report.precision}, {report.size_bytes / 1e6:.2f} MB")
        exported = read_bundle(report.bundle)
        metrics = {
            **exported.metrics,
            "sets": {name: _measured(exported, rows, model.beam) for name, rows in sets.items()},
            "seeds": {run.seed: run.bundle.metrics["dev"] for run in runs},
        }
        _write(options, exported, metrics, facts, best, Path(scratch) / RECORDS)
    return metrics, checks(folder_size(options.output), metrics, model)


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


def _write(
    options: argparse.Namespace,
    exported: Bundle,
    metrics: dict[str, Any],
    facts: Facts,
    run: SeedRun,
    records: Path,
) -> None:
    """Put the bundle into its place, whole or not at all, and only with the records it needs."""
    told = exported.card.partition("## Export\n")[2].strip().splitlines()
    made = make_card(card(options.name, metrics, facts, run), kind="generator")
    put_in_place(
        options.output,
        exported,
        metrics=metrics,
        card=with_section(made, "Export", told),
        records=keep_records(run.bundle, records, run.settings),
        replace=options.replace,
    )


def card(name: str, metrics: dict[str, Any], facts: Facts, run: SeedRun) -> Card:
    """What there is to say."""
    model, training = MODELS[name], metrics.get("training", {})
    sizes = run.bundle.config.model["config"]
    seeds = metrics["seeds"]
    shown = ", ".join(f"{seed}: {_figure(dev)}" for seed, dev in seeds.items())
    return Card(
        name=name,
        purpose=model.purpose,
        languages=list(model.languages),
        licence=facts.licence,
        data=facts.data,
        training={
            "recipe": run.settings.get("name", name),
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
            for metric in model.numbers
            if found.get(metric) is not None
        ],
        limits=[
            *model.limits,
            *(_signature(metrics) if "bleu" in model.numbers else []),
            *facts.limits,
        ],
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


def checks(size_bytes: int, metrics: dict[str, Any], model: Shipped) -> list[Check]:
    """What must hold."""
    found = [size_check(size_bytes, model.largest_mb), gate_check(metrics["export"]["gate"])]
    return found + [
        Check(what=f"{data}: {rule}", found=f"{each[rule]:.2%}", passed=each[rule] == 1.0)
        for data, each in metrics["sets"].items()
        for rule in EXACT
        if rule in each
    ]


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="trained bundles")
    parser.add_argument("--facts", type=Path, required=True, help="JSON, see data_facts.py")
    parser.add_argument("--gate-data", type=Path, required=True, help="rows for the int8 gate")
    parser.add_argument("--dev", type=named, action="append", required=True, help="NAME=FILE")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--licence", help="of the weights; by default what the facts say")
    parser.add_argument("--gate", type=float, help="what int8 may cost; by default the usual")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse, finish and print."""
    return run_script(finish, options_of())


if __name__ == "__main__":
    sys.exit(main())
