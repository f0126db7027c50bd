"""Make a shipped matcher: measure its seeds on every set, and the chosen one as it will answer.

Rows have the columns sentence1, sentence2, label and source. Every set's first half of dev fits the
calibration, its second half measures it.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from dev_answers import (
    Answers,
    Halves,
    Say,
    accuracies,
    answer,
    by_source,
    calibration_errors,
    read_dev,
    skewed_sets,
    sources_of,
    split_halves,
    spread,
    with_interval,
)
from facts import Facts
from matcher_card import matcher_card
from probes import FOLDER, ProbeResult, read_probes, run_probes
from runs import SeedRun, differing_settings, read_runs
from shipment import Check, Shipment, gate_check, keep_records

from softquery.answers import Calibration
from softquery.bundle import RECORDS, make_card, read_bundle
from softquery.cli.terminal.console import note, print_table
from softquery.errors import MissingExtra
from softquery.export import export_matcher
from softquery.files import Row, find_split
from softquery.measure import MatchReport, chance_calibration_error, weigh_alike
from softquery.runtime import Matcher, load
from softquery.runtime.calibrate import Aim, CalibrationFit, fit_calibration, save_calibration
from softquery.zoo.glance import folder_size

WORST_ECE, WORST_SET_ECE = 0.02, 0.06


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What computes, and who is told of it."""

    threads: int | None = None
    device: str | None = None
    """For the seeds in float32, by torch; None for ONNX Runtime."""
    say: Say = print


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredSeed:
    """A run in float32."""

    run: SeedRun
    tune: float
    """Its accuracy on held-back training pairs."""
    dev: Answers

    @property
    def accuracy(self) -> float:
        """On all dev rows."""
        return float(self.dev.right().mean())


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredExport:
    """An exported bundle and all that was found out about it."""

    folder: Path
    fitted: CalibrationFit
    metrics: dict[str, Any]
    sources: dict[str, dict[str, Any]]
    probes: list[ProbeResult]


def make_matcher(facts: Facts, options: argparse.Namespace, scratch: Path) -> Shipment:
    """Measure every seed on dev, export the best on tune, calibrate it and probe its limits."""
    runs = read_runs(options.runs, kind=facts.kind, labels=facts.labels)
    halves = split_halves(read_dev(find_split(options.data, "dev")))
    tune = read_dev(find_split(options.data, "tune"))
    probes = read_probes(options.probes or FOLDER / f"{facts.name}.tsv")
    for line in [*skewed_sets(halves), *differing_settings(runs)]:
        note(f"warning: {line}")
    machine = Machine(threads=options.threads, device=options.device, say=note)
    seeds = [measure_seed(run, tune, halves, machine) for run in runs]
    best = max(seeds, key=lambda seed: seed.tune)
    note(f"seed {best.run.seed} is the best on the held-back pairs and will be shipped")
    exported = measure_export(
        best, scratch / "exported", halves, probes, machine, gate=options.gate, aim=options.aim
    )
    metrics = {
        **exported.metrics,
        "sources": source_figures(seeds, exported, halves),
        "seeds": seed_figures(seeds, best, len(tune)),
        "probes": {each.kind: each.to_dict() for each in exported.probes},
    }
    calibration = exported.fitted.to_dict()
    card = matcher_card(facts, metrics, best.run, exported.probes)
    records = keep_records(best.run.bundle, scratch / RECORDS, best.run.settings)
    draw_calibration(exported.fitted, records)
    return Shipment(
        exported=read_bundle(exported.folder),
        metrics=metrics,
        card=make_card(card, kind=facts.kind, calibration=calibration),
        records=records,
        checks=[
            gate_check(metrics["int8"]),
            calibration_check(metrics, exported.fitted),
            worst_set_check(exported.fitted),
        ],
        calibration=calibration,
    )


def draw_calibration(fitted: CalibrationFit, folder: Path) -> None:
    """The picture of the calibration, where it can be drawn."""
    try:
        from softquery.explain.plots import draw_reliability

        draw_reliability(fitted.before, fitted.after, folder / "reliability.png")
    except MissingExtra as error:
        note(str(error))


