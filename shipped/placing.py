"""Putting a measured model into its place, and what must hold before it is shipped."""

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seeds import SETTINGS, without_paths

from softquery.bundle import RECORDS, Bundle, write_bundle
from softquery.cli.console import print_json, print_table
from softquery.errors import InputError, SoftqueryError
from softquery.files import write_json

GRAPHS = "onnx"
KEPT = ("curves.png",)
"""Records of training that a shipped model carries as they are; beside its settings, no others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Something that must hold before a model is shipped."""

    what: str
    found: str
    passed: bool


Finish = Callable[[argparse.Namespace], tuple[dict[str, Any], list[Check]]]


def refuse_existing(output: Path, *, replace: bool) -> None:
    """Nothing is overwritten unless that was said."""
    if output.exists() and not replace:
        message = "exists already; name another --output or say --replace"
        raise InputError(message, source=output)


def keep_records(bundle: Bundle, folder: Path, settings: Mapping[str, Any]) -> Path:
    """A new folder with the settings without this machine's paths, and the bundle's curves."""
    folder.mkdir()
    if settings:
        write_json(folder / SETTINGS, without_paths(settings))
    for name in KEPT:
        if (bundle.path / RECORDS / name).is_file():
            shutil.copy(bundle.path / RECORDS / name, folder / name)
    return folder


def put_in_place(
    output: Path,
    exported: Bundle,
    *,
    metrics: dict[str, Any],
    card: str,
    records: Path,
    calibration: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> None:
    """Write the bundle, whole or not at all, with what was found out about it."""
    source = exported.source_tokenizer_path
    write_bundle(
        output,
        config=exported.config,
        tokenizer_json=exported.tokenizer_path.read_text(encoding="utf-8"),
        weights=exported.read_weights(),
        metrics=metrics,
        card=card,
        calibration=calibration,
        source_tokenizer_json=None if source is None else source.read_text(encoding="utf-8"),
        graphs={path.name: path.read_bytes() for path in (exported.path / GRAPHS).iterdir()},
        records=records,
        replace=replace,
    )


def size_check(size_bytes: int, largest_mb: float) -> Check:
    """Whether a model is small enough."""
    return Check(
        what=f"size under {largest_mb:g} MB",
        found=f"{size_bytes / 1e6:.2f} MB",
        passed=size_bytes < 1e6 * largest_mb,
    )


def gate_check(gate: Mapping[str, Any], *, counted: str = "rows") -> Check:
    """Whether int8 was accepted, by so many rows or words."""
    return Check(
        what=f"int8 within {gate['limit_points']:g} of {gate['metric']}",
        found=f"{gate['lost_points']:+.3f} lost on {gate['n']:,} {counted}",
        passed=gate["accepted"],
    )


def int8_line(export: Mapping[str, Any], measured_on: str) -> str:
    """What a card says of int8, kept or not.

    >>> gate = {"metric": "f1", "float32": 0.75, "int8": 0.5, "n": 1200}
    >>> int8_line({"precision": "float32", "gate": gate}, "rows of dev")
    '- Weights: float32; f1 0.7500 as float32, 0.5000 as int8, on 1,200 rows of dev.'
    """
    gate = export["gate"]
    return (
        f"- Weights: {export['precision']}; {gate['metric']} {gate['float32']:.4f} as float32, "
        f"{gate['int8']:.4f} as int8, on {gate['n']:,} {measured_on}."
    )


def show_checks(found: Sequence[Check]) -> None:
    """A table for people."""
    verdicts = [(each.what, each.found, "pass" if each.passed else "FAIL") for each in found]
    print_table("must hold", ("check", "found", ""), verdicts)


def named(text: str) -> tuple[str, Path]:
    """NAME=FILE of a set of rows."""
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE, got {text!r}")
    return name, Path(path)


def run_script(
    finish: Finish,
    options: argparse.Namespace,
    show: Callable[[dict[str, Any], list[Check]], None] | None = None,
) -> int:
    """Finish and print: 0, 1 where something does not hold, 2 where the input cannot be used."""
    try:
        metrics, found = finish(options)
    except SoftqueryError as error:
        print(f"finish: {error}", file=sys.stderr)
        return 2
    if options.json:
        print_json({"metrics": metrics, "checks": [asdict(each) for each in found]})
    elif show is not None:
        show(metrics, found)
    else:
        show_checks(found)
    failed = [f"{each.what}: {each.found}" for each in found if not each.passed]
    for line in failed:
        print(f"finish: not good enough, {line}", file=sys.stderr)
    return 1 if failed else 0
