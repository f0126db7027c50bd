"""Make a shipped sentence encoder: take the exported student as it is, and write its card.

It comes exported and measured, by

    softquery export trained --output exported --int8 --data PAIRS
    python benchmarks embed quality --data DATA --model NAME=exported --output quality.json

What was measured must be the very files that are shipped; the benchmark's fingerprint says so.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from facts import Facts
from pretrained import read_export
from runs import SETTINGS, read_settings
from shipment import Check, Shipment, gate_check, int8_line, keep_records

from softquery.bundle import (
    RECORDS,
    Bundle,
    Card,
    CardNumber,
    is_research_only,
    make_card,
    with_section,
)
from softquery.errors import BundleError, InputError
from softquery.files import fingerprint

METRICS = {"spearman": "Spearman's correlation", "auc": "AUC", "accuracy": "accuracy"}
FIRST = "first_answer"


def make_sentence_encoder(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Write the card of an exported student, with what the benchmark found of it."""
    if len(options.runs) != 1:
        raise InputError(f"{facts.name} is made of one run, got {len(options.runs)}")
    if options.figures is None:
        raise InputError(f"{facts.name} is measured by a benchmark: name its results by --figures")
    exported = read_export(options.runs[0], facts.kind)
    measured = read_figures(options.figures, facts.name, exported)
    metrics = {**exported.metrics, "quality": measured}
    card = make_card(sentence_card(facts, exported, measured), kind=facts.kind)
    told = int8_line(metrics["export"], "pairs")
    return Shipment(
        exported=exported,
        metrics=metrics,
        card=with_section(card, "Export", [told]),
        records=keep_records(exported, scratch / RECORDS, read_settings(exported)),
        checks=[gate_check(metrics["export"]["gate"], counted="pairs"), free_check(facts)],
    )


def free_check(facts: Facts) -> Check:
    """Whether anybody may use it for anything, and all of its data allow that."""
    licences = [facts.licence, *(str(part["licence"]) for part in facts.data)]
    kept = sorted({licence for licence in licences if is_research_only(licence)})
    return Check(what="free for any use", found=", ".join(kept) or facts.licence, passed=not kept)


def read_figures(path: Path, name: str, exported: Bundle) -> dict[str, Any]:
    """The benchmark's figures of these very files, by width; the whole vectors come first."""
    try:
        model = json.loads(path.read_text("utf-8"))["models"][name]
        found, widths = model["fingerprint"], dict(model["widths"])
        whole = {key: dict(widths[key]) for key in sorted(widths, key=int, reverse=True)}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"has no figures of {name} ({error!r})", source=path) from None
    files = [exported.path / "config.json", exported.weights_path]
    if found != fingerprint(files):
        raise BundleError(f"{exported.path}: is not what {path} has figures of")
    return whole


def sentence_card(facts: Facts, exported: Bundle, measured: Mapping[str, Any]) -> Card:
    """What there is to say of a sentence encoder."""
    training, sizes = exported.metrics["training"], exported.config.model["config"]
    return Card(
        name=facts.name,
        purpose=facts.purpose,
        languages=facts.languages,
        licence=facts.licence,
        data=facts.card_data(training),
        training={
            "teacher": facts.training["teacher"],
            "model": facts.training["model"],
            "sub-words": sizes["vocab_size"],
            "width of a vector": sizes["output_size"],
            "also cut at": ", ".join(map(str, exported.config.task["prefixes"])),
            "seed": training["seed"],
            "passes over the texts": training["epochs"],
            "seconds": f"{training['seconds']} {facts.training['machine']}",
            "all settings": f"{RECORDS}/{SETTINGS}",
        },
        numbers=quality_numbers(measured),
        limits=facts.limits,
    )


def quality_numbers(measured: Mapping[str, Any]) -> list[CardNumber]:
    """Pairs at every width; first answers of the whole vectors."""
    numbers = []
    whole = next(iter(measured))
    for width, figures in measured.items():
        cut = "" if width == whole else f", first {width} numbers"
        for name, found in figures["pairs"].items():
            numbers += [
                CardNumber(metric=said + cut, value=found[metric], n=found["n"], data=f"{name} dev")
                for metric, said in METRICS.items()
                if metric in found
            ]
    numbers += [
        CardNumber(metric="nearest stored row has the right intent", value=found[FIRST],
                   n=found["n"], data=name)
        for name, found in measured[whole]["intents"].items()
    ]  # fmt: skip
    return numbers
