"""Measure the seeds of a recipe, and the one of them that is shipped, as it will answer."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from dev_rows import Halves
from figures import (
    Answers,
    Say,
    accuracies,
    answer,
    by_source,
    calibration_errors,
    error_by_chance,
    spread,
    with_interval,
)
from probes import ProbeResult, run_probes
from seeds import SeedRun

from softquery.answers import Calibration
from softquery.bundle import RECORDS, read_bundle
from softquery.export import export_matcher
from softquery.files import Row
from softquery.measure import MatchReport
from softquery.runtime import Matcher, load
from softquery.runtime.calibrate import Aim, CalibrationFit, fit_calibration, save_calibration
from softquery.zoo.glance import folder_size


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
    fitted = fit_calibration(matcher, halves.ordered, aim=aim)
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
    metrics["calibration"] = {**fitted.facts, "ece_by_chance": error_by_chance(scaled)}
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
