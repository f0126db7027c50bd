r"""Turn bundles of one recipe, trained with different seeds, into the one that is shipped.

    python shipped/finish.py match-en --seeds RUN-1 RUN-2 RUN-3 --dev dev.jsonl --tune tune.jsonl \
        --data-facts facts.json --output src/softquery/zoo/models/match-en

measures every seed on dev, picks one by the held-back training pairs, exports it with int8 behind
the gate, calibrates it, probes its limits, and writes bundle and card. Rows have the columns
sentence1, sentence2, label and source. Every set's first half of dev fits the calibration, its
second half measures it. Exits with 1 where the model is too large, int8 too costly or the
calibration too far off, and with 2 where the input cannot be used.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from data_facts import Facts, read_facts
from dev_rows import read_dev, skewed_sets, split_halves
from placing import (
    Check,
    gate_check,
    keep_records,
    put_in_place,
    refuse_existing,
    run_script,
    show_checks,
    size_check,
)
from probes import FOLDER, read_probes, show
from seeds import LABELS, SeedRun, differing_settings, read_seeds
from shipped_card import make_shipped_card
from shipping import (
    Machine,
    MeasuredExport,
    measure_export,
    measure_seed,
    seed_figures,
    source_figures,
)

from softquery.bundle import RECORDS, make_card, read_bundle
from softquery.cli.console import note, print_table
from softquery.errors import MissingExtra
from softquery.runtime.match.calibrate import Aim, CalibrationFit
from softquery.zoo.glance import folder_size

LARGEST_MB = 15.0
WORST_ECE = 0.02


def finish(options: argparse.Namespace) -> tuple[dict[str, Any], list[Check]]:
    """Do all of it; the metrics that were written, and whether they are good enough."""
    refuse_existing(options.output, replace=options.replace)
    facts = read_facts(options.data_facts, options.licence)
    runs = read_seeds(options.name, options.seeds)
    halves, tune = split_halves(read_dev(options.dev)), read_dev(options.tune)
    probes = read_probes(options.probes or FOLDER / f"{options.name}.tsv")
    for line in [*skewed_sets(halves), *differing_settings(runs)]:
        note(f"warning: {line}")
    machine = Machine(threads=options.threads, device=options.device, say=note)
    seeds = [measure_seed(run, tune, halves, machine) for run in runs]
    best = max(seeds, key=lambda seed: seed.tune)
    note(f"seed {best.run.seed} is the best on the held-back pairs and will be shipped")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "exported"
        exported = measure_export(
            best, folder, halves, probes, machine, gate=options.gate, aim=options.aim
        )
        metrics = {
            **exported.metrics,
            "sources": source_figures(seeds, exported, halves),
            "seeds": seed_figures(seeds, best, len(tune)),
            "probes": {each.kind: each.to_dict() for each in exported.probes},
        }
        write(options, exported, metrics, facts, best.run)
    if not options.json:
        show(exported.probes, "probes")
    return metrics, checks(folder_size(options.output), metrics, exported.fitted)


def write(
    options: argparse.Namespace,
    exported: MeasuredExport,
    metrics: dict[str, Any],
    facts: Facts,
    run: SeedRun,
) -> None:
    """Put the bundle into its place, whole or not at all, and only with the records it needs."""
    bundle = read_bundle(exported.folder)
    calibration = exported.fitted.to_dict()
    card = make_shipped_card(options.name, metrics, facts, run, exported.probes)
    records = keep_records(run.bundle, exported.folder.parent / RECORDS, run.settings)
    draw_calibration(exported.fitted, records)
    put_in_place(
        options.output,
        bundle,
        metrics=metrics,
        card=make_card(card, kind=bundle.config.kind, calibration=calibration),
        calibration=calibration,
        records=records,
        replace=options.replace,
    )


def draw_calibration(fitted: CalibrationFit, folder: Path) -> None:
    """The picture of the calibration, where it can be drawn."""
    try:
        from softquery.explain.plots import draw_reliability

        draw_reliability(fitted.before, fitted.after, folder / "reliability.png")
    except MissingExtra as error:
        note(str(error))


def checks(size_bytes: int, metrics: dict[str, Any], fitted: CalibrationFit) -> list[Check]:
    """What must hold."""
    error, chance = fitted.facts["ece_after"], metrics["calibration"]["ece_by_chance"]
    return [
        size_check(size_bytes, LARGEST_MB),
        gate_check(metrics["int8"]),
        Check(
            what=f"ECE at most {WORST_ECE:g}, pooled",
            found=f"{error:.4f} on {fitted.facts['measured_on']:,} rows (by chance {chance:.4f})",
            passed=error <= WORST_ECE,
        ),
    ]


def show_summary(metrics: dict[str, Any], found: list[Check]) -> None:
    """Tables for people."""
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
    show_checks(found)


def parse_aim(text: str) -> Aim:
    """`f1`, or a precision to keep such as 0.95."""
    return "f1" if text == "f1" else float(text)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=LABELS)
    parser.add_argument("--seeds", type=Path, nargs="+", required=True, help="trained bundles")
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--tune", type=Path, required=True, help="held-back training pairs")
    parser.add_argument("--data-facts", type=Path, required=True, help="JSON, see data_facts.py")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--replace", action="store_true", help="an older bundle gives way")
    parser.add_argument("--licence", help="of the weights; by default what the facts say")
    parser.add_argument("--probes", type=Path, help="by default those of the name")
    parser.add_argument("--gate", type=float, default=0.5, help="points that int8 may cost")
    parser.add_argument("--aim", type=parse_aim, help="a threshold for f1, or for a precision")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", help="for the seeds in float32 by torch, such as cuda")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> int:
    """Parse, finish and print."""
    return run_script(finish, options_of(), show_summary)


if __name__ == "__main__":
    sys.exit(main())
