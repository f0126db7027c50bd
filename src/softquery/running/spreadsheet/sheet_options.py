"""What a run on a file is given, and what it hands to the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softquery.recipes.few_labels import TuningRule
from softquery.running.run_options import Say
from softquery.running.spreadsheet.held_out import HeldOut
from softquery.running.spreadsheet.sheet import Given

if TYPE_CHECKING:
    from softquery.training import Observer

TASKS = ("classify", "match", "tag")
"""Reserved in place of a recipe's name: runs on a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SheetOptions:
    """Where a run on a file reads and writes, and what a user decides about it."""

    task: str
    """One of `TASKS`."""
    data: Given
    """The file, or rows in memory."""
    output: Path
    observer: "Observer"
    say: Say
    dev: Given | None = None
    """Rows to measure on, where the user has them; otherwise some are held out."""
    rename: Mapping[str, str] | None = None
    """What `--columns` says."""
    init: str | PathLike[str] | None = None
    """What to stand on, or to start from."""
    seed: int = 1
    tuning: TuningRule = "never"
    """Of classes: whether the sentence encoder is fine-tuned where that pays."""
    resume: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """A bundle that lies in the run's own folder, and what is known about it."""

    bundle: Path
    labels: tuple[str, ...]
    held: HeldOut
    learned_by: str
    """In words: what was trained, and why so."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Settings and counts for the report."""
    curves: list[dict[str, float]] = field(default_factory=list)
    """Of a run with epochs: its log."""
    growth: list[dict[str, float]] = field(default_factory=list)
    """Accuracy by the number of rows that were learnt from."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """What was compared, where there was a choice."""
    warnings: list[str] = field(default_factory=list)