def calibration_check(metrics: dict[str, Any], fitted: CalibrationFit) -> Check:
    """Whether probabilities mean what they say."""
    error, chance = fitted.facts["ece_after"], metrics["calibration"]["ece_by_chance"]
    return Check(
        what=f"ECE at most {WORST_ECE:g}, pooled, every set counting alike",
        found=f"{error:.4f} on {fitted.facts['measured_on']:,} rows (by chance {chance:.4f})",
        passed=error <= WORST_ECE,
    )


def worst_set_check(fitted: CalibrationFit) -> Check:
    """Whether probabilities mean what they say in every set, as far as its few rows can show."""
    sets, worst = fitted.facts["sources"], fitted.facts["worst_source"]
    return Check(
        what=f"ECE at most {WORST_SET_ECE:g} in every set, or what chance alone would show",
        found=f"{worst}: {fitted.facts['worst_ece']:.4f} "
        f"(by chance {sets[worst]['ece_by_chance']:.4f})",
        passed=all(
            part["ece_after"] <= max(WORST_SET_ECE, part["ece_by_chance"]) for part in sets.values()
        ),
    )


def show_matcher(metrics: dict[str, Any]) -> None:
    """A row a kind of probe, and a row a set, for people."""
    columns = ("probes", "n", "accuracy", "wrong", "of them sure")
    probes = metrics["probes"].items()
    rows = [
        (kind, *(part[key] for key in ("n", "accuracy", "wrong", "wrong_and_sure")))
        for kind, part in probes
    ]
    print_table("probes", columns, rows)
    columns = ("set", "n", "seeds, mean", "min", "max", "shipped", "2nd half", "int8 lost", "ECE")
    rows = [
        (
            name,
            part["n"],
            *(part["seeds"][key] for key in ("mean", "min", "max")),
            part["shipped"]["accuracy"],
            part["second_half"]["accuracy"],
            part["int8_lost_points"],
            part["ece_after"],
        )
        for name, part in metrics["sources"].items()
    ]
    print_table("accuracy and calibration by set", columns, rows)


def measure_seed(
    run: SeedRun, tune: Sequence[Row], halves: Halves, machine: Machine
) -> MeasuredSeed:
    """A seed's accuracy on the held-back training pairs, and its answers to dev."""
    with tempfile.TemporaryDirectory() as scratch:
        matcher = _float32(run, Path(scratch) / "float32", machine)
        held_back = answer(matcher, tune, machine.say, f"seed {run.seed}, tune")
        dev = answer(matcher, halves.ordered, machine.say, f"seed {run.seed}, dev")
    found = MeasuredSeed(run=run, tune=float(held_back.right().mean()), dev=dev)
    machine.say(f"seed {run.seed}: tune {found.tune:.4f}, dev {found.accuracy:.4f}")
    return found


def _float32(run: SeedRun, folder: Path, machine: Machine) -> Matcher:
    """On the device that was named, else on ONNX Runtime, far faster than torch on a CPU."""
    if machine.device is not None:
        return load(
            run.bundle.path, backend="torch", device=machine.device, threads=machine.threads
        )
    export_matcher(run.bundle, folder)
    return load(folder, backend="onnx", threads=machine.threads)


def measure_export(
    seed: MeasuredSeed,
    folder: Path,
    halves: Halves,
    probes: Sequence[Row],
    machine: Machine,
    *,
    gate: float,
    aim: Aim | None,
) -> MeasuredExport:
    """Export a run to a new folder, calibrate it on the first halves, measure and probe it."""
    machine.say("exporting, int8 behind the gate")
    bundle = seed.run.bundle
    report = export_matcher(bundle, folder, int8=True, limit=gate, rows=halves.second)
    matcher = load(folder, backend="onnx", threads=machine.threads)
    answers = answer(matcher, halves.ordered, machine.say, "as exported, dev")
    machine.say("calibrating on every set's first half")
    sources = sources_of(halves.ordered)
    fitted = fit_calibration(matcher, halves.ordered, aim=aim, sources=sources)
    save_calibration(matcher.bundle, fitted)
    matcher = load(folder, backend="onnx", threads=machine.threads)
    shutil.rmtree(folder / RECORDS, ignore_errors=True)
    metrics: dict[str, Any] = {
        **read_bundle(folder).metrics,
        "dev": pooled_report(answers, fitted.calibration, matcher.labels),
        "int8": {
            **(asdict(report.gate) if report.gate else {}),
            "size_mb": folder_size(folder) / 1e6,
        },
    }
    if len(matcher.labels) == 2:
        metrics["order"] = order_figures(matcher, answers.part(len(halves.first)), machine.say)
    scaled = fitted.calibration.probabilities(answers.part(len(halves.first)).logits)
    alike = weigh_alike(np.unique(sources_of(halves.second), return_inverse=True)[1])
    chance = chance_calibration_error(scaled, weights=alike)
    metrics["calibration"] = {**fitted.facts, "ece_by_chance": chance}
    machine.say("probing")
    return MeasuredExport(
        folder=folder,
        fitted=fitted,
        metrics=metrics,
        sources=export_figures(answers, seed.dev, fitted.calibration, halves),
        probes=run_probes(matcher, probes),
    )


