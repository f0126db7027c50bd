"""Putting a measured model into its place, and what must hold before it is shipped."""

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seeds import SETTINGS, SeedRun, without_paths

from softquery.bundle import RECORDS, Bundle, write_bundle
from softquery.cli.console import print_json, print_table
from softquery.errors import InputError, SoftqueryError
from softquery.files import write_json

GRAPHS = "onnx"
KEPT = ("curves.png",)
"""Records of training that a shipped model carries as they are."""


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


def keep_records(run: SeedRun, folder: Path) -> Path:
    """A new folder with the settings without this machine's paths, and the curves."""
    folder.mkdir()
    if run.settings:
        write_json(folder / SETTINGS, without_paths(run.settings))
    for name in KEPT:
        if (run.bundle.path / RECORDS / name).is_file():
            shutil.copy(run.bundle.path / RECORDS / name, folder / name)
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
    write_bundle(
        output,
        config=exported.config,
        tokenizer_json=exported.tokenizer_path.read_text(encoding="utf-8"),
        weights=exported.read_weights(),
        metrics=metrics,
        card=card,
        calibration=calibration,
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


def gate_check(gate: Mapping[str, Any]) -> Check:
    """Whether int8 was accepted."""
    return Check(
        what=f"int8 within {gate['limit_points']:g} of {gate['metric']}",
        found=f"{gate['lost_points']:+.3f} lost on {gate['n']:,} rows",
        passed=gate["accepted"],
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
