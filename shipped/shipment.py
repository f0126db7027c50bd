"""A measured model, what must hold before it is shipped, and how it gets into its place."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runs import SETTINGS, without_paths

from softquery.bundle import RECORDS, Bundle, write_bundle
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Shipment:
    """A model that is ready to be put into its place."""

    exported: Bundle
    metrics: dict[str, Any]
    card: str
    records: Path
    checks: list[Check]
    """What must hold, the size aside."""
    calibration: Mapping[str, Any] | None = None


def keep_records(bundle: Bundle, folder: Path, settings: Mapping[str, Any]) -> Path:
    """A new folder with the settings without this machine's paths, and the bundle's curves."""
    folder.mkdir()
    if settings:
        write_json(folder / SETTINGS, without_paths(settings))
    for name in KEPT:
        if (bundle.path / RECORDS / name).is_file():
            shutil.copy(bundle.path / RECORDS / name, folder / name)
    return folder


def put_in_place(output: Path, made: Shipment, *, replace: bool = False) -> None:
    """Write the bundle, whole or not at all, with what was found out about it."""
    exported = made.exported
    source = exported.source_tokenizer_path
    write_bundle(
        output,
        config=exported.config,
        tokenizer_json=exported.tokenizer_path.read_text(encoding="utf-8"),
        weights=exported.read_weights(),
        metrics=made.metrics,
        card=made.card,
        calibration=made.calibration,
        source_tokenizer_json=None if source is None else source.read_text(encoding="utf-8"),
        graphs={path.name: path.read_bytes() for path in (exported.path / GRAPHS).iterdir()},
        records=made.records,
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