def export_figures(
    answers: Answers, float32: Answers, calibration: Calibration, halves: Halves
) -> dict[str, dict[str, Any]]:
    """For every set: accuracy as shipped, what int8 cost, and how far probabilities are off."""
    half = len(halves.first)
    right = answers.right(calibration)
    second = by_source(halves.second)
    errors = calibration_errors(answers.part(half), calibration)
    # By the likeliest label on both sides, so that a threshold is not mistaken for int8's doing.
    before = accuracies(answers.rows, float32.right())
    after = accuracies(answers.rows, answers.right())
    return {
        name: {
            "n": len(places),
            "shipped": with_interval(right[places]),
            "second_half": with_interval(right[half:][second[name]]),
            "int8_lost_points": 100 * (before[name] - after[name]),
            **errors[name],
        }
        for name, places in by_source(answers.rows).items()
    }


def pooled_report(
    answers: Answers, calibration: Calibration, labels: Sequence[str]
) -> dict[str, Any]:
    """What `evaluate` would say of all dev rows."""
    table = calibration.probabilities(answers.logits)
    predicted = calibration.decide(table)
    return MatchReport.of(answers.gold, table, labels, predicted=predicted).to_dict()


def order_figures(matcher: Matcher, answers: Answers, say: Say) -> dict[str, Any]:
    """How many labels stay when the two sentences change places."""
    swapped = [replace(row, values=_swapped(row.values)) for row in answers.rows]
    turned = answer(matcher, swapped, say, "sentences swapped, second half of dev")
    labels = [
        matcher.decide(matcher.calibration.probabilities(logits))
        for logits in (answers.logits, turned.logits)
    ]
    return {"same_label": float(np.mean(labels[0] == labels[1])), "n": len(swapped)}


def _swapped(values: dict[str, str]) -> dict[str, str]:
    return {**values, "sentence1": values["sentence2"], "sentence2": values["sentence1"]}


def source_figures(
    seeds: Sequence[MeasuredSeed], exported: MeasuredExport, halves: Halves
) -> dict[str, dict[str, Any]]:
    """For every set: the seeds in float32, then what was measured of the shipped one."""
    half = len(halves.first)
    whole = [accuracies(halves.ordered, seed.dev.right()) for seed in seeds]
    second = [accuracies(halves.second, seed.dev.right()[half:]) for seed in seeds]
    return {
        name: {
            "n": part["n"],
            "seeds": {
                **spread([each[name] for each in whole]),
                "runs": {
                    seed.run.seed: each[name] for seed, each in zip(seeds, whole, strict=True)
                },
            },
            "seeds_second_half": spread([each[name] for each in second]),
            **part,
        }
        for name, part in exported.sources.items()
    }


def seed_figures(
    seeds: Sequence[MeasuredSeed], best: MeasuredSeed, num_tune: int
) -> dict[str, Any]:
    """Each seed on tune and on all of dev, and which one was taken."""
    return {
        "shipped": best.run.seed,
        "tune_n": num_tune,
        "dev": spread([seed.accuracy for seed in seeds]),
        "runs": {seed.run.seed: {"tune": seed.tune, "dev": seed.accuracy} for seed in seeds},
    }
