"""What a shipped model keeps of its training, and how its card tells of int8."""

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from softquery.errors import BundleError, ConfigError
from softquery.export import ExportReport

LEFT_BEHIND = ("tensorboard", "log.csv", "history.csv")
"""What training notes for itself alone."""
OWN_WORDS = ("name", "summary")
"""Settings that change no weight."""


def recipe_settings(
    found: Mapping[str, Any], wanted: Mapping[str, Any], *, aside: Collection[str] = ()
) -> dict[str, Any]:
    """A recipe's settings, if a run had the same ones.

    Args:
        found: Of the run, as `run.json` has them.
        wanted: Of the recipe.
        aside: Settings that may differ because something else vouches for them.

    >>> recipe_settings({"name": "mine", "seed": 1, "kept": "all"}, {"name": "ours", "seed": 1})
    {'name': 'ours', 'seed': 1}
    """
    plain: dict[str, Any] = json.loads(json.dumps(wanted))
    for key, value in plain.items():
        if key not in (*OWN_WORDS, *aside) and found.get(key) != value:
            raise ConfigError(
                f"{key} is not that of the recipe {plain['name']}: {found.get(key)} ≠ {value}"
            )
    return plain


def drop_leftovers(records: Path) -> None:
    """Remove what a shipped model needs no more."""
    for path in records.iterdir() if records.is_dir() else ():
        if path.name in LEFT_BEHIND:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def int8_line(report: ExportReport, measured_on: str) -> str:
    """What the card says of int8, which must have passed its gate."""
    gate = report.gate
    if gate is None or not gate.accepted:
        raise BundleError(f"{report.bundle}: int8 was refused ({gate})")
    return (
        f"- Weights: int8; {gate.metric} {gate.float32:.4f} as float32, {gate.int8:.4f} as int8, "
        f"on {gate.n:,} {measured_on}."
    )
