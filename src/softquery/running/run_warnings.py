"""Warnings that a run cannot learn, or learnt nothing; each says what to change.

`check_start` and `check_end` ask all of them. The others return None where there is nothing to warn
of, and know no files and no models.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from softquery.errors import counted
from softquery.recipes import Run
from softquery.recipes.fitted import total_steps
from softquery.running.adapter import Prepared, TaskAdapter
from softquery.running.row_checks import at_chance, contradictions, nothing_learnt, single_rows
from softquery.running.run_options import Say
from softquery.training import TrainerState, epoch_means

LARGEST_ERROR = 0.05
"""Standard error of a share, above which a tune set is called noisy."""
FLAT = 0.01
"""Share of its first value by which a loss must fall."""


def one_class(train: Mapping[str, int], tune: Mapping[str, int], noun: str) -> str | None:
    """Rows of one label alone, to train on or to steer by."""
    if len(train) < 2:
        found = f"the label {next(iter(train)):.40} alone" if train else "no label at all"
        return f"the {noun} to train on have {found}; add {noun} with others"
    if len(tune) == 1:
        return (
            f"the {noun} held back have the label {next(iter(tune)):.40} alone, so that they do "
            "not tell a good epoch from a bad one; raise data.tune_share, or name a split of your "
            "own with data.tune"
        )
    return None


def noisy_tune_set(num_rows: int, noun: str) -> str | None:
    """A tune set whose metric may be off by more than epochs differ.

    >>> noisy_tune_set(18, "texts")[:66]
    '18 texts are held back to steer by: their metric has a standard er'
    >>> noisy_tune_set(400, "texts")
    """
    error = math.sqrt(0.25 / num_rows)
    if error <= LARGEST_ERROR:
        return None
    return (
        f"{num_rows:,} {noun} are held back to steer by: their metric has a standard error of up "
        f"to {100 * error:.0f} points, and smaller differences between epochs mean nothing; more "
        f"{noun} help, or a split of your own (data.tune)"
    )


def short_run(run: Run, steps_per_epoch: int) -> str | None:
    """A run that ends before its learning rate has risen."""
    total = total_steps(run, run.training.max_epochs, steps_per_epoch)
    if run.schedule.warmup_steps < total:
        return None
    return (
        f"the run has {counted(total, 'step')}, and its learning rate rises for "
        f"{run.schedule.warmup_steps:,} (schedule.warmup_steps): it will learn little; lower that, "
        "or raise training.max_epochs"
    )


def flat_loss(rows: Sequence[Mapping[str, float]]) -> str | None:
    """A training loss that has hardly fallen since the first epoch.

    Args:
        rows: The log of the run.
    """
    logged = [dict(row) for row in rows]
    epochs = sorted({int(row["epoch"]) for row in logged if "loss" in row})
    losses = [epoch_means(logged, epoch)["loss"] for epoch in epochs]
    if len(losses) < 2:  # within one epoch there may be something to see as well
        losses = [row["loss"] for row in logged if "loss" in row]
    if len(losses) < 2 or min(losses[1:]) < losses[0] - FLAT * abs(losses[0]):
        return None
    return (
        f"the training loss has hardly moved, from {losses[0]:.4f} to {min(losses[1:]):.4f}; raise "
        "optim.lr or training.max_epochs, or lower schedule.warmup_steps"
    )


def check_start(
    adapter: TaskAdapter, prepared: Prepared, steps_per_epoch: int, say: Say
) -> list[str]:
    """What stands in the way of learning, said and returned."""
    rows, noun = prepared.rows, adapter.noun
    found = [short_run(prepared.run, steps_per_epoch), noisy_tune_set(len(rows["tune"]), noun)]
    if getattr(prepared.task, "labels", ()):
        answered = [adapter.answered(row) for row in (*rows["train"], *rows["tune"])]
        train, tune = (_counts(adapter, rows[split]) for split in ("train", "tune"))
        found += [
            one_class(train, tune, noun),
            contradictions([each for each in answered if each is not None], noun),
            single_rows(train + tune, noun),
        ]
    warnings = [each for each in found if each is not None]
    for each in warnings:
        say(f"warning: {each}")
    return warnings


def _counts(adapter: TaskAdapter, rows: list[Any]) -> "Counter[str]":
    return Counter(label for row in rows for label in adapter.labels(row))


def check_end(
    adapter: TaskAdapter,
    prepared: Prepared,
    state: TrainerState,
    dev: Mapping[str, Any],
    say: Say,
) -> tuple[list[str], bool]:
    """Signs that nothing was learnt, said and returned, and whether something was.

    Args:
        adapter: Of the task.
        prepared: What was trained.
        state: Where the run ended.
        dev: The metrics on dev.
        say: Receives the warnings, but not the verdict, which is for the end of the command.
    """
    metric = prepared.task.steers_by
    places = {"tune": (state.best, "the tune set"), "dev": (dev.get(metric), "dev")}
    reasons = [
        at_chance(metric, value, adapter.chance(prepared, split), where)
        for split, (value, where) in places.items()
    ]
    failed = [each for each in reasons if each is not None]
    flat = flat_loss(state.rows)
    warnings = [] if flat is None else [flat]
    for each in warnings:
        say(f"warning: {each}")
    return [*warnings, *([nothing_learnt(failed)] if failed else [])], not failed
